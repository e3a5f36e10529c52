//! A client's request is answered from the cache, or by way of a server.

use super::{Known, Member, Source, Work, World};
use crate::{
    connection::{Connection, Owner},
    observe::{Observer, Side},
    scenario::ERROR_BYTES,
};

impl<O: Observer> World<'_, O> {
    /// Something has arrived at the proxy from a client, or has left room to write.
    pub(in crate::world) fn proxy_looks(&mut self, client: u32, place: u32) {
        let proxy = self.proxy_clients[client as usize].proxy;
        let id = self.connections[place as usize].id;
        let down = (place, id);
        loop {
            let Some(member) = self.member(proxy, down) else { return };
            match member.work {
                Work::Answers { left, source } if left > 0 => {
                    return self.goes_on_with(proxy, down, (left, source));
                }
                Work::Answers { .. } | Work::New | Work::Idle => {
                    if self.has_request(place) {
                        self.begins_answer(proxy, client, down);
                    } else {
                        return self.may_idle(proxy, down);
                    }
                }
                Work::Fetches { .. } => unreachable!("a connection to a client fetches nothing"),
            }
        }
    }

    fn has_request(&self, place: u32) -> bool {
        let connection = &self.connections[place as usize];
        let received = connection.end(Side::Server).endpoint.received();
        let next = connection.exchanges.get(connection.server.begun as usize);
        next.is_some_and(|exchange| exchange.request_end <= received)
    }

    fn begins_answer(&mut self, proxy: u32, client: u32, down: Known) {
        let connection = &mut self.connections[down.0 as usize];
        let exchange = connection.exchanges[connection.server.begun as usize];
        connection.server.begun += 1;
        self.announce_response(down.0, &exchange);
        let hit = self.proxy_clients[client as usize].request.hit;
        let source = if hit { Source::Cache } else { Source::NoPlace };
        let work = Work::Answers { left: exchange.response(), source };
        self.becomes_busy(proxy, down.0, work);
        if !hit {
            self.fetch(proxy, client, down);
        }
    }

    fn goes_on_with(&mut self, proxy: u32, down: Known, (left, source): (u64, Source)) {
        match source {
            Source::NoPlace => {}
            Source::Upward(up) => self.relay(proxy, up),
            Source::Cache => {
                let taken = self.write_down(proxy, down, left);
                if taken > 0 {
                    self.settle(down.0, Side::Server);
                }
            }
        }
    }

    /// Writes to a client what its send buffer takes.
    pub(super) fn write_down(&mut self, proxy: u32, down: Known, bytes: u64) -> u64 {
        let endpoint = &mut self.connections[down.0 as usize].end_mut(Side::Server).endpoint;
        let taken = u64::from(endpoint.write(u32::try_from(bytes).unwrap_or(u32::MAX)));
        let used = endpoint.written() - endpoint.acknowledged();
        let Some(Member { work, used: use_of, .. }) = self.member(proxy, down) else { return 0 };
        use_of.peak = use_of.peak.max(used);
        if let Work::Answers { left, .. } = work {
            *left -= taken;
        }
        taken
    }

    /// Idle is a connection whose answer is acknowledged: until then, its buffer is in use.
    fn may_idle(&mut self, proxy: u32, down: Known) {
        let endpoint = &self.connections[down.0 as usize].end(Side::Server).endpoint;
        let answered = endpoint.acknowledged() == endpoint.written();
        let Some(member) = self.member(proxy, down) else { return };
        if answered && matches!(member.work, Work::Answers { left: 0, .. }) {
            self.becomes_idle(proxy, down.0);
        }
    }

    /// A miss finds no place, and its request fails.
    pub(super) fn answers_with_error(&mut self, proxy: u32, client: u32, down: Known) {
        self.proxy_clients[client as usize].rejected = true;
        let connection = &mut self.connections[down.0 as usize];
        let at = connection.server.begun as usize - 1;
        let exchange = &mut connection.exchanges[at];
        let less = exchange.body.saturating_sub(ERROR_BYTES);
        let body = exchange.body.min(ERROR_BYTES);
        (exchange.body, exchange.response_end) = (body, exchange.response_end - less);
        connection.client.responses_end -= less;
        if let Some(member) = self.member(proxy, down) {
            member.work = Work::Answers { left: body, source: Source::Cache };
        }
    }

    /// The client will send no more: the proxy closes.
    pub(in crate::world) fn client_has_gone(&mut self, client: u32, place: u32) {
        let proxy = self.proxy_clients[client as usize].proxy;
        let id = self.connections[place as usize].id;
        if self.member(proxy, (place, id)).is_some() {
            self.close_member(proxy, place);
            self.offer_later(proxy);
        }
    }

    /// The server's end of a connection has failed.
    pub(in crate::world) fn server_gives_up(&mut self, place: u32) {
        let id = self.connections[place as usize].id;
        if let Owner::Downward { client } = self.connections[place as usize].owner {
            let proxy = self.proxy_clients[client as usize].proxy;
            self.loses_place(proxy, (place, id));
        }
    }

    /// Nothing is left of a connection.
    pub(in crate::world) fn proxy_forgets(&mut self, connection: &Connection, place: u32) {
        if let Some(proxy) = self.owning_proxy(connection) {
            self.loses_place(proxy, (place, connection.id));
        }
    }

    fn loses_place(&mut self, proxy: u32, known: Known) {
        if self.member(proxy, known).is_some() {
            self.give_place_back(proxy, known.0);
            self.offer_later(proxy);
        }
    }
}
