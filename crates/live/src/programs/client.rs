//! What every client does with a connection: writes requests when it has worked long enough, sees which
//! responses are whole, closes. Who it does this for is the connection's owner.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ackwise_http::behaviour::KeepAlivePolicy;
use ackwise_sim::user::{Ask, Repeat};

use super::{
    Due, Programs, TURNS,
    transport::{Connection, Ending},
};
use crate::agreed::{Agreed, Exchange, Mail};

/// Who opened a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    User(usize),
    Bulk(usize),
    Arrival(usize),
}

/// A client's end of a connection.
#[derive(Debug)]
pub(super) struct ClientEnd {
    connection: Connection,
    agreed: Arc<Agreed>,
    pub(super) application: u32,
    pub(super) owner: Owner,
    pub(super) opened: Duration,
    connected: bool,
    /// Bytes of requests that are not yet written, and how long the client works before it writes them.
    to_write: u64,
    delay: Duration,
    works_until: Option<Duration>,
    /// Close when all is written, or has been waited for.
    pub(super) closes: bool,
    requests_end: u64,
    responses_end: u64,
    received: u64,
    exchanges: VecDeque<Exchange>,
    asked: u32,
    answers: u32,
    answered: Option<Duration>,
}

/// What a response means for its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) exchange: Exchange,
    /// It said that the server closes the connection behind it.
    pub(super) closes: bool,
}

impl<'a> Programs<'a> {
    /// Opens a connection; the handshake goes on meanwhile. `None` if the kernel has no port for it.
    pub(super) fn open(&mut self, owner: Owner, application: u32) -> Option<u64> {
        match self.try_open(owner, application) {
            Ok(name) => Some(name),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => None,
            Err(error) => {
                self.fails(error);
                None
            }
        }
    }

    fn try_open(&mut self, owner: Owner, application: u32) -> io::Result<u64> {
        let tcp = &self.run.groups[self.group].tcp;
        let name = self.name();
        let agreed = Arc::new(Agreed::new(application, (self.group, name)));
        let both = (self.client_address(application), self.server_address(application));
        let mut announced = None;
        let opened = self.transport.open((&self.ready, name, tcp), both, |own| {
            self.run.shared.announce(own, Arc::clone(&agreed));
            announced = Some(own);
        });
        if let (Err(_), Some(own)) = (&opened, announced) {
            self.run.shared.take(own);
        }
        let connection = opened?;
        let end = ClientEnd {
            connection,
            agreed,
            application,
            owner,
            opened: self.now,
            connected: false,
            to_write: 0,
            delay: Duration::ZERO,
            works_until: None,
            closes: false,
            requests_end: 0,
            responses_end: 0,
            received: 0,
            exchanges: VecDeque::new(),
            asked: 0,
            answers: 0,
            answered: None,
        };
        self.clients.insert(name, end);
        let open = self.run.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open = self.most_open.max(open);
        *self.opened.entry(self.application(application).client).or_default() += 1;
        self.tally(application, |tally| tally.measures.connections_opened += 1);
        Ok(name)
    }

    /// Has a request sent as soon as the connection is open.
    pub(super) fn ask(&mut self, name: u64, ask: Ask) {
        let Some(end) = self.clients.get_mut(&name) else { return };
        end.requests_end += ask.request;
        end.responses_end += u64::from(ask.head) + ask.body;
        end.to_write += ask.request;
        end.delay = end.delay.max(ask.delay);
        end.asked += 1;
        let exchange = Exchange {
            request_end: end.requests_end,
            response_end: end.responses_end,
            head: ask.head,
            body: ask.body,
            files: ask.files,
            parse: ask.parse,
        };
        end.exchanges.push_back(exchange);
        end.agreed.asked().exchanges.push_back(exchange);
        if end.connected {
            self.client_works(name);
        }
    }

