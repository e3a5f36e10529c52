//! Which connection a segment belongs to, and who judges it.

use std::{net::SocketAddr, num::NonZeroUsize, sync::Arc};

use hashbrown::HashMap;

use super::{
    batch::{Batch, Located},
    copies::{Copies, Copy},
    crew::{Between, Crew},
    endpoint_pair::EndpointPair,
    relief,
    shard::Unfinished,
};
use crate::{
    attribution::Rule, decode::Seen, keys::KeyLog, results::Results, series::Budget, work::Reserve,
};

/// Each shard has its part of the reserve.
const _: () = assert!(ConnectionTable::SHARDS == Reserve::SHARES);

/// All connections of a capture.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    crew: Crew,
    /// It may be at some batches.
    is_under_way: bool,
    copies: Copies,
    copied: u64,
    /// Addresses behind NAT, as they are before it.
    aliases: HashMap<[SocketAddr; 2], [SocketAddr; 2]>,
    /// Bytes since memory was looked at.
    unrelieved: usize,
}

impl Default for ConnectionTable {
    fn default() -> Self {
        Self::new(Self::SHARDS)
    }
}

impl ConnectionTable {
    /// One for each part of a batch.
    pub(crate) const SHARDS: usize = Batch::PARTS;
    /// Bytes after which memory is looked at, if segments do not come in batches: each may name a path of
    /// a compression table, which takes a thousand times as much. Our choice.
    const RELIEVES: usize = 64 << 10;
    /// What a segment counts beside its payload: so memory is looked at every 256 segments. Our choice.
    const PACKET_COST: usize = Self::RELIEVES / 256;
    /// Connections that end together before memory is looked at. Our choice.
    const FINISHES: usize = 32;
    /// When many connections are abandoned together, the first segments of this many of them are judged,
    /// oldest first; the others are only counted. Our choice: some 20 ms.
    const JUDGED_WHEN_ABANDONED: usize = 512;
    /// The most address translations that are remembered. Our choice.
    const MAX_ALIASES: usize = 1 << 16;

    fn new(shards: usize) -> Self {
        Self {
            crew: Crew::new(shards),
            is_under_way: false,
            copies: Copies::default(),
            copied: 0,
            aliases: HashMap::default(),
            unrelieved: 0,
        }
    }

    /// One that keeps what a report draws. How much that is, is bounded in all: nothing can be judged
    /// beside it.
    pub(crate) fn with_series(budget: Budget) -> Self {
        let table = Self::new(1);
        table.crew.shard(0).keep_series(budget);
        table
    }

    /// From now on connections are measured that begin.
    pub(crate) fn keep_measures(&self) {
        self.crew.lock_all().iter_mut().for_each(|it| it.keep_measures());
    }

    /// From now on what TLS has sealed is read on connections that begin, as far as these are its secrets.
    pub(crate) fn use_keys(&self, keys: &Arc<KeyLog>) {
        self.crew.lock_all().iter_mut().for_each(|it| it.use_keys(Arc::clone(keys)));
    }

    /// From now on connections are judged without this rule that begin.
    pub(crate) fn switch_off(&self, rule: Rule) {
        self.crew.lock_all().iter_mut().for_each(|it| it.switch_off(rule));
    }

    /// From now on keeps at most one `divisor`th of what the limits allow.
    pub(crate) fn divide_limits(&mut self, divisor: usize) {
        self.complete();
        let mut between = self.crew.between();
        between.extent.divide(divisor);
        for mut shard in self.crew.lock_all() {
            shard.results().reached.set_extent(between.extent);
        }
        drop(between);
        self.relieve();
    }

    /// From now on batches are judged by this many threads beside the caller's.
    pub(crate) fn set_helpers(&mut self, helpers: usize) {
        self.complete();
        self.crew.hire(helpers);
    }

    /// How many threads judge them.
    pub(crate) const fn threads(&self) -> NonZeroUsize {
        self.crew.threads()
    }

    /// Takes a segment to its connection; `ordinal` were before it.
    pub(crate) fn handle(&mut self, seen: &Seen<'_>, ordinal: u64) {
        let original = self.copies.original(seen);
        self.judge(seen, original, ordinal);
    }

