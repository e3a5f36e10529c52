//! Some of the connections of a capture, judged by one thread at a time.
//!
//! Connections do not know each other, so shards may judge a batch of packets side by side. The result is
//! that of one packet after the other.

use std::{collections::VecDeque, time::Duration};

use ackwise_tcp::Instant;
use hashbrown::{HashMap, hash_map::Entry};

use super::{
    batch::{Batch, Located},
    closed::Closed,
    connection::ObservedConnection,
    endpoint_pair::{EndpointPair, roles},
    warm_up::WarmUp,
};
use crate::{
    decode::Seen,
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
    results: Results,
    /// Memory for the first segments of connections.
    spare: Vec<WarmUp>,
}

/// A connection that the capture does not show the end of.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// The segment of the capture that began it.
    pub begun: u64,
    slot: Slot,
}

#[derive(Debug)]
enum Slot {
    OnePacket(Box<OnePacket>),
    Alive(Box<ObservedConnection>),
    Over(Closed),
}

/// A connection of which one packet was seen: a flood of those should cost little.
#[derive(Debug)]
struct OnePacket {
    id: u32,
    /// Without its payload.
    seen: Seen<'static>,
    payload: Box<[u8]>,
}

impl OnePacket {
    fn seen(&self) -> Seen<'_> {
        Seen { payload: &self.payload, ..self.seen }
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
fn charge(connection: &mut ObservedConnection, bytes: &mut usize) {
    let cost = connection.cost();
    *bytes = *bytes - connection.charged + cost;
    connection.charged = cost;
}

const fn begins(seen: &Seen<'_>) -> bool {
    seen.segment.flags.syn && seen.segment.ack.is_none()
}

impl Shard {
    /// How long segments of a closed connection may still arrive: 2 MSL, as in Linux.
    const LINGER: Duration = Duration::from_secs(60);
    /// The most closed connections that a shard remembers. Our choice: of all shards together as many as
    /// a server closes in a second, and few enough to stay in the processor's cache.
    const MAX_OVER: usize = 1 << 10;

    /// The most memory that is kept for connections to come. Our choice.
    const MAX_SPARE: usize = 1 << 6;

    pub(crate) fn keep_series(&mut self, budget: Budget) {
        self.results.keep_series(budget);
    }

    pub(crate) fn keep_measures(&mut self) {
        self.results.keeps_measures = true;
    }

    pub(crate) fn contains(&self, pair: &EndpointPair) -> bool {
        self.slots.contains_key(pair)
    }

    /// Takes the segments of `batch` that are this shard's to their connections.
    pub(crate) fn handle_batch(&mut self, batch: &Batch, part: usize) {
        for index in 0..batch.part(part) {
            let (located, seen) = batch.get(part, index);
            self.handle(located, &seen);
        }
    }

    /// Takes a segment to its connection, when all segments of that before it have been handled.
    pub(crate) fn handle(&mut self, located: Located, seen: &Seen<'_>) {
        let pair = located.pair;
        self.forget(seen.at);
        let slot = self.slots.get_mut(&pair);
        let slot = match slot {
            Some(Slot::Over(closed)) if !begins(seen) => {
                return closed.handle(seen, &mut self.results);
            }
            Some(Slot::OnePacket(_)) => return self.go_on(located, seen),
            Some(Slot::Alive(connection)) if !connection.is_reused_by(&seen.segment) => {
                let warm_up = connection.handle(seen, &mut self.results);
                self.spare.extend(warm_up.filter(|_| self.spare.len() < Self::MAX_SPARE));
                connection.touched = located.ordinal;
                charge(connection, &mut self.live_bytes);
                if connection.is_over() {
                    self.end(pair, seen.at);
                }
                return;
            }
            // An end that nobody saw the beginning of.
            None if seen.segment.len == 0 && !seen.segment.flags.syn => return,
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
            return;
        }
        let mut connection = self.open(id, seen);
        connection.handle(seen, &mut self.results);
        self.keep(located, connection, seen.at);
    }

    /// A number for a connection that the segment `ordinal` begins.
    fn number(&mut self, ordinal: u64) -> u32 {
        if let Some(id) = self.free.pop() {
            self.begun[id as usize] = ordinal;
            return id;
        }
        self.begun.push(ordinal);
        // Each takes a packet of a capture, and packets are fewer.
        u32::try_from(self.begun.len() - 1).unwrap_or(u32::MAX)
    }

