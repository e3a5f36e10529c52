//! How connections begin and end in a shard. Those that are over leave their memory to the next ones.

use ackwise_tcp::Instant;

use super::{Awaiting, EndpointPair, Shard, Slot, charge};
use crate::{
    attribution::{KnownPaces, Paces},
    decode::Seen,
    flow::{
        batch::Located, closed::Closed, connection::ObservedConnection, endpoint_pair::roles,
        newcomer::Newcomer, packet::Packet,
    },
    results::Here,
};

/// How many connections have begun again that were let go: those with packets from one end only, and the others.
#[derive(Debug, Default)]
pub(super) struct Again([u64; 2]);

impl Again {
    /// Segments of the capture for each of a shard. Our choice: with 16 shards, one in 256 segments, or in 16. Whoever
    /// invents addresses hears no answer.
    const SEGMENTS: [u64; 2] = [1 << 12, 1 << 8];

    /// Whether one may with this segment: it takes as long as many segments, and is let go again if there is still too
    /// little memory.
    pub(super) const fn may_begin(&mut self, is_mutual: bool, located: Located) -> bool {
        let count = &mut self.0[is_mutual as usize];
        let may = *count < located.ordinal / Self::SEGMENTS[is_mutual as usize];
        *count += may as u64;
        may
    }
}

impl Shard {
    /// The most newcomers that are kept for connections to come: as many as a batch has of short ones. Our choice.
    const MAX_SPARE_NEWCOMERS: usize = 1 << 6;
    /// The most connections that are. Our choice: short ones are judged one after the other, and some are let go together.
    const MAX_SPARE: usize = 1 << 5;
    /// The most connections that are remembered as let go: of all shards together as many as may be alive. Our choice.
    const MAX_LET_GO: usize = 1 << 12;

    /// A number for a connection that the segment `ordinal` begins.
    pub(super) fn number(&mut self, ordinal: u64) -> u32 {
        if let Some(id) = self.free.pop() {
            self.begun[id as usize] = ordinal;
            return id;
        }
        self.begun.push(ordinal);
        // Each takes a packet of a capture, and packets are fewer.
        u32::try_from(self.begun.len() - 1).unwrap_or(u32::MAX)
    }

    /// A connection that has begun with this segment.
    pub(super) fn open(&mut self, id: u32, first: &Seen<'_>) -> Box<Newcomer> {
        let (client, server) = roles(first);
        let mut newcomer = self.spare_newcomers.pop().unwrap_or_default();
        newcomer.renew(id, client, server, first.at);
        newcomer.here = Here::of(first, client);
        let direction = newcomer.direction(first.source);
        newcomer.handle(&Packet::of(first), direction, &mut self.trial);
        newcomer
    }

    pub(super) fn keep(&mut self, located: Located, mut newcomer: Box<Newcomer>, at: Instant) {
        // Its only packet may be the last.
        self.awaiting.extend(Awaiting::of(&newcomer, located, at));
        newcomer.touched = located.ordinal;
        let cost = newcomer.cost();
        charge(&mut newcomer.charged, cost, &mut self.live_bytes);
        self.live_count += 1;
        if self.live.len() > 2 * self.live_count + Self::MAX_OVER {
            let is_live = |slot: Option<&Slot>| matches!(slot, Some(Slot::New(_) | Slot::Alive(_)));
            self.live.retain(|(_, pair)| is_live(self.slots.get(pair)));
        }
        self.live.push_back((located.ordinal, located.pair));
        self.slots.insert(located.pair, Slot::New(newcomer));
    }

    /// A connection of which one packet was seen goes on, unless another takes its place.
    pub(super) fn go_on(&mut self, located: Located, seen: &Seen<'_>) -> bool {
        let Some(Slot::OnePacket(first)) = self.slots.remove(&located.pair) else {
            return true;
        };
        self.one_packet_count -= 1;
        let begun = Located { ordinal: self.begun[first.id as usize], ..located };
        let newcomer = self.open(first.id, &first.seen());
        if newcomer.is_reused_by(&seen.segment) && newcomer.awaits_paces().is_none() {
            // One packet has shown nothing that others could learn from.
            let mut connection = self.begin_now(newcomer, &mut KnownPaces::default());
            connection.finish(&mut self.results);
            self.spare_connection(connection);
        } else {
            self.keep(begun, newcomer, first.seen.at);
        }
        self.try_handle(located, seen)
    }

    pub(super) fn finish_one(&mut self, mut connection: Box<ObservedConnection>) -> Closed {
        self.live_count -= 1;
        self.live_bytes -= connection.charged;
        let closed = connection.finish(&mut self.results);
        self.spare_connection(connection);
        closed
    }

