//! Some of the connections of a capture, judged by one thread at a time.
//!
//! Connections do not know each other, with one exception: what earlier ones between the same hosts have
//! shown of the path. So in a batch of packets each shard goes on as far as it can without that
//! ([`Shard::handle_batch`]); then all learn of each other in the order of the capture; then each shard
//! does what is left ([`Shard::resume`]). The result is that of one packet after the other.

use std::{collections::VecDeque, net::IpAddr, time::Duration};

use ackwise_tcp::Instant;
use hashbrown::HashMap;

use super::{
    batch::{Batch, Located},
    closed::Closed,
    connection::ObservedConnection,
    endpoint_pair::{EndpointPair, roles},
    warm_up::WarmUp,
};
use crate::{
    attribution::{KnownPaces, Paces},
    decode::Seen,
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
    opened: u32,
    /// Which segment of the capture began each connection.
    begun: Vec<u64>,
    results: Results,
    /// Connections that wait for what others have shown.
    awaiting: Vec<Awaiting>,
    /// Room for them while they are told.
    told: Vec<Awaiting>,
    /// Packets of the batch that belong to such connections, by their place in its part.
    deferred: Vec<u32>,
    /// Room for those while they are handled.
    resumed: Vec<u32>,
    /// Memory for the first segments of connections.
    spare: Vec<WarmUp>,
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

/// A connection that the capture does not show the end of.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// The segment of the capture that began it.
    pub begun: u64,
    connection: Box<ObservedConnection>,
}

#[derive(Debug)]
enum Slot {
    Alive(Box<ObservedConnection>),
    Over(Closed),
}

impl Awaiting {
    /// The connection, if it waits.
    fn of(connection: &ObservedConnection, located: Located, at: Instant) -> Option<Self> {
        let (hosts, paces) = connection.awaits_paces()?;
        let Located { ordinal, pair } = located;
        Some(Self { ordinal, hosts, paces: *paces, told: false, at, pair })
    }
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

    /// Takes a segment to its connection, when all segments before it have been handled.
    pub(crate) fn handle(&mut self, located: Located, seen: &Seen<'_>, known: &mut KnownPaces) {
        if !self.try_handle(located, seen) {
            self.begin_all(known);
            self.try_handle(located, seen);
        }
        self.begin_all(known);
    }

    fn begin_all(&mut self, known: &mut KnownPaces) {
        while let Some(mut awaiting) = self.awaiting.pop() {
            awaiting.paces = known.add(awaiting.hosts, &awaiting.paces);
            self.begin(&awaiting);
        }
    }

    /// Takes the segments of `batch` that are this shard's to their connections, as far as these can go
    /// on.
    pub(crate) fn handle_batch(&mut self, batch: &Batch, part: usize) {
        (0..).take(batch.part(part)).for_each(|index| self.handle_one(batch, part, index));
    }

    fn handle_one(&mut self, batch: &Batch, part: usize, index: u32) {
        let (located, seen) = batch.get(part, index as usize);
        if !self.try_handle(located, &seen) {
            self.deferred.push(index);
            if begins(&seen) {
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
        told.append(&mut self.awaiting);
        for it in told.drain(..) {
            if it.told {
                self.begin(&it);
            } else {
                self.awaiting.push(it);
            }
        }
        self.told = told;
        self.reopening = None;
        let mut resumed = std::mem::take(&mut self.resumed);
        resumed.append(&mut self.deferred);
        resumed.drain(..).for_each(|index| self.handle_one(batch, part, index));
        self.resumed = resumed;
    }

    /// False if the connection first has to be told what others have shown.
    fn try_handle(&mut self, located: Located, seen: &Seen<'_>) -> bool {
        let pair = located.pair;
        self.forget(seen.at);
        let slot = self.slots.get_mut(&pair);
        let slot = match slot {
            Some(Slot::Over(closed)) if !begins(seen) => {
                closed.handle(seen, &mut self.results);
                return true;
            }
            Some(Slot::Alive(connection)) if connection.awaits_paces().is_some() => return false,
            Some(Slot::Alive(connection)) if !connection.is_reused_by(&seen.segment) => {
                connection.handle(seen, &mut self.results);
                if connection.is_over() {
                    self.end(pair, seen.at);
                } else {
                    self.awaiting.extend(Awaiting::of(connection, located, seen.at));
                }
                return true;
            }
            Some(Slot::Alive(connection)) if connection.warms_up() => {
                connection.survey();
                self.awaiting.extend(Awaiting::of(connection, located, seen.at));
                return false;
            }
            // An end that nobody saw the beginning of.
            None if seen.segment.len == 0 && !seen.segment.flags.syn => return true,
            slot => slot,
        };
        let (client, server) = roles(seen);
        let warm_up = self.spare.pop().unwrap_or_default();
        let mut connection =
            Box::new(ObservedConnection::new(self.opened, client, server, seen.at, warm_up));
        self.opened += 1;
        self.begun.push(located.ordinal);
        if let Some(budget) = &self.results.budget {
            connection.keep_series(budget.stretches_per_exchange());
        }
        if self.results.keeps_measures {
            connection.keep_measures();
        }
        connection.handle(seen, &mut self.results);
        match slot {
            Some(slot) => {
                if let Slot::Alive(before) = std::mem::replace(slot, Slot::Alive(connection)) {
                    before.finish(&mut self.results);
                }
            }
            None => {
                self.slots.insert(pair, Slot::Alive(connection));
            }
        }
        true
    }

    /// The connection goes on, and may be over.
    fn begin(&mut self, awaiting: &Awaiting) {
        let Some(Slot::Alive(connection)) = self.slots.get_mut(&awaiting.pair) else { return };
        let warm_up = connection.begin(&awaiting.paces, &mut self.results);
        self.spare.extend(warm_up.filter(|_| self.spare.len() < Self::MAX_SPARE));
        if connection.is_over() {
            self.end(awaiting.pair, awaiting.at);
        }
    }

    fn end(&mut self, pair: EndpointPair, now: Instant) {
        if let Some(Slot::Alive(connection)) = self.slots.remove(&pair) {
            self.slots.insert(pair, Slot::Over(connection.finish(&mut self.results)));
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
        let unfinished = slots.filter_map(|slot| match slot {
            Slot::Alive(connection) => {
                Some(Unfinished { begun: self.begun[connection.id() as usize], connection })
            }
            Slot::Over(_) => None,
        });
        unfinished.collect()
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, unfinished: Unfinished, known: &mut KnownPaces) {
        let Unfinished { mut connection, .. } = unfinished;
        connection.begin_now(known, &mut self.results);
        connection.finish(&mut self.results);
    }

    /// What it has found, and which segment of the capture began each of its connections.
    pub(crate) fn take_results(&mut self) -> (Results, Vec<u64>) {
        (std::mem::take(&mut self.results), std::mem::take(&mut self.begun))
    }
}