    /// The client computes, and then writes what it has to write.
    fn client_works(&mut self, name: u64) {
        let now = self.now;
        let Some(end) = self.clients.get_mut(&name) else { return };
        let delay = std::mem::take(&mut end.delay);
        if delay.is_zero() {
            return self.client_writes(name);
        }
        end.works_until = Some(now + delay);
        self.after(delay, Due::Client(name));
    }

    pub(super) fn client_has_worked(&mut self, name: u64, at: Duration) {
        let Some(end) = self.clients.get_mut(&name) else { return };
        if end.works_until == Some(at) {
            end.works_until = None;
            self.client_writes(name);
        }
    }

    /// Lets `span` pass and then closes.
    pub(super) fn close_after(&mut self, name: u64, span: Duration) {
        let at = self.now + span;
        let Some(end) = self.clients.get_mut(&name) else { return };
        (end.closes, end.works_until) = (true, Some(at));
        self.at(at, Due::Client(name));
    }

    /// Writes what the send buffer takes; closes if nothing is left and that was wanted.
    fn client_writes(&mut self, name: u64) {
        let Some(end) = self.clients.get_mut(&name) else { return };
        if !end.connected || end.works_until.is_some() {
            return;
        }
        match self.transport.write(&end.connection, &mut end.to_write) {
            Ok(()) if end.to_write == 0 && end.uploads() => {
                // It stays until the server says that all has arrived.
                if self.transport.half_close(&end.connection).is_err() {
                    self.client_gives_up(name);
                }
            }
            Ok(()) if end.to_write == 0 && end.closes => self.client_ends(name, Ending::Close),
            Ok(()) => {}
            Err(_) => self.client_gives_up(name),
        }
    }

    /// Has the client say something that the server reads and does not answer.
    pub(super) fn client_says(&mut self, name: u64, bytes: u64) {
        if let Some(end) = self.clients.get_mut(&name) {
            let mut left = bytes;
            // A client that cannot say it closes without.
            let _ = self.transport.write(&end.connection, &mut left);
        }
    }

    pub(super) fn client_is_ready(&mut self, name: u64) {
        let Some(end) = self.clients.get_mut(&name) else { return };
        if !end.connected {
            match self.transport.is_connected(&end.connection) {
                Ok(true) => end.connected = true,
                Ok(false) => return,
                Err(_) => return self.client_gives_up(name),
            }
            if end.to_write > 0 {
                self.client_works(name);
            }
        } else if end.to_write > 0 {
            self.client_writes(name);
        }
        self.client_reads(name);
    }

    fn client_reads(&mut self, name: u64) {
        for turn in 0.. {
            let Some(end) = self.clients.get_mut(&name) else { return };
            if turn == TURNS {
                let at = self.now;
                end.works_until.get_or_insert(at);
                return self.at(at, Due::Client(name));
            }
            let bytes = match self.transport.read(&end.connection, &mut self.buffer) {
                Ok(0) => return self.server_has_closed(name),
                Ok(bytes) => bytes as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.client_gives_up(name),
            };
            end.received += bytes;
            let application = end.application;
            self.tally(application, |tally| tally.received += bytes);
            while let Some(answered) = self.take_answered(name) {
                self.answered(name, answered);
            }
        }
    }

    /// The oldest exchange, if its response has wholly arrived.
    fn take_answered(&mut self, name: u64) -> Option<Answered> {
        let now = self.now;
        let application = self.clients.get(&name)?.application;
        let most = self.keep_alive(application).and_then(KeepAlivePolicy::max_requests);
        let end = self.clients.get_mut(&name)?;
        let first = end.exchanges.front()?;
        // That an upload has arrived, the server tells.
        if first.response_end > end.received || first.response_end == 0 {
            return None;
        }
        let exchange = end.exchanges.pop_front()?;
        end.answered = Some(now);
        end.answers += 1;
        let closes = most.is_some_and(|most| end.answers >= most.get());
        Some(Answered { exchange, closes })
    }

    fn answered(&mut self, name: u64, answered: Answered) {
        let Some(end) = self.clients.get(&name) else { return };
        match end.owner {
            Owner::User(user) => self.user_has_response(user, name, answered),
            Owner::Bulk(client) => {
                self.bulk_client_has_file(client, name, answered.exchange.body, answered.closes);
            }
            Owner::Arrival(source) => self.arrival_has_response(source, name, answered.exchange),
        }
    }