    /// Keeps the memory of one that is over.
    pub(super) fn spare_connection(&mut self, connection: Box<ObservedConnection>) {
        if self.spare.len() < Self::MAX_SPARE {
            self.spare.push(connection);
        }
    }

    /// Judges a newcomer's first segments, now that this is known.
    pub(super) fn judge(
        &mut self,
        mut newcomer: Box<Newcomer>,
        known: &Paces,
    ) -> Box<ObservedConnection> {
        let mut connection = self.spare.pop().unwrap_or_default();
        connection.begin(&newcomer, known, &mut self.results);
        if self.spare_newcomers.len() < Self::MAX_SPARE_NEWCOMERS {
            newcomer.forget();
            self.spare_newcomers.push(newcomer);
        }
        connection
    }

    /// The same at once, with what is known by now.
    pub(super) fn begin_now(
        &mut self,
        mut newcomer: Box<Newcomer>,
        known: &mut KnownPaces,
    ) -> Box<ObservedConnection> {
        newcomer.survey(&mut self.trial);
        let paces = newcomer.awaits_paces().map(|(hosts, seen)| known.add(hosts, seen));
        let paces = paces.or(newcomer.told);
        self.judge(newcomer, &paces.unwrap_or_default())
    }

    pub(super) fn end(&mut self, pair: EndpointPair, now: Instant) {
        let Some(slot @ Slot::Alive(_)) = self.slots.get_mut(&pair) else { return };
        let slot = std::mem::replace(slot, Slot::Over(Closed::default()));
        if let Slot::Alive(connection) = slot {
            let closed = self.finish_one(connection);
            self.note_over(pair, closed, now);
        }
    }

    pub(super) fn note_over(&mut self, pair: EndpointPair, closed: Closed, now: Instant) {
        self.slots.insert(pair, Slot::Over(closed));
        self.over.push_back((now, pair));
    }

    pub(super) fn remember_let_go(&mut self, pair: EndpointPair, is_mutual: bool) {
        if self.let_go.len() == Self::MAX_LET_GO
            && let Some(first) = self.let_go.pop_front()
            && matches!(self.slots.get(&first), Some(Slot::LetGo { .. }))
        {
            self.slots.remove(&first);
        }
        self.let_go.push_back(pair);
        self.slots.insert(pair, Slot::LetGo { is_mutual });
    }