    fn open(&mut self, id: u32, first: &Seen<'_>) -> Box<ObservedConnection> {
        let (client, server) = roles(first);
        let warm_up = self.spare.pop().unwrap_or_default();
        let mut connection =
            Box::new(ObservedConnection::new(id, client, server, first.at, warm_up));
        if let Some(budget) = &self.results.budget {
            connection.keep_series(budget.stretches_per_exchange());
        }
        if self.results.keeps_measures {
            connection.keep_measures();
        }
        connection
    }

    fn keep(&mut self, located: Located, mut connection: Box<ObservedConnection>, at: Instant) {
        let is_over = connection.is_over();
        connection.touched = located.ordinal;
        charge(&mut connection, &mut self.live_bytes);
        self.live_count += 1;
        if self.live.len() > 2 * self.live_count + Self::MAX_OVER {
            self.live.retain(|(_, pair)| matches!(self.slots.get(pair), Some(Slot::Alive(_))));
        }
        self.live.push_back((located.ordinal, located.pair));
        self.slots.insert(located.pair, Slot::Alive(connection));
        // Its only packet may be the last.
        if is_over {
            self.end(located.pair, at);
        }
    }

    /// A connection of which one packet was seen goes on, unless another takes its place.
    fn go_on(&mut self, located: Located, seen: &Seen<'_>) {
        let Some(Slot::OnePacket(first)) = self.slots.remove(&located.pair) else { return };
        self.one_packet_count -= 1;
        let begun = Located { ordinal: self.begun[first.id as usize], ..located };
        let mut connection = self.open(first.id, &first.seen());
        connection.handle(&first.seen(), &mut self.results);
        if connection.is_reused_by(&seen.segment) {
            connection.finish(&mut self.results);
        } else {
            self.keep(begun, connection, first.seen.at);
        }
        self.handle(located, seen);
    }

    fn finish_one(&mut self, connection: Box<ObservedConnection>) -> Closed {
        self.live_count -= 1;
        self.live_bytes -= connection.charged;
        connection.finish(&mut self.results)
    }

    fn end(&mut self, pair: EndpointPair, now: Instant) {
        if let Some(Slot::Alive(connection)) = self.slots.remove(&pair) {
            let closed = self.finish_one(connection);
            self.slots.insert(pair, Slot::Over(closed));
        }
        self.over.push_back((now, pair));
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, pair)) = self.over.front().copied() {
            if self.over.len() <= Self::MAX_OVER && now.saturating_since(at) < Self::LINGER {
                return;
            }
            self.over.pop_front();
            if matches!(self.slots.get(&pair), Some(Slot::Over(_))) {
                self.slots.remove(&pair);
            }
        }
    }

    /// The connections whose end the capture does not show, in any order.
    pub(crate) fn take_unfinished(&mut self) -> Vec<Unfinished> {
        let slots = std::mem::take(&mut self.slots).into_values();
        let id = |slot: &Slot| match slot {
            Slot::Alive(connection) => Some(connection.id()),
            Slot::OnePacket(one_packet) => Some(one_packet.id),
            Slot::Over(_) => None,
        };
        let unfinished = |slot| Some(Unfinished { begun: self.begun[id(&slot)? as usize], slot });
        slots.filter_map(unfinished).collect()
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, unfinished: Unfinished) {
        let connection = match unfinished.slot {
            Slot::Alive(connection) => connection,
            Slot::OnePacket(one_packet) => {
                let mut connection = self.open(one_packet.id, &one_packet.seen());
                connection.handle(&one_packet.seen(), &mut self.results);
                connection
            }
            Slot::Over(_) => return,
        };
        connection.finish(&mut self.results);
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
    pub(crate) fn let_go(&mut self) {
        let Some((seen, pair)) = self.live.pop_front() else { return };
        let Entry::Occupied(mut slot) = self.slots.entry(pair) else { return };
        let Slot::Alive(connection) = slot.get_mut() else { return };
        let spares = !connection.spared && connection.is_mutual();
        if connection.touched > seen || spares {
            connection.spared |= spares;
            self.live.push_back((connection.touched, pair));
            return;
        }
        if let Slot::Alive(connection) = slot.remove() {
            self.finish_one(connection);
            self.results.reached.count(Limit::LiveConnections, 1);
        }
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
