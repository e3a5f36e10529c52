//! Who gets one of the N_max places, and which idle connection closes for it.
//!
//! A miss that waits has precedence over a client that connects: it holds a place already.

use ackwise_tcp::Segment;
use ackwise_tuning::{Admission, Closing, IdleBuffers};

use super::{Event, Known, Member, ProxySide, State, Work, World};
use crate::{
    connection::{Closing as ServerClosing, Owner},
    observe::{Observer, Side},
    scenario::{Counted, NodeId, Proxy, Refused},
};

/// What becomes of a client's SYN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::world) enum Syn {
    Taken,
    /// No answer, as if it had been lost.
    Dropped,
    /// An RST.
    Rejected,
}

impl State {
    /// Where to look for the connection to close: of those that count.
    fn closes_first(&self, proxy: &Proxy) -> ProxySide {
        if proxy.counted == Counted::Downward {
            return ProxySide::Down;
        }
        match [0, 1].map(|at| self.idle[at].oldest().map(|idle| idle.since)) {
            [Some(down), Some(up)] if up < down => ProxySide::Up,
            [None, Some(_)] => ProxySide::Up,
            _ => ProxySide::Down,
        }
    }
}

impl<O: Observer> World<'_, O> {
    /// A client's SYN arrives at its server: anyone's, or a proxy's.
    pub(in crate::world) fn takes_syn(
        &mut self,
        place: u32,
        NodeId(host): NodeId,
        segment: &Segment,
    ) -> Syn {
        // As BSD does without memory: no answer, as if the SYN had been lost.
        if !self.hosts[host as usize].admits() {
            return Syn::Dropped;
        }
        match self.connections[place as usize].owner {
            Owner::Downward { client } => self.proxy_takes_syn(client, place, segment),
            _ => Syn::Taken,
        }
    }

    fn proxy_takes_syn(&mut self, client: u32, place: u32, segment: &Segment) -> Syn {
        let proxy = self.proxy_clients[client as usize].proxy;
        let id = self.connections[place as usize].id;
        let queued = |state: &State| state.syns.iter().any(|(known, _)| *known == (place, id));
        if queued(&self.proxies[proxy as usize]) {
            return Syn::Dropped;
        }
        // Those that wait come first.
        let none_waits = self.proxies[proxy as usize].syns.is_empty();
        if none_waits && self.takes_place(proxy, ProxySide::Down) {
            self.admits_client(proxy, place);
            return Syn::Taken;
        }
        let state = &mut self.proxies[proxy as usize];
        self.collector.proxied(state.application, |it| it.refused += 1);
        match self.proxy(proxy).refused {
            Refused::Retry => Syn::Dropped,
            Refused::Reject => {
                self.proxy_clients[client as usize].rejected = true;
                Syn::Rejected
            }
            Refused::Queue => {
                self.proxies[proxy as usize].syns.push_back(((place, id), *segment));
                Syn::Dropped
            }
        }
    }

    /// A client's connection gets the place that was taken for it, and a buffer.
    fn admits_client(&mut self, proxy: u32, place: u32) {
        let buffer = self.buffer_for_new(proxy);
        let connection = &mut self.connections[place as usize];
        connection.server.goes_on = true;
        let id = connection.id;
        let endpoint = &mut connection.end_mut(Side::Server).endpoint;
        endpoint.set_send_buffer(u32::try_from(buffer.0).unwrap_or(u32::MAX));
        self.add_member(proxy, place, Member::new(id, ProxySide::Down, (0, None), buffer));
    }

    pub(super) fn add_member(&mut self, proxy: u32, place: u32, member: Member) {
        self.connections[place as usize].end_mut(Side::Server).endpoint.count();
        let state = &mut self.proxies[proxy as usize];
        state.open[member.direction as usize] += 1;
        state.members.insert(place, member);
        let open = state.open[0] + state.open[1];
        let application = state.application;
        self.collector.proxied_ever(application, |it| it.most_open = it.most_open.max(open));
        self.note_assigned(proxy);
    }

    /// Whether there is a place for a connection; an idle one may have closed for it.
    pub(super) fn takes_place(&mut self, proxy: u32, direction: ProxySide) -> bool {
        let setting = self.proxy(proxy);
        let now = self.now;
        let state = &mut self.proxies[proxy as usize];
        let both = setting.counted == Counted::Both;
        if direction == ProxySide::Up && !both {
            return true;
        }
        let most = state.limit.connections.get();
        let clients_full = both
            && direction == ProxySide::Down
            && state.open[ProxySide::Down as usize] + setting.reserved >= most;
        // Clients that have their share give way to clients.
        let (open, closes) = match clients_full {
            true => (most, ProxySide::Down),
            false => (state.counted(setting), state.closes_first(setting)),
        };
        match state.limit.admit(&mut state.idle[closes as usize], open, None, now) {
            Admission::Admit => true,
            Admission::AdmitInsteadOf(closing) => {
                self.closes_for_new(proxy, closing);
                true
            }
            Admission::Refuse(_) => false,
        }
    }

    fn closes_for_new(&mut self, proxy: u32, closing: Closing<u32>) {
        let Closing { key, idle_for, .. } = closing;
        let early = match self.proxy(proxy).scheme.idle {
            IdleBuffers::KeepShare => false,
            IdleBuffers::Halve(halving) => idle_for < halving.period(),
        };
        let application = self.proxies[proxy as usize].application;
        self.collector.proxied(application, |it| {
            it.closed_for_new += 1;
            it.closed_before_halving += u64::from(early);
        });
        self.note_idle_time(proxy, idle_for.into());
        self.close_member(proxy, key);
    }

    /// The proxy closes a connection, and gives its place back.
    pub(super) fn close_member(&mut self, proxy: u32, place: u32) {
        let Some(direction) = self.give_place_back(proxy, place) else { return };
        let side = match direction {
            ProxySide::Down => Side::Server,
            ProxySide::Up => Side::Client,
        };
        let connection = &mut self.connections[place as usize];
        if direction == ProxySide::Down {
            connection.server.closing = ServerClosing::Idled;
        }
        connection.end_mut(side).endpoint.close();
        self.settle(place, side);
    }

    /// A connection has a place no longer.
    pub(super) fn give_place_back(&mut self, proxy: u32, place: u32) -> Option<ProxySide> {
        let state = &mut self.proxies[proxy as usize];
        let member = state.members.remove(&place)?;
        state.open[member.direction as usize] -= 1;
        state.idle[member.direction as usize].remove(&place);
        if let Some(free) = state.free_upward.get_mut(&member.pool) {
            free.retain(|&it| it != place);
        }
        if matches!(member.work, Work::Answers { .. }) {
            self.nobody_waits(proxy, (place, member.id));
        }
        Some(member.direction)
    }

    /// A place may have become free, or a connection idle that could close for another. Who waits hears
    /// of it when the present event is over.
    pub(super) fn offer_later(&mut self, proxy: u32) {
        let state = &mut self.proxies[proxy as usize];
        let waits = !state.waiting.is_empty() || !state.syns.is_empty();
        if waits && !std::mem::replace(&mut state.offers, true) {
            self.queue.push(self.now, Event::ProxyOffers(proxy));
        }
    }

    /// Gives places to those who wait, as long as there are any.
    pub(in crate::world) fn offer_places(&mut self, proxy: u32) {
        self.proxies[proxy as usize].offers = false;
        while let Some(&down) = self.proxies[proxy as usize].waiting.front() {
            if !self.fetches(proxy, down) {
                return;
            }
            self.proxies[proxy as usize].waiting.retain(|&it| it != down);
        }
        while let Some(&(known, segment)) = self.proxies[proxy as usize].syns.front() {
            if !self.still_wants_place(known) {
                self.proxies[proxy as usize].syns.pop_front();
                continue;
            }
            if !self.takes_place(proxy, ProxySide::Down) {
                return;
            }
            self.proxies[proxy as usize].syns.pop_front();
            self.admits_client(proxy, known.0);
            let now = self.now;
            let end = self.connections[known.0 as usize].end_mut(Side::Server);
            let _ = end.endpoint.handle_segment(&segment, now);
            self.act(known.0, Side::Server);
        }
    }

    /// Whether a connection whose SYN was queued is still there, and its client waits.
    fn still_wants_place(&self, (place, id): Known) -> bool {
        let connection = self.connections.get(place as usize).filter(|it| it.id == id);
        connection.is_some_and(|connection| !connection.client.abandoned)
    }
}