    /// The same for a segment that was seen before with the addresses `original`, or was not.
    fn judge(&mut self, seen: &Seen<'_>, original: Option<[SocketAddr; 2]>, ordinal: u64) {
        self.complete();
        if let Some(original) = original {
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
        let located = Located { ordinal, pair };
        self.crew.shard_of(&pair).handle(located, seen, &mut self.crew.between().known);
        self.unrelieved += Self::PACKET_COST + seen.payload.len();
        if self.unrelieved >= Self::RELIEVES {
            self.relieve();
        }
    }

    /// Keeps to the limits of memory. Nobody is at the shards.
    fn relieve(&mut self) {
        self.unrelieved = 0;
        let Between { known, extent } = &mut *self.crew.between();
        relief::relieve(&mut self.crew.lock_all(), *extent, known);
    }

    /// Takes the segments of `batch` to their connections; `before` were before them. They may be judged
    /// while the caller reads on. An empty batch comes back.
    pub(crate) fn handle_batch(&mut self, mut batch: Batch, before: u64) -> Batch {
        batch.follow(before);
        let mut copies = Vec::new();
        if self.copies.may_be_among(&batch) {
            copies = self.copies.among(&batch);
        }
        let renames = copies.iter().any(|it| it.addresses != it.original);
        // What a report draws is bounded over all connections.
        if self.crew.shards() != Self::SHARDS || renames || !self.aliases.is_empty() {
            return self.handle_one_by_one(batch, &copies);
        }
        if !copies.is_empty() {
            self.copied += copies.len() as u64;
            batch.forget(|ordinal| copies.binary_search_by_key(&ordinal, |it| it.ordinal).is_ok());
        }
        self.is_under_way = true;
        self.crew.submit(batch)
    }

    /// A copy with other addresses renames its connection.
    fn handle_one_by_one(&mut self, mut batch: Batch, copies: &[Copy]) -> Batch {
        let mut copies = copies.iter().peekable();
        for (located, seen) in batch.segments() {
            let copy = copies.next_if(|it| it.ordinal == located.ordinal);
            self.judge(&seen, copy.map(|it| it.original), located.ordinal);
        }
        batch.clear();
        batch
    }

    /// Waits until all batches have been judged.
    pub(crate) fn complete(&mut self) {
        if std::mem::take(&mut self.is_under_way) {
            self.crew.finish();
        }
    }

    /// The copy of a packet has other addresses than the packet: so has all of its connection.
    fn translate(&mut self, copy: &Seen<'_>, original: [SocketAddr; 2]) {
        let addresses = [copy.source, copy.destination];
        let pair = EndpointPair::of(copy.source, copy.destination);
        if addresses == original || self.crew.shard_of(&pair).contains(&pair) {
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
        let Between { known, extent } = &mut *self.crew.between();
        let mut shards = self.crew.lock_all();
        let mut abandoned: Vec<(usize, Unfinished)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            abandoned.extend(shard.take_unless(&keeps).into_iter().map(|it| (number, it)));
        }
        abandoned.sort_unstable_by_key(|(_, it)| it.begun);
        for (done, (number, it)) in abandoned.into_iter().enumerate() {
            shards[number].abandon(it, done < Self::JUDGED_WHEN_ABANDONED, known);
            if done.is_multiple_of(Self::FINISHES) {
                relief::relieve_results(&mut shards, *extent);
            }
        }
        relief::relieve_results(&mut shards, *extent);
    }

    /// Abandons the connection of `seen` unless it was seen since the segment `ordinal`.
    pub(crate) fn keep_if_seen_since(&mut self, seen: &Seen<'_>, ordinal: u64) {
        self.complete();
        let pair = EndpointPair::of(seen.source, seen.destination);
        let mut shard = self.crew.shard_of(&pair);
        if let Some(before) = shard.take_unless_seen_since(&pair, ordinal) {
            shard.abandon(before, true, &mut self.crew.between().known);
        }
    }

    /// The capture is over: what each shard has found, with which segment of the capture began each of
    /// its connections, and how many segments were copies.
    pub(crate) fn finish(mut self) -> (Vec<(Results, Vec<u64>)>, u64) {
        self.complete();
        self.relieve();
        let Between { known, extent } = &mut *self.crew.between();
        let mut shards = self.crew.lock_all();
        let mut unfinished: Vec<(usize, Unfinished)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            unfinished.extend(shard.take_unfinished().into_iter().map(|it| (number, it)));
        }
        unfinished.sort_unstable_by_key(|(_, it)| it.begun);
        for (done, (number, it)) in unfinished.into_iter().enumerate() {
            shards[number].finish(it, known);
            if done.is_multiple_of(Self::FINISHES) {
                relief::relieve_results(&mut shards, *extent);
            }
        }
        relief::relieve_results(&mut shards, *extent);
        (shards.iter_mut().map(|it| it.take_results()).collect(), self.copied)
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Instant, Segment, SeqNumber};

    use super::*;
    use crate::{
        decode::RawSegment,
        frame,
        read::{Frame, LinkType},
    };

    /// SYNs from different ports: of each, the interface it was captured on.
    fn batch(syns: &[(u16, u32)]) -> Batch {
        let mut batch = Batch::default();
        for (&(port, interface), number) in syns.iter().zip(1..) {
            let [client, server] =
                [([10, 0, 0, 1], port), ([10, 0, 0, 2], 80)].map(SocketAddr::from);
            let flags = Flags { syn: true, ..Flags::NONE };
            let segment = Segment { seq: SeqNumber(port.into()), flags, ..Segment::default() };
            let mut bytes = Vec::new();
            frame::write(&mut bytes, client, server, &segment, b"").unwrap();
            let frame = Frame {
                number,
                at: Instant::from_nanos(number * 1_000),
                interface,
                link_type: LinkType::RAW,
                original_len: u32::try_from(bytes.len()).unwrap(),
                bytes: &bytes,
                direction: None,
                lost_before: 0,
            };
            batch.push(&RawSegment::find(&frame).unwrap());
        }
        batch
    }

    #[test]
    fn threads_judge_what_several_interfaces_have_seen() {
        let mut table = ConnectionTable::default();
        let mut before = 0;
        for (syns, copied) in [
            (&[(1, 0), (2, 0)][..], 0),
            (&[(3, 0), (4, 1)], 0),
            (&[(5, 0), (6, 0)], 0),
            (&[(7, 0), (7, 1), (8, 1)], 1),
            (&[(8, 0)], 2),
            (&[(9, 0), (10, 1)], 2),
            // Twice at one place is sent twice.
            (&[(11, 0), (11, 0)], 2),
        ] {
            table.handle_batch(batch(syns), before);
            before += syns.len() as u64;
            assert!(table.is_under_way, "{syns:?}");
            assert_eq!(table.copied, copied, "{syns:?}");
        }
        let (parts, copied) = table.finish();
        assert_eq!(parts.iter().map(|(_, begun)| begun.len()).sum::<usize>(), 11);
        assert_eq!(copied, 2);
    }
}
