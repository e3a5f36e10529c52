//! A miss: the proxy takes a connection to the document's server, and relays what arrives.

use ackwise_tcp::{Endpoint, Nanos};

use super::{Known, Member, PoolKey, ProxySide, Source, Used, Work, World};
use crate::{
    connection::Owner,
    observe::{ConnectionId, Observer, Side},
    scenario::Refused,
    user::Ask,
    world::open::NotOpened,
};

impl<O: Observer> World<'_, O> {
    /// A client's connection needs one to the server of its document.
    pub(super) fn fetch(&mut self, proxy: u32, client: u32, down: Known) {
        if self.fetches(proxy, down) {
            return;
        }
        let state = &mut self.proxies[proxy as usize];
        let application = state.application;
        self.collector.proxied(application, |it| it.misses_refused += 1);
        match self.proxy(proxy).refused {
            Refused::Reject => self.answers_with_error(proxy, client, down),
            Refused::Retry | Refused::Queue => {
                self.proxies[proxy as usize].waiting.push_back(down);
            }
        }
    }

    /// Asks for a client's document on an idle connection to its server, or on a new one if there is a
    /// place.
    pub(super) fn fetches(&mut self, proxy: u32, down: Known) -> bool {
        let Some(pool) = self.pool_of(proxy, down) else { return true };
        let free = self.proxies[proxy as usize].free_upward.get(&pool);
        if let Some(&up) = free.and_then(|free| free.last()) {
            self.asks_upward(proxy, up, down);
            return true;
        }
        if !self.takes_place(proxy, ProxySide::Up) {
            return false;
        }
        let buffer = self.buffer_for_new(proxy);
        let application = self.proxies[proxy as usize].application;
        let hosts = [self.proxy_host(proxy), self.proxy(proxy).servers[pool.0 as usize]];
        let [size, most] = [buffer, self.proxy(proxy).pool]
            .map(|bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX));
        let prepare = |endpoint: &mut Endpoint| {
            endpoint.set_receive_buffer(size);
            endpoint.expect_receive_buffer(most);
        };
        match self.open_between(Owner::Upward { proxy }, application, hosts, prepare) {
            Ok(up) => {
                let id = self.connections[up as usize].id;
                self.add_member(proxy, up, Member::new(id, ProxySide::Up, pool, buffer));
                self.asks_upward(proxy, up, down);
                true
            }
            // Without memory for another connection, the miss waits as if there were no place.
            Err(NotOpened::NoMemory) => false,
            Err(NotOpened::RunEnds) => true,
        }
    }

    /// Which connections to servers a waiting miss may use; `None` if it does not wait.
    pub(super) fn pool_of(&mut self, proxy: u32, down: Known) -> Option<PoolKey> {
        let waits = |work| matches!(work, Work::Answers { source: Source::NoPlace, .. });
        self.member(proxy, down).filter(|member| waits(member.work))?;
        let Owner::Downward { client } = self.connections[down.0 as usize].owner else {
            return None;
        };
        let state = &self.proxy_clients[client as usize];
        Some(self.proxy(proxy).pool_key(state.request.server, state.number))
    }

    /// Asks for what is left of a client's answer.
    fn asks_upward(&mut self, proxy: u32, up: u32, down: Known) {
        let id = self.connections[up as usize].id;
        let Some(member) = self.member(proxy, down) else { return };
        let Work::Answers { left, source } = &mut member.work else { return };
        *source = Source::Upward((up, id));
        let left = *left;
        self.becomes_busy(proxy, up, Work::Fetches { left, down: Some(down) });
        let now = self.now;
        if let Some(member) = self.member(proxy, (up, id)) {
            member.used = Used { since: now, arrived: 0, ..member.used };
        }
        self.ask(up, Ask::of_a_file(self.proxy(proxy).request.0, left));
        self.settle(up, Side::Client);
    }

    /// Something has arrived from a server.
    pub(in crate::world) fn upward_looks(&mut self, proxy: u32, place: u32) {
        let id = self.connections[place as usize].id;
        self.note_arrived(proxy, (place, id));
        self.relay(proxy, (place, id));
    }

    /// Reads from a server what the client's send buffer takes; all, if the client is gone.
    pub(super) fn relay(&mut self, proxy: u32, up: Known) {
        let Some(member) = self.member(proxy, up) else { return };
        let Work::Fetches { left, down } = member.work else { return };
        let readable = self.connections[up.0 as usize].end(Side::Client).endpoint.readable();
        let arrived = readable.min(left);
        if arrived == 0 {
            return;
        }
        let taken = down.map_or(arrived, |down| self.write_down(proxy, down, arrived));
        if taken == 0 {
            return;
        }
        let application = self.proxies[proxy as usize].application;
        self.collector.proxied(application, |it| it.bytes_from_servers += taken);
        let end = self.connections[up.0 as usize].end_mut(Side::Client);
        end.endpoint.read(u32::try_from(taken).expect("a buffer has fewer bytes"));
        if let Some(member) = self.member(proxy, up) {
            member.work = Work::Fetches { left: left - taken, down };
        }
        if let Some(down) = down {
            self.settle(down.0, Side::Server);
        }
        self.settle(up.0, Side::Client);
        if left == taken {
            self.has_fetched(proxy, up.0);
        }
    }

    fn has_fetched(&mut self, proxy: u32, up: u32) {
        let connection = &mut self.connections[up as usize];
        connection.exchanges.pop_front();
        connection.server.begun -= 1;
        connection.client.answered = self.now;
        let id = connection.id;
        // A miss that waits for this server goes on without a new connection.
        let pool = self.member(proxy, (up, id)).map(|member| member.pool);
        let waiting = self.proxies[proxy as usize].waiting.clone();
        let next = waiting.into_iter().find(|&down| pool == self.pool_of(proxy, down));
        match next {
            Some(down) => {
                self.proxies[proxy as usize].waiting.retain(|&it| it != down);
                if let Some(member) = self.member(proxy, (up, id)) {
                    member.work = Work::New;
                }
                self.asks_upward(proxy, up, down);
            }
            None => self.becomes_idle(proxy, up),
        }
    }

    /// What arrives in a round trip is what a receive buffer is used for.
    fn note_arrived(&mut self, proxy: u32, up: Known) {
        let now = self.now;
        let endpoint = &self.connections[up.0 as usize].end(Side::Client).endpoint;
        let received = endpoint.received();
        let round_trip = endpoint.smoothed_round_trip().unwrap_or_default();
        let Some(Member { used, .. }) = self.member(proxy, up) else { return };
        if Nanos::between(used.since, now) >= Nanos::of(round_trip) {
            (used.since, used.arrived) = (now, 0);
        }
        used.arrived += received - used.received;
        used.received = received;
        used.peak = used.peak.max(used.arrived);
    }

    /// A connection to a server failed: what it had not brought is asked for again.
    pub(in crate::world) fn upward_is_lost(&mut self, proxy: u32, place: u32, id: ConnectionId) {
        let Some(member) = self.member(proxy, (place, id)) else { return };
        let work = member.work;
        self.give_place_back(proxy, place);
        if let Work::Fetches { down: Some(down), .. } = work
            && let Some(Member { work: Work::Answers { source, .. }, .. }) =
                self.member(proxy, down)
        {
            *source = Source::NoPlace;
            self.collector.repeated(self.proxies[proxy as usize].application, 1);
            self.proxies[proxy as usize].waiting.push_front(down);
        }
        self.offer_later(proxy);
    }

    /// Nobody waits for what a connection to a server brings.
    pub(super) fn nobody_waits(&mut self, proxy: u32, gone: Known) {
        let state = &mut self.proxies[proxy as usize];
        state.waiting.retain(|&it| it != gone);
        let mut ups = Vec::new();
        for (&place, member) in &mut state.members {
            if let Work::Fetches { down, .. } = &mut member.work
                && *down == Some(gone)
            {
                *down = None;
                ups.push((place, member.id));
            }
        }
        ups.into_iter().for_each(|up| self.relay(proxy, up));
    }
}
