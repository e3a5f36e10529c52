//! Which connection a segment belongs to, and who judges it.

use std::{
    net::SocketAddr,
    sync::{Arc, MutexGuard},
};

use hashbrown::HashMap;

use super::{
    batch::{Batch, Located},
    copies::Copies,
    crew::{Crew, Round, Shards},
    endpoint_pair::EndpointPair,
    relief,
    shard::{Rest, Shard, Unfinished},
};
use crate::{
    attribution::KnownPaces, decode::Seen, limits::Extent, results::Results, series::Budget,
};

/// All connections of a capture.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    shards: Arc<Shards>,
    known: KnownPaces,
    copies: Copies,
    copied: u64,
    /// Addresses behind NAT, as they are before it.
    aliases: HashMap<[SocketAddr; 2], [SocketAddr; 2]>,
    crew: Crew,
    /// The batch that the crew is at.
    under_way: Option<Arc<Round>>,
    /// Bytes since memory was looked at.
    unrelieved: usize,
    /// How much of what the limits allow is kept.
    extent: Extent,
}

impl Default for ConnectionTable {
    fn default() -> Self {
        Self::new(Self::SHARDS)
    }
}

impl ConnectionTable {
    /// One for each part of a batch.
    pub(crate) const SHARDS: usize = Batch::PARTS;
    /// So many connections are worth waking others for. Our choice.
    const MANY: usize = 16;
    /// Bytes after which memory is looked at, if segments do not come in batches: each may name a path of
    /// a compression table, which takes a thousand times as much. Our choice.
    const RELIEVES: usize = 64 << 10;
    /// What a segment counts beside its payload: so memory is looked at every 256 segments. Our choice.
    const PACKET_COST: usize = Self::RELIEVES / 256;
    /// Rounds after which the rest of a batch is judged in order: in each, all that was put off is looked
    /// at again. Our choice.
    const ROUNDS: usize = 8;
    /// Connections that end together before memory is looked at. Our choice.
    const FINISHES: usize = 32;
    /// When many connections are abandoned together, the first segments of this many of them are judged,
    /// oldest first; the others are only counted. Our choice: some 20 ms.
    const JUDGED_WHEN_ABANDONED: usize = 512;
    /// The most address translations that are remembered. Our choice.
    const MAX_ALIASES: usize = 1 << 16;

    fn new(shards: usize) -> Self {
        Self {
            shards: Arc::new(Shards::new(shards)),
            known: KnownPaces::default(),
            copies: Copies::default(),
            copied: 0,
            aliases: HashMap::default(),
            crew: Crew::default(),
            under_way: None,
            unrelieved: 0,
            extent: Extent::default(),
        }
    }

    /// One that keeps what a report draws. How much that is, is bounded in all: nothing can be judged
    /// beside it.
    pub(crate) fn with_series(budget: Budget) -> Self {
        let table = Self::new(1);
        table.shards.lock(0).keep_series(budget);
        table
    }

    /// From now on connections are measured that begin.
    pub(crate) fn keep_measures(&self) {
        for shard in 0..self.shards.len() {
            self.shards.lock(shard).keep_measures();
        }
    }

    /// From now on keeps at most one `divisor`th of what the limits allow.
    pub(crate) fn divide_limits(&mut self, divisor: usize) {
        self.complete();
        self.extent.divide(divisor);
        for mut shard in self.shards.lock_all() {
            shard.results().reached.set_extent(self.extent);
        }
        self.relieve();
    }

    /// From now on batches are judged by this many threads beside the caller's.
    pub(crate) fn set_helpers(&mut self, helpers: usize) {
        self.crew = Crew::new(helpers.min(self.shards.len() - 1));
    }

    /// Takes a segment to its connection; `ordinal` were before it.
    pub(crate) fn handle(&mut self, seen: &Seen<'_>, ordinal: u64) {
        if self.under_way.is_some() {
            self.complete();
        }
        if let Some(original) = self.copies.original(seen) {
            self.copied += 1;
            self.translate(seen, original);
            return;
        }
        let renamed;
        let seen = match self.translated([seen.source, seen.destination]) {
            None => seen,
            Some([source, destination]) => {
                renamed = Seen { source, destination, ..*seen };
                &renamed
            }
        };
        let pair = EndpointPair::of(seen.source, seen.destination);
        let mut shard = self.shards.of(&pair);
        shard.handle(Located { ordinal, pair }, seen, &mut self.known);
        drop(shard);
        self.unrelieved += Self::PACKET_COST + seen.payload.len();
        if self.unrelieved >= Self::RELIEVES {
            self.relieve();
        }
    }

    /// Keeps to the limits of memory. Nobody is at the shards.
    fn relieve(&mut self) {
        self.unrelieved = 0;
        let mut shards: Vec<_> = self.shards.lock_all().collect();
        relief::relieve(&mut shards, self.extent, &mut self.known);
    }

    /// Takes the segments of `batch` to their connections; `before` were before them. They may be judged
    /// while the caller reads on. An empty batch comes back.
    pub(crate) fn handle_batch(&mut self, mut batch: Batch, before: u64) -> Batch {
        batch.follow(before);
        if self.shards.len() != Self::SHARDS || self.copies.may_be_among(&batch) {
            return self.handle_one_by_one(batch);
        }
        let empty = self.complete();
        let round = Round::new(&self.shards, batch, &self.crew);
        self.crew.begin(&round);
        self.under_way = Some(round);
        empty
    }

    /// A copy of a packet is told by the packets before it, and may rename its connection. What a report
    /// draws is bounded over all connections.
    fn handle_one_by_one(&mut self, mut batch: Batch) -> Batch {
        for (located, seen) in batch.segments() {
            self.handle(&seen, located.ordinal);
        }
        batch.clear();
        batch
    }

