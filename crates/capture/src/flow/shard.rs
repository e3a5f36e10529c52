//! Some of the connections of a capture, judged by one thread at a time.
//!
//! Connections do not know each other, with one exception: what earlier ones between the same hosts have
//! shown of the path. So in a batch of packets each shard goes on as far as it can without that
//! ([`Shard::handle_batch`]); then all learn of each other in the order of the capture; then each shard
//! does what is left ([`Shard::resume`]). The result is that of one packet after the other.

mod life;
mod put_off;
mod slot;

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ackwise_tcp::Instant;
use hashbrown::{HashMap, hash_map::Entry};

use self::{
    life::Again,
    put_off::Waits,
    slot::{OnePacket, Slot},
};
use super::{
    batch::{Batch, Located},
    closed::Closed,
    connection::ObservedConnection,
    endpoint_pair::EndpointPair,
    ends::Ends,
    newcomer::Newcomer,
    packet::{Packet, begins},
};
use crate::{
    attribution::{KnownPaces, Paces, Rule},
    decode::Seen,
    keys::KeyLog,
    limits::{Limit, ONE_PACKET_BYTES},
    results::Results,
    series::Budget,
};

/// The connections that are alive, and those that are over but may still be heard of.
#[derive(Debug, Default)]
// Threads have shards side by side: none shares a line of the cache with another.
#[repr(align(128))]
pub(crate) struct Shard {
    // Looked up, never walked but to end it: so the order of a hash table shows nowhere.
    slots: HashMap<EndpointPair, Slot>,
    over: VecDeque<(Instant, EndpointPair)>,
    /// Which segment of the capture began each connection.
    begun: Vec<u64>,
    /// Numbers of connections that can be used again.
    free: Vec<u32>,
    /// Connections of which one packet was seen, oldest first; those that went on are still there.
    one_packet: VecDeque<(u64, EndpointPair)>,
    one_packet_count: usize,
    /// The other connections that are not over, by when they were seen last, or earlier; those that
    /// are over may be there.
    live: VecDeque<(u64, EndpointPair)>,
    live_count: usize,
    /// Bytes that these take, about.
    live_bytes: usize,
    /// The connections that were let go last, oldest first.
    let_go: VecDeque<EndpointPair>,
    again: Again,
    results: Results,
    /// Connections that wait for what others have shown.
    awaiting: Vec<Awaiting>,
    /// Room for them while they are told.
    told: Vec<Awaiting>,
    /// Packets of the batch that belong to such connections, by their place in its part.
    deferred: Vec<u32>,
    /// Room for those while they are handled.
    resumed: Vec<u32>,
    /// Those that are not needed any more, for the next ones.
    #[expect(clippy::vec_box, reason = "they move to where connections are, and back")]
    spare_newcomers: Vec<Box<Newcomer>>,
    spare: Vec<Box<ObservedConnection>>,
    /// What surveys newcomers, one after the other.
    trial: Box<Ends>,
    /// The first segment among them that may begin another connection, which has something to tell.
    reopening: Option<u64>,
}

/// A connection that waits for what others have shown of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaiting {
    /// The segment of the capture that brought it here.
    pub ordinal: u64,
    pub hosts: [IpAddr; 2],
    /// What it has shown itself; once it is told, what is known.
    pub paces: Paces,
    pub told: bool,
    at: Instant,
    pair: EndpointPair,
}

/// What is left of a batch.
#[derive(Debug)]
pub(crate) enum Rest {
    /// A connection to be told what is known.
    Awaiting(Box<Awaiting>),
    /// A packet that was put off, by its place in its part.
    Packet(u32),
}

/// A connection that the capture does not show the end of.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// The segment of the capture that began it.
    pub begun: u64,
    slot: Slot,
}

impl Awaiting {
    /// A newcomer, if it waits.
    fn of(newcomer: &Newcomer, located: Located, at: Instant) -> Option<Self> {
        let (hosts, paces) = newcomer.awaits_paces()?;
        let Located { ordinal, pair } = located;
        Some(Self { ordinal, hosts, paces: *paces, told: false, at, pair })
    }
}

/// What a shard holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub one_packet: usize,
    pub live_bytes: usize,
    pub exchange_bytes: usize,
    /// Connections that are not listed whose exchanges are.
    pub gone: usize,
}

