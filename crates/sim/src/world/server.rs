//! The server: answers requests in order, each by its behaviour's plan of writes.

use ackwise_http::behaviour::{Behaviour, Gather, Tail, Write, WritePlan};
use ackwise_tcp::{Nanos, policy::HoldPolicy};

use super::{Event, World};
use crate::{
    connection::{Closing, Exchange, Owner, Thought},
    observe::{Message, Observer, Side},
};

/// How much of what was to be written the send buffer took.
enum Written {
    All,
    Some,
    Nothing,
}

impl<'a, O: Observer> World<'a, O> {
    /// The server may have something to do: more of an answer, the next request, or to close. True if
    /// what it did last was a write, so that its end is settled.
    pub(super) fn server_looks(&mut self, place: u32) -> bool {
        if let Owner::Downward { client } = self.connections[place as usize].owner {
            self.proxy_looks(client, place);
            return false;
        }
        loop {
            self.takes_steps(1);
            let server = &self.connections[place as usize].server;
            if server.thought.is_some() || self.failure.is_some() {
                return false;
            }
            if server.blocked > 0 {
                match self.server_writes(place) {
                    Written::All => {}
                    Written::Some => return true,
                    Written::Nothing => return false,
                }
            }
            let application = self.connections[place as usize].application;
            let behaviour = self.behaviour(application);
            let server = &mut self.connections[place as usize].server;
            match server.plan.next_write(behaviour) {
                Some(write) => self.server_thinks(place, &write),
                None if self.server_begins(place) => {}
                None => {
                    self.server_may_close(place);
                    return false;
                }
            }
        }
    }

    fn server_thinks(&mut self, place: u32, write: &Write) {
        let bytes = write.head.len() as u64 + (write.body.end - write.body.start);
        let extra = std::mem::take(&mut self.connections[place as usize].server.extra);
        let due = self.now + write.after + extra;
        let thought = Thought { bytes, corked: write.corked, due };
        if due > self.now {
            self.connections[place as usize].server.thought = Some(thought);
            self.queue.push(due, Event::Server(place));
        } else {
            self.server_has_written(place, thought);
        }
    }

    /// The server has thought long enough about its next write.
    pub(super) fn server_has_thought(&mut self, place: u32) {
        // The connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        let Some(thought) = connection.server.thought.take_if(|it| it.due == self.now) else {
            return;
        };
        self.server_has_written(place, thought);
        self.act(place, Side::Server);
        self.forget_if_over(place);
    }

    fn server_has_written(&mut self, place: u32, thought: Thought) {
        let connection = &mut self.connections[place as usize];
        if thought.corked {
            let endpoint = &mut connection.end_mut(Side::Server).endpoint;
            endpoint.set_hold(HoldPolicy::LINUX_CORK);
        }
        connection.server.blocked = thought.bytes;
        self.server_writes(place);
    }

    /// Writes what was blocked, as far as the send buffer takes it. A write is a call of TCP's own, so
    /// what it allows leaves before the next one (4.4BSD `tcp_output`).
    fn server_writes(&mut self, place: u32) -> Written {
        let connection = &mut self.connections[place as usize];
        let blocked = u32::try_from(connection.server.blocked).unwrap_or(u32::MAX);
        let taken = connection.end_mut(Side::Server).endpoint.write(blocked);
        connection.server.blocked -= u64::from(taken);
        let left = connection.server.blocked;
        if taken == 0 {
            return Written::Nothing;
        }
        self.settle(place, Side::Server);
        if left == 0 { Written::All } else { Written::Some }
    }

    /// Begins to answer the next request that has wholly arrived, or all of those; false if there is
    /// none.
    fn server_begins(&mut self, place: u32) -> bool {
        let connection = &self.connections[place as usize];
        let behaviour = self.behaviour(connection.application);
        let begun = connection.server.begun;
        let received = connection.end(Side::Server).endpoint.received();
        let next = connection.exchanges.get(begun as usize);
        if next.is_none_or(|exchange| exchange.request_end > received)
            || connection.server.closing.ignores_requests()
        {
            return false;
        }
        let most = self.requests_left(connection);
        let arrived = connection.exchanges.iter().skip(begun as usize).take(most);
        let arrived = arrived.take_while(|exchange| exchange.request_end <= received);
        let together: Vec<Exchange> = match behaviour.gather {
            Gather::Pending => arrived.copied().collect(),
            _ => arrived.take(1).copied().collect(),
        };
        let goes_on = self.connections[place as usize].server.goes_on;
        if behaviour.tail == Tail::Corked && !goes_on {
            self.uncork(place, behaviour);
        }
        for exchange in &together {
            self.announce_response(place, exchange);
        }
        let node = self.connections[place as usize].end(Side::Server).host;
        let costs = together.iter().map(|it| self.request_cost(node) + it.parse);
        let extra = costs.max().unwrap_or_default();
        let server = &mut self.connections[place as usize].server;
        let count = u32::try_from(together.len()).expect("no more than were begun");
        server.begun += count;
        server.answers = server.answers.saturating_add(count);
        server.goes_on = true;
        server.extra = Nanos::of(extra);
        server.plan = match &together[..] {
            [one] => WritePlan::new(one.head as usize, one.body),
            all => WritePlan::gathered(all.iter().map(Exchange::response).sum()),
        };
        self.server_works(place, together[together.len() - 1].request_end);
        if together.len() == most {
            self.announce_close(place);
        }
        if together[0].response() == 0 {
            // An upload: that it has arrived is all there is to say.
            self.client_looks(place);
        }
        true
    }

    pub(super) fn announce_response(&mut self, place: u32, exchange: &Exchange) {
        let message = Message {
            connection: self.connections[place as usize].id,
            from: Side::Server,
            offset: exchange.response_end - exchange.response(),
            head: exchange.head,
            body: exchange.body,
            file: exchange.first_file,
        };
        self.observer.on_message(&message, self.now);
    }

    pub(super) fn behaviour(&self, application: u32) -> &'a Behaviour {
        self.scenario.applications[application as usize].kind.behaviour()
    }

    /// The last response left the cork in. One that follows right behind it shares its segments.
    fn uncork(&mut self, place: u32, behaviour: &Behaviour) {
        let application = self.connections[place as usize].application;
        let hold = self.server_hold(application, behaviour);
        self.connections[place as usize].end_mut(Side::Server).endpoint.set_hold(hold);
        self.settle(place, Side::Server);
    }

    fn server_may_close(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.server.goes_on = false;
        let server = &connection.server;
        let all_begun = server.begun as usize == connection.exchanges.len();
        let closes = match server.closing {
            Closing::No => false,
            Closing::AfterAnswer => server.answers > 0 && all_begun,
            Closing::PeerGone => all_begun,
            Closing::Announced => true,
            Closing::Idled => false,
        };
        if closes {
            connection.end_mut(Side::Server).endpoint.close();
        } else if all_begun {
            self.server_idles(place);
        }
    }

    /// The client will send no more.
    pub(super) fn client_has_closed(&mut self, place: u32) {
        if let Owner::Downward { client } = self.connections[place as usize].owner {
            return self.client_has_gone(client, place);
        }
        let closing = &mut self.connections[place as usize].server.closing;
        if !closing.ignores_requests() {
            *closing = Closing::PeerGone;
        }
    }
}