    /// Waits until the batch that is under way has been judged. Gives its memory back.
    fn complete(&mut self) -> Batch {
        let Some(mut round) = self.under_way.take() else { return Batch::default() };
        self.crew.finish(&round);
        for rounds in 0.. {
            if rounds == Self::ROUNDS {
                self.finish_in_order(&round);
                break;
            }
            let awaiting = self.tell_all();
            if awaiting == 0 {
                break;
            }
            round = Round::resume(round);
            if awaiting >= Self::MANY {
                self.crew.begin(&round);
                self.crew.finish(&round);
            } else {
                round.work(0);
            }
        }
        let mut batch = Round::into_batch(round);
        batch.clear();
        self.relieve();
        batch
    }

    /// Tells the connections that wait what others have shown, in the order of the capture. How many
    /// they are.
    fn tell_all(&mut self) -> usize {
        let mut shards: Vec<MutexGuard<'_, Shard>> = self.shards.lock_all().collect();
        let reopening = shards.iter().filter_map(|it| it.reopening()).min().unwrap_or(u64::MAX);
        let awaiting = shards.iter_mut().flat_map(|it| it.awaiting());
        let mut awaiting: Vec<_> = awaiting.filter(|it| it.ordinal <= reopening).collect();
        awaiting.sort_unstable_by_key(|it| it.ordinal);
        for it in &mut awaiting {
            it.paces = self.known.add(it.hosts, &it.paces);
            it.told = true;
        }
        awaiting.len()
    }

    /// Goes on with all that was put off, in the order of the capture.
    fn finish_in_order(&mut self, round: &Round) {
        let batch = round.batch();
        let mut shards: Vec<MutexGuard<'_, Shard>> = self.shards.lock_all().collect();
        let mut rest: Vec<(u64, usize, Rest)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            rest.extend(shard.take_rest(batch, number).map(|(ordinal, it)| (ordinal, number, it)));
        }
        // What a connection has shown is told before the next segment.
        rest.sort_by_key(|(ordinal, ..)| *ordinal);
        for (_, number, it) in rest {
            match it {
                Rest::Awaiting(awaiting) => shards[number].tell(*awaiting, &mut self.known),
                Rest::Packet(index) => {
                    let (located, seen) = batch.get(number, index as usize);
                    shards[number].handle(located, &seen, &mut self.known);
                }
            }
        }
    }

    /// The copy of a packet has other addresses than the packet: so has all of its connection.
    fn translate(&mut self, copy: &Seen<'_>, original: [SocketAddr; 2]) {
        let addresses = [copy.source, copy.destination];
        let pair = EndpointPair::of(copy.source, copy.destination);
        if addresses == original || self.shards.of(&pair).contains(&pair) {
            return;
        }
        if self.aliases.len() >= Self::MAX_ALIASES {
            self.aliases.clear();
        }
        self.aliases.insert(addresses, original);
        let [[a, b], [c, d]] = [addresses, original];
        self.aliases.insert([b, a], [d, c]);
    }

    /// Addresses as they were where the connection was seen first, if they were others.
    fn translated(&self, addresses: [SocketAddr; 2]) -> Option<[SocketAddr; 2]> {
        if self.aliases.is_empty() {
            return None;
        }
        self.aliases.get(&addresses).copied()
    }

    /// Abandons all open connections except those that `keeps` wants, given both ends.
    pub(crate) fn keep_only(&mut self, keeps: impl Fn([SocketAddr; 2]) -> bool) {
        self.complete();
        let mut shards: Vec<_> = self.shards.lock_all().collect();
        let mut abandoned: Vec<(usize, Unfinished)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            abandoned.extend(shard.take_unless(&keeps).into_iter().map(|it| (number, it)));
        }
        abandoned.sort_unstable_by_key(|(_, it)| it.begun);
        for (done, (number, it)) in abandoned.into_iter().enumerate() {
            shards[number].abandon(it, done < Self::JUDGED_WHEN_ABANDONED, &mut self.known);
            if done.is_multiple_of(Self::FINISHES) {
                relief::relieve_results(&mut shards, self.extent);
            }
        }
        relief::relieve_results(&mut shards, self.extent);
    }

    /// Abandons the connection of `seen` unless it was seen since the segment `ordinal`.
    pub(crate) fn keep_if_seen_since(&mut self, seen: &Seen<'_>, ordinal: u64) {
        self.complete();
        let pair = EndpointPair::of(seen.source, seen.destination);
        let mut shard = self.shards.of(&pair);
        if let Some(before) = shard.take_unless_seen_since(&pair, ordinal) {
            shard.abandon(before, true, &mut self.known);
        }
    }

    /// The capture is over: what each shard has found, with which segment of the capture began each of
    /// its connections, and how many segments were copies.
    pub(crate) fn finish(mut self) -> (Vec<(Results, Vec<u64>)>, u64) {
        self.complete();
        self.relieve();
        let mut shards: Vec<_> = self.shards.lock_all().collect();
        let mut unfinished: Vec<(usize, Unfinished)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            unfinished.extend(shard.take_unfinished().into_iter().map(|it| (number, it)));
        }
        unfinished.sort_unstable_by_key(|(_, it)| it.begun);
        for (done, (number, it)) in unfinished.into_iter().enumerate() {
            shards[number].finish(it, &mut self.known);
            if done.is_multiple_of(Self::FINISHES) {
                relief::relieve_results(&mut shards, self.extent);
            }
        }
        relief::relieve_results(&mut shards, self.extent);
        (shards.iter_mut().map(|it| it.take_results()).collect(), self.copied)
    }
}