    pub(super) fn forget(&mut self, now: Instant) {
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
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn pair(port: usize) -> EndpointPair {
        let end = |host, port| SocketAddr::from(([10, 0, 0, host], port));
        EndpointPair::of(end(1, u16::try_from(port).unwrap()), end(2, 80))
    }

    #[test]
    fn one_that_was_let_go_begins_again_once_in_as_many_segments() {
        for is_mutual in [false, true] {
            let of = Again::SEGMENTS[usize::from(is_mutual)];
            let mut again = Again::default();
            for (ordinal, may) in [(of - 1, false), (of, true), (2 * of - 1, false), (2 * of, true)]
            {
                let located = Located { ordinal, pair: pair(1) };
                assert_eq!(again.may_begin(is_mutual, located), may, "{is_mutual} {ordinal}");
            }
        }
    }

    #[test]
    fn connections_that_are_over_linger_for_a_while_if_they_are_not_too_many() {
        let over = |count: usize, micros: u64| {
            let mut shard = Shard::default();
            let now = Instant::EPOCH + Shard::LINGER;
            (0..count).for_each(|it| shard.note_over(pair(it), Closed::default(), now));
            shard.forget(now + (Shard::LINGER - std::time::Duration::from_micros(micros)));
            shard.over.len()
        };
        assert_eq!([over(3, 1), over(3, 0)], [3, 0]);
        assert_eq!(over(Shard::MAX_OVER, 1), Shard::MAX_OVER);
        assert_eq!(over(Shard::MAX_OVER + 1, 1), Shard::MAX_OVER);
    }

    #[test]
    fn connections_that_were_let_go_are_remembered_up_to_a_bound() {
        let mut shard = Shard::default();
        (0..=Shard::MAX_LET_GO).for_each(|it| shard.remember_let_go(pair(it), false));
        assert_eq!(shard.let_go.len(), Shard::MAX_LET_GO);
        assert!(!shard.slots.contains_key(&pair(0)), "the first is forgotten");
        assert!(shard.slots.contains_key(&pair(1)));
        shard.note_over(pair(1), Closed::default(), Instant::EPOCH);
        shard.remember_let_go(pair(Shard::MAX_LET_GO + 1), true);
        assert!(shard.slots.contains_key(&pair(1)), "it is something else by now");
    }

    fn seen(from_client: bool, flags: ackwise_tcp::Flags, data: &'static [u8]) -> Seen<'static> {
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::IpAddr::from);
        let ends = [(ends[0], 5_000), (ends[1], 80)].map(SocketAddr::from);
        let [source, destination] = if from_client { ends } else { [ends[1], ends[0]] };
        let ack = (!flags.syn || !from_client).then_some(ackwise_tcp::SeqNumber(1));
        let len = u32::try_from(data.len()).unwrap();
        let seq = ackwise_tcp::SeqNumber(u32::from(!flags.syn));
        Seen {
            number: 1,
            at: Instant::EPOCH,
            interface: 0,
            source,
            destination,
            segment: ackwise_tcp::Segment { seq, ack, flags, len, ..Default::default() },
            payload: data,
            hop_limit: 64,
            identification: 0,
            fragment: false,
            options_cut: false,
            station: None,
        }
    }

    const SYN: ackwise_tcp::Flags = ackwise_tcp::Flags::SYN;
    const NONE: ackwise_tcp::Flags = ackwise_tcp::Flags::NONE;

    #[test]
    fn a_connection_begins_with_a_syn_or_with_data_and_again_once_in_many_segments() {
        let often = Again::SEGMENTS[0];
        // What is known of it, in which segment it is seen, and whether it begins with that.
        for (let_go, ordinal, seen, begins) in [
            (false, 1, seen(true, SYN, b""), true),
            (false, 1, seen(true, NONE, b""), false),
            (false, 1, seen(true, NONE, b"x"), true),
            (true, 1, seen(true, SYN, b""), true),
            (true, often, seen(true, NONE, b""), false),
            (true, often, seen(true, NONE, b"x"), true),
            (true, often - 1, seen(true, NONE, b"x"), false),
            (true, often, seen(false, SYN, b""), false),
        ] {
            let mut shard = Shard::default();
            let pair = EndpointPair::of(seen.source, seen.destination);
            if let_go {
                shard.remember_let_go(pair, false);
            }
            assert!(shard.try_handle(Located { ordinal, pair }, &seen));
            let has_begun = !matches!(shard.slots.get(&pair), None | Some(Slot::LetGo { .. }));
            assert_eq!(has_begun, begins, "{let_go} {ordinal} {:?}", seen.segment);
        }
    }

    #[test]
    fn who_was_used_since_or_was_answered_is_let_go_later() {
        // Whether both ends have sent something, it was used since, or spared once.
        for (mutual, used, spared, is_let_go) in [
            (false, false, false, true),
            (false, true, false, false),
            (true, false, false, false),
            (true, false, true, true),
            (true, true, true, false),
            (false, false, true, true),
        ] {
            let mut shard = Shard::default();
            let first = seen(true, SYN, b"");
            let pair = EndpointPair::of(first.source, first.destination);
            let id = shard.number(7);
            let mut newcomer = shard.open(id, &first);
            if mutual {
                let answer = seen(false, SYN, b"");
                let direction = newcomer.direction(answer.source);
                newcomer.handle(&Packet::of(&answer), direction, &mut shard.trial);
            }
            newcomer.spared = spared;
            shard.keep(Located { ordinal: 7, pair }, newcomer, Instant::EPOCH);
            if let (true, Some(Slot::New(it))) = (used, shard.slots.get_mut(&pair)) {
                it.touched = 8;
            }
            shard.let_go(&mut KnownPaces::default());
            let found = matches!(shard.slots.get(&pair), Some(Slot::LetGo { is_mutual }) if *is_mutual == mutual);
            assert_eq!(found, is_let_go, "{mutual} {used} {spared}");
            assert_eq!(shard.live.len(), usize::from(!is_let_go));
            if let (false, Some(Slot::New(it))) = (is_let_go, shard.slots.get(&pair)) {
                assert_eq!(it.spared, mutual, "{mutual} {used} {spared}");
            }
        }
    }

    #[test]
    fn a_connection_of_one_packet_is_forgotten_unless_it_has_gone_on() {
        for (goes_on, other, folded) in
            [(false, false, true), (true, false, false), (false, true, false)]
        {
            let mut shard = Shard::default();
            let first = seen(true, SYN, b"");
            let pair = EndpointPair::of(first.source, first.destination);
            shard.try_handle(Located { ordinal: 1, pair }, &first);
            assert_eq!((shard.one_packet_count, shard.oldest_one_packet()), (1, Some(1)));
            if goes_on {
                shard.try_handle(Located { ordinal: 2, pair }, &seen(false, SYN, b""));
            }
            if other {
                shard.begun[0] = 9;
            }
            shard.fold_one_packet();
            assert_eq!(shard.free.len(), usize::from(folded), "{goes_on} {other}");
            assert_eq!(shard.slots.contains_key(&pair), !folded);
        }
    }
}