    /// What a client sent has wholly arrived.
    pub(super) fn upload_arrived(&mut self, name: u64, at: Duration) {
        let Some(end) = self.clients.get_mut(&name) else { return };
        let Some(exchange) = end.exchanges.pop_front() else { return };
        if let Owner::Bulk(client) = end.owner {
            self.now = self.now.min(at.max(end.opened));
            self.bulk_client_has_file(client, name, exchange.request_end, false);
        }
    }

    /// The server will send no more.
    fn server_has_closed(&mut self, name: u64) {
        self.client_loses(name, Ending::Close);
    }

    /// The connection failed.
    fn client_gives_up(&mut self, name: u64) {
        let Some(end) = self.clients.get(&name) else { return };
        let application = end.application;
        if !end.exchanges.is_empty() {
            self.tally(application, |tally| tally.measures.connections_failed += 1);
        }
        self.client_loses(name, Ending::Reset);
    }

    /// The client stops using a connection: its owner is notified, and sends what was not answered again.
    pub(super) fn client_loses(&mut self, name: u64, ending: Ending) {
        let Some(end) = self.clients.get(&name) else { return };
        let asked = u32::try_from(end.exchanges.len()).unwrap_or(u32::MAX);
        let (owner, proven) = (end.owner, end.answered.is_some());
        let repeat = match ending {
            Ending::Close if proven => Repeat::AtOnce,
            Ending::Close | Ending::Reset => Repeat::AfterPause,
        };
        self.client_ends(name, Ending::Close);
        match owner {
            Owner::User(user) => self.user_lost_connection(user, name, asked),
            Owner::Bulk(client) if asked > 0 => self.bulk_client_repeats(client, name, repeat),
            Owner::Bulk(client) => self.bulk_client_forgets(client, name),
            Owner::Arrival(_) => {}
        }
    }

    /// Closes the client's end now, without notice to its owner.
    pub(super) fn client_ends(&mut self, name: u64, ending: Ending) {
        let Some(end) = self.clients.remove(&name) else { return };
        self.transport.end(end.connection, ending);
        self.run.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has the server close behind the answer to the next request.
    pub(super) fn mark_last(&self, name: u64) {
        if let Some(end) = self.clients.get(&name) {
            end.agreed.asked().close = true;
        }
    }

    /// Whether the server closes without being told.
    pub(super) fn is_last(&self, name: u64) -> bool {
        self.clients.get(&name).is_none_or(|end| end.agreed.asked().close)
    }

    /// Has the server close when it has answered.
    pub(super) fn have_server_close(&self, name: u64) {
        let Some(end) = self.clients.get(&name) else { return };
        end.agreed.asked().close = true;
        let server = self.application(end.application).server;
        if end.exchanges.is_empty()
            && let Some(group) = self.run.group_of[server.0 as usize]
        {
            self.run.shared.tell(group, Mail::Close);
        }
    }

    /// Whether the server has announced to wait for less long than a connection has been idle.
    pub(super) fn is_stale(&self, name: u64) -> bool {
        let Some(end) = self.clients.get(&name) else { return true };
        let policy = self.keep_alive(end.application);
        let Some(usable) = policy.and_then(KeepAlivePolicy::reusable_for) else { return false };
        end.exchanges.is_empty()
            && end.answered.is_some_and(|answered| self.now.saturating_sub(answered) >= usable)
    }

    /// The policy of an application's server; `None` where the client alone decides.
    pub(super) fn keep_alive(&self, application: u32) -> Option<KeepAlivePolicy> {
        self.application(application).kind.keep_alive()
    }
}

impl ClientEnd {
    /// Whether what it sends has no answer, and ends with the connection.
    fn uploads(&self) -> bool {
        self.closes && self.exchanges.front().is_some_and(|it| it.response_end == 0)
    }
}