/// Counts what a connection takes.
const fn charge(charged: &mut usize, cost: usize, bytes: &mut usize) {
    *bytes = *bytes - *charged + cost;
    *charged = cost;
}

impl Shard {
    /// How long segments of a closed connection may still arrive: 2 MSL, as in Linux.
    const LINGER: Duration = Duration::from_secs(60);
    /// The most closed connections that a shard remembers. Our choice: of all shards together as many as
    /// a server closes in a second, and few enough to stay in the processor's cache.
    const MAX_OVER: usize = 1 << 10;

    pub(crate) fn keep_series(&mut self, budget: Budget) {
        self.results.keep_series(budget);
    }

    pub(crate) fn keep_measures(&mut self) {
        self.results.keeps_measures = true;
    }

    pub(crate) fn switch_off(&mut self, rule: Rule) {
        self.results.without = Some(rule);
    }

    pub(crate) fn use_keys(&mut self, keys: Arc<KeyLog>) {
        self.results.keys = Some(keys);
    }

    pub(crate) fn contains(&self, pair: &EndpointPair) -> bool {
        self.slots.contains_key(pair)
    }

    /// Takes a segment to its connection, when all segments before it have been handled.
    pub(crate) fn handle(&mut self, located: Located, seen: &Seen<'_>, known: &mut KnownPaces) {
        if !self.try_handle(located, seen) {
            self.begin_all(known);
            self.try_handle(located, seen);
        }
        self.begin_all(known);
    }

    fn begin_all(&mut self, known: &mut KnownPaces) {
        while let Some(awaiting) = self.awaiting.pop() {
            self.tell(awaiting, known);
        }
    }

    /// Tells a connection what is known, and learns what it has shown.
    pub(crate) fn tell(&mut self, mut awaiting: Awaiting, known: &mut KnownPaces) {
        awaiting.paces = known.add(awaiting.hosts, &awaiting.paces);
        self.begin(&awaiting);
    }

