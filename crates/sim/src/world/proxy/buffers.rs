//! The pool of socket buffers: samples, demands, and the division.
//!
//! To a client, the proxy's send buffer is sized; to a server, its receive buffer. What a program asks for
//! has few bytes, so the other two buffers of a proxy's sockets are left alone.

use std::num::{NonZeroU8, NonZeroU32};

use ackwise_tcp::{ByteCount, Endpoint, Nanos};
use ackwise_tuning::{
    Buffers, Division, Downward, E2Atbt, IdleBuffers, Sender, Sent, Source as TuningSource, Upward,
    Use,
};

use super::{Event, Member, ProxySide, Source, State, Used, Work, World};
use crate::{
    observe::{Observer, Side},
    scenario::{Counted, Divides, IdleMemory, Proxy},
};

impl State {
    /// Whether a connection takes part in the division.
    fn takes_part(&self, member: &Member, proxy: &Proxy) -> bool {
        let keeps = proxy.scheme.idle == IdleBuffers::KeepShare
            && proxy.idle_memory == IdleMemory::Reserved;
        !member.is_idle() || keeps
    }
}

impl<O: Observer> World<'_, O> {
    /// An interval is over: samples, demands, and a division.
    pub(in crate::world) fn proxy_interval(&mut self, proxy: u32) {
        let interval = self.proxy(proxy).interval;
        self.after(interval, Event::ProxyInterval(proxy));
        self.count_members(proxy);
        if let Buffers::E2Atbt(rule) = self.proxy(proxy).scheme.buffers {
            self.sample(proxy);
            self.estimate(proxy, &rule);
            self.divide(proxy, None);
        }
    }

    fn count_members(&mut self, proxy: u32) {
        let setting = self.proxy(proxy);
        let state = &self.proxies[proxy as usize];
        let (open, idle) = (state.open, [0, 1].map(|at| state.idle[at].len() as u64));
        let counted = state.counted(setting);
        let counted_idle = state.counted_idle(setting);
        let most = state.limit.connections.get();
        let clients_full = setting.counted == Counted::Both && open[0] + setting.reserved >= most;
        let full = counted >= most || clients_full;
        self.collector.proxied(state.application, |it| {
            it.samples += 1;
            for at in 0..2 {
                it.open[at] += open[at];
                it.idle[at] += idle[at];
            }
            if full {
                it.full_samples += 1;
                it.full_open += counted;
                it.full_idle += counted_idle;
                it.full_mostly_idle += u64::from(2 * counted_idle > counted);
            }
        });
        self.note_assigned(proxy);
    }

    pub(super) fn note_assigned(&mut self, proxy: u32) {
        let state = &self.proxies[proxy as usize];
        let assigned = state.assigned(self.proxy(proxy), self.now);
        self.collector.proxied_ever(state.application, |it| {
            it.most_assigned = it.most_assigned.max(assigned);
        });
    }

    /// What the sender of each connection has lost since the last sample.
    fn sample(&mut self, proxy: u32) {
        for (&place, member) in &mut self.proxies[proxy as usize].members {
            let sender = &self.connections[place as usize].end(Side::Server).endpoint;
            let Some(counters) = sender.counters() else { continue };
            let now = [counters.data_segments_sent, counters.loss_events];
            let [segments, lost] = [0, 1].map(|at| now[at] - member.sampled[at]);
            member.sampled = now;
            member.loss.observe(Sent { segments, lost });
        }
    }

    /// What each busy connection can use; an idle one's demand stays.
    fn estimate(&mut self, proxy: u32, rule: &E2Atbt) {
        let most = self.proxy(proxy).pool;
        let state = &self.proxies[proxy as usize];
        let busy = state.members.iter().filter(|(_, member)| !member.is_idle());
        let demands = busy.map(|(&place, member)| {
            let buffer = Use { assigned: member.buffer, peak: ByteCount(member.used.peak) };
            let endpoint = &self.connections[place as usize].end(Side::Server).endpoint;
            let sender = sender(endpoint, member);
            let demand = match member.direction {
                ProxySide::Down => {
                    let source = self.source(proxy, member.work, rule);
                    rule.downward(&Downward { sender, source, buffer })
                }
                ProxySide::Up => {
                    let sender = Sender { peer_window: most, ..sender };
                    rule.upward(&Upward { sender, buffer, most })
                }
            };
            (place, demand.bytes)
        });
        let demands: Vec<_> = demands.collect();
        let state = &mut self.proxies[proxy as usize];
        for (place, demand) in demands {
            let Some(member) = state.members.get_mut(&place) else { continue };
            member.demand = demand;
            member.used = Used { peak: 0, ..member.used };
        }
    }

    fn source(&self, proxy: u32, work: Work, rule: &E2Atbt) -> TuningSource {
        let Work::Answers { source: Source::Upward((up, id)), .. } = work else {
            return TuningSource::Cache;
        };
        let members = &self.proxies[proxy as usize].members;
        let member = members.get(&up).filter(|member| member.id == id);
        let endpoint = || &self.connections[up as usize].end(Side::Server).endpoint;
        let most = self.proxy(proxy).pool;
        let supply = member.and_then(|member| {
            rule.supply(&Sender { peer_window: most, ..sender(endpoint(), member) })
        });
        TuningSource::Upward(supply)
    }

    /// Divides the pool among those that take part, and a new connection that demands `new`; returns
    /// its share.
    fn divide(&mut self, proxy: u32, new: Option<ByteCount>) -> ByteCount {
        let setting = self.proxy(proxy);
        let now = self.now;
        let state = &mut self.proxies[proxy as usize];
        let halving = matches!(setting.scheme.idle, IdleBuffers::Halve(_));
        let idle = if halving { state.idle_memory(setting, now) } else { ByteCount(0) };
        let pool = ByteCount(setting.pool.0.saturating_sub(idle.0));
        let members = state.members.values();
        let part: Vec<ByteCount> = members
            .filter(|member| state.takes_part(member, setting))
            .map(|member| member.demand)
            .chain(new)
            .collect();
        state.division = Division::new(pool, part.into_iter(), setting.spare);
        let (division, application) = (state.division, state.application);
        self.collector.proxied_ever(application, |it| {
            it.divisions += 1;
            it.short_divisions += u64::from(division.level().is_some());
        });
        self.assign_shares(proxy, division);
        new.map_or(ByteCount(0), |new| division.share(new).bytes)
    }

    fn assign_shares(&mut self, proxy: u32, division: Division) {
        let setting = self.proxy(proxy);
        let state = &mut self.proxies[proxy as usize];
        let takes_part = |state: &State, member| state.takes_part(member, setting);
        let changed = state.members.iter().filter(|(_, member)| takes_part(state, member));
        let changed = changed.filter_map(|(&place, member)| {
            let share = division.share(member.demand).bytes;
            (share != member.buffer).then_some((place, member.is_idle(), share))
        });
        let changed: Vec<_> = changed.collect();
        for (place, is_idle, share) in changed {
            self.set_buffer(proxy, place, share);
            let state = &mut self.proxies[proxy as usize];
            let Some(member) = state.members.get(&place).filter(|_| is_idle) else { continue };
            let idle = &mut state.idle[member.direction as usize];
            // The order is that of idleness, which does not change: it keeps its place.
            idle.insert(ackwise_tuning::Idle { key: place, since: member.idle_since, held: share });
        }
    }

    /// A larger send buffer takes more of an answer.
    pub(in crate::world) fn member_has_room(&mut self, place: u32) {
        let Some(proxy) = self.proxy_of(place) else { return };
        let id = self.connections[place as usize].id;
        let Some(member) = self.member(proxy, (place, id)) else { return };
        if let Work::Answers { left: 1.., .. } = member.work {
            self.act(place, Side::Server);
        }
    }

    /// Sets the buffer of a connection. The program hears of a larger one when the present event is over.
    fn set_buffer(&mut self, proxy: u32, place: u32, share: ByteCount) {
        let Some(member) = self.proxies[proxy as usize].members.get_mut(&place) else { return };
        let grows = share > member.buffer;
        member.buffer = share;
        let waits = matches!(member.work, Work::Answers { left: 1.., .. });
        let bytes = u32::try_from(share.0).unwrap_or(u32::MAX);
        let connection = &mut self.connections[place as usize];
        match member.direction {
            ProxySide::Down => {
                connection.end_mut(Side::Server).endpoint.set_send_buffer(bytes);
                if grows && waits {
                    self.queue.push(self.now, Event::ProxyWrites(place));
                }
            }
            ProxySide::Up => connection.end_mut(Side::Client).endpoint.set_receive_buffer(bytes),
        }
    }

    /// The buffer of a new connection: the initial size if it is free, else its share of a new division.
    pub(super) fn buffer_for_new(&mut self, proxy: u32) -> ByteCount {
        let rule = match &self.proxy(proxy).scheme.buffers {
            Buffers::Fixed(size) => return *size,
            Buffers::E2Atbt(rule) => rule,
        };
        let initial = rule.eatbt.initial;
        match self.proxies[proxy as usize].division.admit(initial) {
            Some(share) => share.bytes,
            None => self.divide(proxy, Some(initial)),
        }
    }

    /// A connection that was idle goes on with `size`, and gets more if that is the rule.
    pub(super) fn reuse_buffer(&mut self, proxy: u32, place: u32, size: ByteCount) {
        let setting = self.proxy(proxy);
        if let Buffers::Fixed(_) = setting.scheme.buffers {
            return;
        }
        self.set_buffer(proxy, place, size);
        // Where idle connections keep their share, it is in the last division.
        let halves = matches!(setting.scheme.idle, IdleBuffers::Halve(_))
            && setting.idle_memory == IdleMemory::Reserved;
        let state = &mut self.proxies[proxy as usize];
        let Some(demand) = state.members.get(&place).map(|member| member.demand) else { return };
        if setting.idle_memory == IdleMemory::Free && setting.divides == Divides::Reuse {
            // What it had was given away.
            self.divide(proxy, None);
        } else if demand > size && halves && setting.divides == Divides::Reuse {
            match state.division.admit(ByteCount(demand.0 - size.0)) {
                Some(_) => self.set_buffer(proxy, place, demand),
                None => {
                    self.divide(proxy, None);
                }
            }
        }
        self.note_assigned(proxy);
    }
}

/// What the sender of a connection knows of it.
fn sender(endpoint: &Endpoint, member: &Member) -> Sender {
    let timeout = endpoint.rto_without_back_off();
    // Before the first round trip nothing was sent, so the value does not matter.
    let round_trip = endpoint.smoothed_round_trip().unwrap_or(timeout);
    Sender {
        loss: member.loss.loss(),
        round_trip: Nanos::of(round_trip),
        timeout: Nanos::of(timeout),
        mss: NonZeroU32::new(endpoint.segment_size()).unwrap_or(NonZeroU32::MIN),
        peer_window: ByteCount(endpoint.largest_peer_window().into()),
        segments_per_ack: SEGMENTS_PER_ACK,
    }
}

/// With delayed ACKs (RFC 5681, section 4.2).
const SEGMENTS_PER_ACK: NonZeroU8 = NonZeroU8::new(2).expect("not 0");