    /// Hands out what waits, each with the segment of the capture to which it belongs.
    pub(crate) fn take_rest<'a>(
        &mut self,
        batch: &'a Batch,
        part: usize,
    ) -> impl Iterator<Item = (u64, Rest)> + use<'a> {
        self.reopening = None;
        let awaiting = std::mem::take(&mut self.awaiting).into_iter();
        let packets = std::mem::take(&mut self.deferred).into_iter();
        let awaiting = awaiting.map(|it| (it.ordinal, Rest::Awaiting(Box::new(it))));
        awaiting.chain(
            packets.map(move |index| (batch.ordinal(part, index as usize), Rest::Packet(index))),
        )
    }

    /// Takes the segments of `batch` that are this shard's to their connections, as far as these can go
    /// on.
    pub(crate) fn handle_batch(&mut self, batch: &Batch, part: usize) {
        let mut index = 0;
        while (index as usize) < batch.part(part) {
            index = self.handle_next(batch, part, index);
        }
    }

    /// Takes the segment at `index`, and maybe the ones that follow it, to its connection. Which comes next.
    fn handle_next(&mut self, batch: &Batch, part: usize, index: u32) -> u32 {
        let next = self.handle_run(batch, part, index);
        if next == index {
            self.handle_one(batch, part, index);
        }
        next.max(index + 1)
    }

    /// Takes the segments from the one at `index` on to their connection, as long as they are of the same one
    /// and it goes on. Which comes next.
    ///
    /// [`try_handle`](Self::try_handle) does the same with each of them. Here it is looked up once, and what it
    /// takes is counted once: nobody asks for that before the batch is over. To forget what is over by the
    /// latest of their times is to forget it by each.
    fn handle_run(&mut self, batch: &Batch, part: usize, index: u32) -> u32 {
        let pair = batch.pair(part, index as usize);
        let connection = match self.slots.get_mut(&pair) {
            Some(Slot::New(newcomer)) => {
                let Self { awaiting, deferred, reopening, trial, .. } = self;
                let mut waits = Waits { awaiting, deferred, reopening, trial };
                let run = waits.put_off_run(newcomer, pair, batch, (part, index));
                let cost = newcomer.cost();
                charge(&mut newcomer.charged, cost, &mut self.live_bytes);
                return self.end_run(pair, &run);
            }
            Some(Slot::Alive(connection)) => connection,
            _ => return index,
        };
        let (mut next, mut latest, mut over) = (index, Instant::EPOCH, None);
        while (next as usize) < batch.part(part) && batch.pair(part, next as usize) == pair {
            let seen = batch.glance(part, next as usize);
            if connection.is_reused_by(&seen.segment) {
                break;
            }
            let direction = connection.direction_in_order(seen.in_order);
            connection.handle(&seen.packet(), direction, &mut self.results);
            connection.touched = seen.ordinal;
            (next, latest) = (next + 1, latest.max(seen.at));
            if connection.is_over() {
                over = Some(seen.at);
                break;
            }
        }
        if next > index {
            let cost = connection.cost();
            charge(&mut connection.charged, cost, &mut self.live_bytes);
            self.forget(latest);
        }
        if let Some(at) = over {
            self.end(pair, at);
        }
        next
    }

    fn handle_one(&mut self, batch: &Batch, part: usize, index: u32) {
        let (located, seen) = batch.get(part, index as usize);
        if !self.try_handle(located, &seen) {
            self.deferred.push(index);
            if begins(&seen.segment) {
                self.reopening.get_or_insert(located.ordinal);
            }
        }
    }

    /// The connections that wait, to be told what is known.
    pub(crate) fn awaiting(&mut self) -> &mut [Awaiting] {
        &mut self.awaiting
    }

    /// The segment before which all connections are known that have something to tell; `None` if all
    /// of the batch are.
    pub(crate) const fn reopening(&self) -> Option<u64> {
        self.reopening
    }

    /// Goes on with the connections that were told, and with what was put off for them.
    pub(crate) fn resume(&mut self, batch: &Batch, part: usize) {
        let mut told = std::mem::take(&mut self.told);
        told.extend(self.awaiting.extract_if(.., |it| it.told));
        told.sort_unstable_by_key(|it| it.ordinal);
        self.reopening = None;
        let mut resumed = std::mem::take(&mut self.resumed);
        resumed.append(&mut self.deferred);
        // Each just before its next packet: then it is mostly over before another one begins.
        let (mut begun, mut next) = (0, 0);
        for index in resumed.drain(..) {
            if index < next {
                continue;
            }
            let ordinal = batch.ordinal(part, index as usize);
            while let Some(it) = told.get(begun).filter(|it| it.ordinal <= ordinal) {
                self.begin(it);
                begun += 1;
            }
            // All of a run were put off.
            next = self.handle_next(batch, part, index);
        }
        told[begun..].iter().for_each(|it| self.begin(it));
        told.clear();
        (self.told, self.resumed) = (told, resumed);
    }

    /// Whether there is something to go on with.
    pub(crate) fn has_rest(&self) -> bool {
        !self.deferred.is_empty() || self.awaiting.iter().any(|it| it.told)
    }

    /// False if the connection first has to be told what others have shown.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn try_handle(&mut self, located: Located, seen: &Seen<'_>) -> bool {
        let pair = located.pair;
        self.forget(seen.at);
        let slot = self.slots.get_mut(&pair);
        let slot = match slot {
            Some(Slot::Over(closed)) if !begins(&seen.segment) => {
                closed.handle(seen, &mut self.results);
                return true;
            }
            Some(Slot::LetGo { is_mutual })
                if !begins(&seen.segment)
                    && (seen.segment.len == 0 || !self.again.may_begin(*is_mutual, located)) =>
            {
                return true;
            }
            Some(Slot::OnePacket(_)) => return self.go_on(located, seen),
            Some(Slot::New(newcomer)) if newcomer.awaits_paces().is_some() => return false,
            Some(Slot::New(newcomer)) if !newcomer.puts_off(&seen.segment, seen.payload) => {
                self.put_off_no_more(pair, seen.at);
                return self.try_handle(located, seen);
            }
            Some(Slot::New(newcomer)) => {
                let is_reused = newcomer.is_reused_by(&seen.segment);
                if is_reused {
                    newcomer.survey(&mut self.trial);
                } else {
                    let direction = newcomer.direction(seen.source);
                    newcomer.handle(&Packet::of(seen), direction, &mut self.trial);
                    newcomer.touched = located.ordinal;
                    let cost = newcomer.cost();
                    charge(&mut newcomer.charged, cost, &mut self.live_bytes);
                }
                let may_be_over = newcomer.may_be_over();
                self.awaiting.extend(Awaiting::of(newcomer, located, seen.at));
                if may_be_over {
                    self.put_off_no_more(pair, seen.at);
                }
                return !is_reused;
            }
            Some(Slot::Alive(connection)) if !connection.is_reused_by(&seen.segment) => {
                let direction = connection.direction(seen.source);
                connection.handle(&Packet::of(seen), direction, &mut self.results);
                connection.touched = located.ordinal;
                let cost = connection.cost();
                charge(&mut connection.charged, cost, &mut self.live_bytes);
                if connection.is_over() {
                    self.end(pair, seen.at);
                }
                return true;
            }
            // An end that nobody saw the beginning of.
            None if seen.segment.len == 0 && !seen.segment.flags.syn => return true,
            slot => slot,
        };
        let before = slot.map(|it| std::mem::replace(it, Slot::Over(Closed::default())));
        if let Some(Slot::Alive(before)) = before {
            self.finish_one(before);
        }
        let id = self.number(located.ordinal);
        if seen.payload.len() <= ONE_PACKET_BYTES {
            if self.one_packet.len() > 2 * self.one_packet_count + Self::MAX_OVER {
                self.one_packet
                    .retain(|(_, pair)| matches!(self.slots.get(pair), Some(Slot::OnePacket(_))));
            }
            let (payload, seen) = (seen.payload.into(), Seen { payload: &[], ..*seen });
            self.slots.insert(pair, Slot::OnePacket(Box::new(OnePacket { id, seen, payload })));
            self.one_packet.push_back((located.ordinal, pair));
            self.one_packet_count += 1;
            return true;
        }
        let newcomer = self.open(id, seen);
        self.keep(located, newcomer, seen.at);
        true
    }

    /// The connections whose end the capture does not show, in any order.
    pub(crate) fn take_unfinished(&mut self) -> Vec<Unfinished> {
        let slots = std::mem::take(&mut self.slots).into_values();
        slots.filter_map(|slot| self.unfinished(slot)).collect()
    }

    fn unfinished(&self, slot: Slot) -> Option<Unfinished> {
        Some(Unfinished { begun: self.begun[slot.id()? as usize], slot })
    }

    /// The same without those that `keeps` wants, given both ends.
    pub(crate) fn take_unless(
        &mut self,
        keeps: impl Fn([SocketAddr; 2]) -> bool,
    ) -> Vec<Unfinished> {
        let mut slots = std::mem::take(&mut self.slots);
        let is_out = |slot: &mut Slot| slot.ends().is_some_and(|ends| !keeps(ends));
        let out = slots.extract_if(|_, slot| is_out(slot));
        let out = out.filter_map(|(_, slot)| self.unfinished(slot)).collect();
        self.slots = slots;
        out
    }

    /// The connection of `pair`, unless it was seen since the segment `ordinal`.
    pub(crate) fn take_unless_seen_since(
        &mut self,
        pair: &EndpointPair,
        ordinal: u64,
    ) -> Option<Unfinished> {
        let last = match self.slots.get(pair)? {
            Slot::OnePacket(one_packet) => self.begun[one_packet.id as usize],
            Slot::New(newcomer) => newcomer.touched,
            Slot::Alive(connection) => connection.touched,
            Slot::Over(_) | Slot::LetGo { .. } => return None,
        };
        let slot = if last < ordinal { self.slots.remove(pair)? } else { return None };
        self.unfinished(slot)
    }

    /// What is known of a connection that is not captured any more. Its first segments may take a while
    /// to judge.
    pub(crate) fn abandon(&mut self, unfinished: Unfinished, judges: bool, known: &mut KnownPaces) {
        let is_listed = match unfinished.slot {
            Slot::Over(_) | Slot::LetGo { .. } => return,
            Slot::OnePacket(one_packet) => {
                self.one_packet_count -= 1;
                self.results.unfollowed.count(0);
                Err(one_packet.id)
            }
            Slot::New(newcomer) => {
                self.live_count -= 1;
                self.live_bytes -= newcomer.charged;
                let id = newcomer.id;
                let is_listed = judges && {
                    let mut connection = self.begin_now(newcomer, known);
                    connection.abandon(&mut self.results)
                };
                if !judges {
                    self.results.unfollowed.count(0);
                }
                is_listed.then_some(()).ok_or(id)
            }
            Slot::Alive(mut connection) => {
                self.live_count -= 1;
                self.live_bytes -= connection.charged;
                let id = connection.id();
                connection.abandon(&mut self.results).then_some(()).ok_or(id)
            }
        };
        if let Err(id) = is_listed {
            self.free.push(id);
            self.results.fold_unfollowed();
        }
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, unfinished: Unfinished, known: &mut KnownPaces) {
        let mut connection = match unfinished.slot {
            Slot::Alive(connection) => connection,
            Slot::New(newcomer) => self.begin_now(newcomer, known),
            Slot::OnePacket(one_packet) => {
                let newcomer = self.open(one_packet.id, &one_packet.seen());
                self.begin_now(newcomer, known)
            }
            Slot::Over(_) | Slot::LetGo { .. } => return,
        };
        connection.finish(&mut self.results);
        self.spare_connection(connection);
    }

    /// What it holds.
    pub(crate) const fn load(&self) -> Load {
        Load {
            one_packet: self.one_packet_count,
            live_bytes: self.live_bytes,
            exchange_bytes: self.results.held(),
            gone: self.results.gone(),
        }
    }

    /// When the connection of one packet began that is first in line.
    pub(crate) fn oldest_one_packet(&self) -> Option<u64> {
        self.one_packet.front().map(|(begun, _)| *begun)
    }

    /// Forgets the connection of one packet that is first in line, unless it has gone on.
    pub(crate) fn fold_one_packet(&mut self) {
        let Some((begun, pair)) = self.one_packet.pop_front() else { return };
        if let Entry::Occupied(slot) = self.slots.entry(pair)
            && let Slot::OnePacket(it) = slot.get()
            && self.begun[it.id as usize] == begun
        {
            self.free.push(it.id);
            slot.remove();
            self.one_packet_count -= 1;
            self.results.fold_one_packet();
        }
    }

    /// When the connection was seen, or later, that is first in line.
    pub(crate) fn idle_longest(&self) -> Option<u64> {
        self.live.front().map(|(seen, _)| *seen)
    }

    /// Ends the connection that is first in line, unless it was used since. Those with packets from
    /// one end only go first: whoever invents addresses hears no answer.
    pub(crate) fn let_go(&mut self, known: &mut KnownPaces) {
        let Some((seen, pair)) = self.live.pop_front() else { return };
        let Entry::Occupied(mut slot) = self.slots.entry(pair) else { return };
        let (touched, spared, is_mutual) = match slot.get_mut() {
            Slot::New(it) => {
                let is_mutual = it.is_mutual();
                (it.touched, &mut it.spared, is_mutual)
            }
            Slot::Alive(it) => {
                let is_mutual = it.is_mutual();
                (it.touched, &mut it.spared, is_mutual)
            }
            Slot::OnePacket(_) | Slot::Over(_) | Slot::LetGo { .. } => return,
        };
        let spares = !*spared && is_mutual;
        if touched > seen || spares {
            *spared |= spares;
            self.live.push_back((touched, pair));
            return;
        }
        let connection = match slot.remove() {
            Slot::New(newcomer) => {
                let charged = newcomer.charged;
                let mut connection = self.begin_now(newcomer, known);
                connection.charged = charged;
                connection
            }
            Slot::Alive(connection) => connection,
            Slot::OnePacket(_) | Slot::Over(_) | Slot::LetGo { .. } => return,
        };
        self.finish_one(connection);
        self.remember_let_go(pair, is_mutual);
        self.results.reached.count(Limit::LiveConnections, 1);
    }

    /// Lets go of exchanges whose connections are not listed.
    pub(crate) fn fold_gone(&mut self) {
        let gone = self.results.fold_gone();
        self.free.extend(gone);
    }

    /// Uses numbers again of connections that are not listed.
    pub(crate) fn free_numbers(&mut self) {
        let unused = self.results.take_unused();
        self.free.extend(unused);
    }

    pub(crate) const fn results(&mut self) -> &mut Results {
        &mut self.results
    }

    /// What it has found, and which segment of the capture began each of its connections.
    pub(crate) fn take_results(&mut self) -> (Results, Vec<u64>) {
        (std::mem::take(&mut self.results), std::mem::take(&mut self.begun))
    }
}
