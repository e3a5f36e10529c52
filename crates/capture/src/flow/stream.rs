//! One direction's stream as a vantage point sees it: what is new, what comes again, what is missing.

use std::ops::Range;

use ackwise_tcp::{Instant, Segment, SeqNumber, WindowShift};

use super::unseen::Unseen;
use crate::{Positions, attribution::Nanos};

/// What a capture has shown of the bytes that one end sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedStream {
    positions: Option<Positions>,
    /// The first byte after all that was seen.
    highest: u64,
    /// What was passed over, oldest first.
    holes: Vec<Hole>,
    /// What was delivered but not captured.
    unseen: Unseen,
    /// Up to where the other end has acknowledged.
    acked: u64,
    /// Up to where the other end lets it send; `None` if unknown.
    edge: Option<u64>,
    /// The shift of the windows that this end advertises (RFC 7323, section 2.2): `None` before its
    /// SYN was seen.
    shift: Option<WindowShift>,
    /// The largest data segment so far, or what the SYNs agreed on.
    segment_size: u32,
    agreed: bool,
    /// A segment had no PSH, so it was probably cut from a longer write: full ones were seen.
    cut: bool,
    from_middle: bool,
}

#[derive(Clone, Debug)]
struct Hole {
    bytes: Range<u64>,
    opened: Instant,
}

/// How a segment's data stands to what was seen before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Novelty {
    /// It continues the stream.
    New,
    /// It begins further on, and leaves a hole before it.
    Skips,
    /// It fills a gap that is this old.
    Fills(Nanos),
    /// All of it was there before.
    Again,
    /// Its beginning was there before: it is sent again together with what follows.
    Extends,
}

/// What an acknowledgement says that was not known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Progress {
    /// Up to where is acknowledged now.
    pub acked: u64,
    /// Bytes acknowledged with this one.
    pub newly: u64,
    /// It acknowledges what the capture never showed.
    pub unseen: bool,
    /// As that, and beyond everything that was captured.
    pub beyond: bool,
    /// Bytes by which the right edge moved.
    pub opened: u64,
}

impl ObservedStream {
    /// Beyond this many holes, the oldest are merged: reordering leaves fewer. Our choice.
    const MAX_HOLES: usize = 32;
    /// Data of a full segment of the smallest MTU in use, 1,280 bytes (RFC 8200, section 5), less the
    /// headers of IPv6 and TCP and its timestamps.
    const LEAST_FULL: u32 = 1_280 - 40 - 20 - 12;
    /// The position of the first byte seen of a stream that is seen from its middle: what is before
    /// it is a gap of unknown length.
    const MIDDLE: u64 = 1;
    /// From an assumed SYN to there.
    const BEFORE_MIDDLE: u32 = 2;

    /// Where a segment's data stands; `None` if it is from before the beginning.
    pub(crate) fn place(&mut self, segment: &Segment) -> Option<Range<u64>> {
        if segment.flags.syn {
            self.positions = Some(Positions::after_syn(segment.seq));
            self.shift = Some(segment.options.window_scale.unwrap_or_default());
            return Some(0..u64::from(segment.len));
        }
        let start = self.positions(segment.seq).position(segment.seq)?;
        Some(start..start + u64::from(segment.len))
    }

    /// Where a segment's data stands by what is known: nothing is learned from it.
    pub(crate) fn find(&self, segment: &Segment) -> Option<Range<u64>> {
        let mut known = self.positions?;
        let start = if segment.flags.syn { 0 } else { known.position(segment.seq)? };
        Some(start..start + u64::from(segment.len))
    }

    /// The positions of its sequence numbers; without a SYN, `number` is the first that is known.
    fn positions(&mut self, number: SeqNumber) -> &mut Positions {
        self.positions.get_or_insert_with(|| {
            self.from_middle = true;
            (self.highest, self.acked) = (Self::MIDDLE, Self::MIDDLE);
            Positions::after_syn(SeqNumber(number.0.wrapping_sub(Self::BEFORE_MIDDLE)))
        })
    }

    /// Where it begins if its SYN was not seen.
    pub(crate) const fn middle(&self) -> Option<u64> {
        if self.from_middle { Some(Self::MIDDLE) } else { None }
    }

    /// RFC 9293, section 3.8.4: a keep-alive has one byte at most, which was acknowledged before.
    pub(crate) const fn is_keep_alive(&self, bytes: &Range<u64>) -> bool {
        bytes.end - bytes.start <= 1 && bytes.end <= self.acked
    }

    /// Takes note of data.
    pub(crate) fn see(&mut self, bytes: &Range<u64>, now: Instant) -> Novelty {
        if !self.agreed {
            let bytes = u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX);
            self.segment_size = self.segment_size.max(bytes);
        }
        if bytes.start >= self.highest {
            let skips = bytes.start > self.highest;
            if skips {
                self.open(self.highest..bytes.start, now);
            }
            self.highest = bytes.end;
            return if skips { Novelty::Skips } else { Novelty::New };
        }
        if self.unseen.withdraw(bytes) {
            self.highest = self.highest.max(bytes.end);
            return Novelty::Fills(Nanos::ZERO);
        }
        let filled = self.fill(bytes);
        if bytes.end > self.highest {
            self.highest = bytes.end;
            return filled
                .map_or(Novelty::Extends, |opened| Novelty::Fills(Nanos::between(opened, now)));
        }
        filled.map_or(Novelty::Again, |opened| Novelty::Fills(Nanos::between(opened, now)))
    }

    /// Where a segment's data stands that comes next in a stream without holes, and what a full segment has, on which
    /// the SYNs have agreed; `None` if it is another, or not for sure.
    #[inline]
    pub(crate) fn find_next(&self, segment: &Segment) -> Option<(Range<u64>, u32)> {
        let is_whole = self.agreed && !self.from_middle && self.holes.is_empty();
        let bytes = self.find(segment)?;
        let is_next = bytes.start == self.highest;
        (is_whole && is_next).then_some((bytes, self.segment_size))
    }

    /// Takes note of data that is [next](Self::find_next): as [`place`](Self::place), [`see`](Self::see) and
    /// [`push`](Self::push) do.
    #[inline]
    pub(crate) fn run_on(&mut self, segment: &Segment, bytes: &Range<u64>) {
        if let Some(positions) = &mut self.positions {
            positions.position(segment.seq);
        }
        self.highest = bytes.end;
        self.push(segment.flags.psh);
    }

    fn open(&mut self, bytes: Range<u64>, now: Instant) {
        if self.holes.len() == Self::MAX_HOLES {
            // The oldest two become one.
            let second = self.holes.remove(1);
            self.holes[0].bytes.end = second.bytes.end;
        }
        self.holes.push(Hole { bytes, opened: now });
    }

    /// Takes `bytes` out of the holes; when the first of those that it touched was opened.
    fn fill(&mut self, bytes: &Range<u64>) -> Option<Instant> {
        let mut opened = None;
        let mut rest = Vec::new();
        for hole in self.holes.drain(..) {
            let start = hole.bytes.start.max(bytes.start);
            let end = hole.bytes.end.min(bytes.end);
            if start >= end {
                rest.push(hole);
                continue;
            }
            opened = opened.or(Some(hole.opened));
            for left in [hole.bytes.start..start, end..hole.bytes.end] {
                if !left.is_empty() {
                    rest.push(Hole { bytes: left, opened: hole.opened });
                }
            }
        }
        rest.truncate(Self::MAX_HOLES);
        self.holes = rest;
        opened
    }

    /// Everything up to `position` was delivered: the capture lost what it does not have of that.
    fn give_up(&mut self, position: u64) {
        for hole in &self.holes {
            let end = hole.bytes.end.min(position);
            self.unseen.add(hole.bytes.start.min(end)..end, self.segment_size);
        }
        self.fill(&(0..position));
        // A FIN takes one sequence number.
        if position > self.highest + 1 {
            self.unseen.add(self.highest..position, self.segment_size);
            self.highest = position;
        }
    }

    /// Whether a segment acknowledges and offers what is known: then [`acknowledge`](Self::acknowledge) would find
    /// nothing new, and change nothing.
    pub(crate) fn has_heard(&self, segment: &Segment, shift: Option<WindowShift>) -> bool {
        let (Some(number), Some(mut known)) = (segment.ack, self.positions) else { return false };
        let is_same = known.position(number) == Some(self.acked) && Some(known) == self.positions;
        let edge = shift.map(|shift| self.acked + u64::from(shift.bytes(segment.window)));
        let is_behind = self.acked <= self.highest + 1 && self.holes.is_empty();
        is_same && edge == self.edge && is_behind && !segment.flags.syn
    }

    /// Takes note of what the other end acknowledges; `None` if there is no acknowledgement. `shift`
    /// is the other end's, `None` if its SYN was not seen.
    pub(crate) fn acknowledge(
        &mut self,
        segment: &Segment,
        shift: Option<WindowShift>,
    ) -> Option<Progress> {
        let number = segment.ack?;
        // The SYN's own acknowledgement has position 0; what is before it is of another connection.
        let position = self.positions(number).position(number)?;
        let newly = position.saturating_sub(self.acked);
        // A window in a SYN is never scaled (RFC 7323, section 2.2).
        let shift = if segment.flags.syn { Some(WindowShift::NONE) } else { shift };
        let edge = shift.map(|shift| position + u64::from(shift.bytes(segment.window)));
        let opened = match (self.edge, edge) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => 0,
        };
        if newly > 0 || self.acked == position {
            self.edge = edge;
        }
        self.acked += newly;
        let beyond = position > self.highest + 1;
        let unseen = beyond || self.holes.first().is_some_and(|it| it.bytes.start < self.acked);
        if unseen {
            self.give_up(self.acked);
        }
        Some(Progress { acked: self.acked, newly, unseen, beyond, opened })
    }

    /// Bytes that were sent and not acknowledged, as far as seen.
    pub(crate) const fn flight(&self) -> u64 {
        self.highest.saturating_sub(self.acked)
    }

    /// Up to where was acknowledged.
    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }

    /// The first byte after all that was seen.
    pub(crate) const fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether this number comes after all that was seen.
    pub(crate) fn is_beyond(&self, number: SeqNumber) -> bool {
        self.position_of(number).is_some_and(|position| position > self.highest + 1)
    }

    /// Where a number stands that an end has reported.
    pub(crate) fn position_of(&self, number: SeqNumber) -> Option<u64> {
        self.positions.and_then(|mut known| known.position(number))
    }

    /// What is missing before something that was seen, and since when it is.
    pub(crate) fn first_hole(&self) -> Option<(Range<u64>, Instant)> {
        self.holes.first().map(|it| (it.bytes.clone(), it.opened))
    }

    /// Bytes that were sent, as far as the capture shows.
    pub(crate) const fn length(&self) -> u64 {
        self.highest.saturating_sub(if self.from_middle { Self::MIDDLE } else { 0 })
    }

    /// Up to where it may send.
    pub(crate) const fn edge(&self) -> Option<u64> {
        self.edge
    }

    pub(crate) const fn shift(&self) -> Option<WindowShift> {
        self.shift
    }

    /// RFC 7323, section 2.2: the other end's SYN has no window scale, so this one's counts for nothing.
    pub(crate) const fn refuse_shift(&mut self) {
        self.shift = Some(WindowShift::NONE);
    }

    pub(crate) const fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// What was delivered but not captured.
    pub(crate) const fn unseen(&self) -> &Unseen {
        &self.unseen
    }

    /// The size of a full segment, as far as known.
    pub(crate) const fn segment_size(&self) -> u32 {
        let shown = self.agreed || self.cut || self.segment_size == 0;
        if shown || self.segment_size > Self::LEAST_FULL {
            self.segment_size
        } else {
            Self::LEAST_FULL
        }
    }

    /// Takes note of a data segment's PSH.
    pub(crate) const fn push(&mut self, pushed: bool) {
        self.cut |= !pushed;
    }

    /// The SYNs have agreed on this. What is captured may be larger: several segments that a network
    /// card splits or joins (TSO, GRO).
    pub(crate) fn agree(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
        self.agreed = true;
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Nanos::from_millis(millis)
    }

    fn data(seq: u32, len: u32) -> Segment {
        Segment { seq: SeqNumber(seq), len, ..Segment::default() }
    }

    #[test]
    fn what_fills_a_hole_is_told_from_what_comes_again() {
        let mut stream = ObservedStream::default();
        stream.place(&Segment { seq: SeqNumber(99), flags: Flags::SYN, ..Segment::default() });
        for (seq, len, now, expected) in [
            (100, 100, 1, Novelty::New),
            (300, 100, 2, Novelty::Skips),
            (400, 100, 3, Novelty::New),
            (100, 100, 4, Novelty::Again),
            (200, 50, 5, Novelty::Fills(Nanos::from_millis(3))),
            (200, 50, 6, Novelty::Again),
            (200, 100, 7, Novelty::Fills(Nanos::from_millis(5))),
            (450, 100, 8, Novelty::Extends),
        ] {
            let bytes = stream.place(&data(seq, len)).unwrap();
            assert_eq!(stream.see(&bytes, at(now)), expected, "{seq}");
        }
        assert_eq!((stream.highest(), stream.has_holes()), (450, false));
    }

    /// RFC 9293, section 3.8.4.
    #[test]
    fn a_keep_alive_has_a_byte_at_most_that_was_acknowledged() {
        let stream = ObservedStream { acked: 100, ..ObservedStream::default() };
        for (bytes, is_one) in
            [(99..100, true), (100..100, true), (98..100, false), (100..101, false)]
        {
            assert_eq!(stream.is_keep_alive(&bytes), is_one, "{bytes:?}");
        }
    }

    #[test]
    fn a_full_segment_has_what_the_syns_agreed_on_or_what_was_cut_or_that_of_the_smallest_mtu() {
        let least = ObservedStream::LEAST_FULL;
        for (segment_size, agreed, cut, expected) in [
            (0, false, false, 0),
            (500, false, false, least),
            (least + 1, false, false, least + 1),
            (500, true, false, 500),
            (500, false, true, 500),
        ] {
            let stream = ObservedStream { segment_size, agreed, cut, ..ObservedStream::default() };
            assert_eq!(stream.segment_size(), expected, "{segment_size} {agreed} {cut}");
        }
    }

    #[test]
    fn what_is_next_in_a_whole_stream_is_found() {
        let whole = || {
            let mut stream = ObservedStream::default();
            stream.place(&Segment { seq: SeqNumber(99), flags: Flags::SYN, ..Segment::default() });
            stream.agree(1_000);
            let bytes = stream.place(&data(100, 100)).unwrap();
            stream.see(&bytes, at(1));
            stream
        };
        assert_eq!(whole().find_next(&data(200, 50)), Some((100..150, 1_000)));
        assert_eq!(whole().find_next(&data(199, 50)), None, "sent again");
        assert_eq!(whole().find_next(&data(201, 50)), None, "behind a hole");
        let mut holes = whole();
        holes.see(&(300..400), at(2));
        assert_eq!(holes.find_next(&data(500, 50)), None, "while there is one");
        let unknown = ObservedStream { agreed: false, ..whole() };
        assert_eq!(unknown.find_next(&data(200, 50)), None, "what is full, is not known");
    }

    #[test]
    fn what_is_only_looked_up_begins_no_stream() {
        let mut stream = ObservedStream::default();
        assert_eq!(stream.find(&data(10, 0)), None);
        let bytes = stream.place(&data(100, 10)).unwrap();
        assert_eq!(stream.find(&data(105, 10)), Some(bytes.start + 5..bytes.end + 5));
        assert_eq!(stream.place(&data(100, 10)), Some(bytes));
    }

    #[test]
    fn windows_are_scaled_only_when_the_scale_is_known() {
        let ack = |window| Segment { ack: Some(SeqNumber(1)), window, ..Segment::default() };
        let mut stream = ObservedStream::default();
        stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        stream.acknowledge(&ack(10), None);
        assert_eq!(stream.edge(), None);
        stream.acknowledge(&ack(10), Some(WindowShift::new(7)));
        assert_eq!(stream.edge(), Some(1_280));
        let progress = stream.acknowledge(&ack(20), Some(WindowShift::new(7))).unwrap();
        assert_eq!((progress.newly, progress.opened), (0, 1_280));
    }

    #[test]
    fn an_acknowledgement_of_unseen_data_shows_that_the_capture_lost_some() {
        let mut stream = ObservedStream::default();
        stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        let bytes = stream.place(&data(1, 100)).unwrap();
        stream.see(&bytes, at(1));
        for (ack, unseen) in [(51, false), (101, false), (102, false), (1_001, true)] {
            let segment = Segment { ack: Some(SeqNumber(ack)), ..Segment::default() };
            assert_eq!(stream.acknowledge(&segment, None).unwrap().unseen, unseen, "{ack}");
        }
        assert_eq!(stream.unseen().bytes(), 900);
    }

    #[test]
    fn a_hole_that_is_acknowledged_was_lost_by_the_capture() {
        let mut stream = ObservedStream::default();
        stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        for seq in [1, 201, 401] {
            let bytes = stream.place(&data(seq, 100)).unwrap();
            stream.see(&bytes, at(1));
        }
        for (ack, unseen, bytes) in [(101, false, 0), (301, true, 100), (501, true, 200)] {
            let segment = Segment { ack: Some(SeqNumber(ack)), ..Segment::default() };
            let progress = stream.acknowledge(&segment, None).unwrap();
            assert_eq!((progress.unseen, progress.beyond), (unseen, false), "{ack}");
            assert_eq!(stream.unseen().bytes(), bytes, "{ack}");
        }
        assert!(!stream.has_holes());
        let late = stream.place(&data(301, 100)).unwrap();
        assert_eq!(stream.see(&late, at(2)), Novelty::Fills(Nanos::ZERO), "captured late");
        assert_eq!(stream.see(&late, at(3)), Novelty::Again);
        assert_eq!(stream.unseen().bytes(), 100);
    }

    /// A stream that begins at 1, of which all up to 101 was seen, and 51 acknowledged.
    fn partly_acknowledged() -> ObservedStream {
        let mut stream = ObservedStream::default();
        stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        stream.see(&(0..100), at(1));
        stream.acknowledge(&ack(51), Some(WindowShift::NONE));
        stream
    }

    fn ack(number: u32) -> Segment {
        Segment { ack: Some(SeqNumber(number)), window: 1_000, ..Segment::default() }
    }

    #[test]
    fn an_old_acknowledgement_moves_no_edge_and_one_that_repeats_the_last_does() {
        for (number, window, [acked, newly, opened], edge) in [
            (50, 2_000, [50, 0, 999], 1_050),
            (51, 2_000, [50, 0, 1_000], 2_050),
            (51, 500, [50, 0, 0], 550),
            (52, 1_000, [51, 1, 1], 1_051),
        ] {
            let mut stream = partly_acknowledged();
            let segment = Segment { window, ..ack(number) };
            let found = stream.acknowledge(&segment, Some(WindowShift::NONE)).unwrap();
            assert_eq!(
                [found.acked, found.newly, found.opened],
                [acked, newly, opened],
                "{number}"
            );
            assert_eq!(stream.edge(), Some(edge), "{number} {window}");
        }
        assert!(partly_acknowledged().acknowledge(&data(101, 10), None).is_none());
    }

    #[test]
    fn a_fin_takes_one_number_beyond_all_that_was_seen() {
        for (number, beyond) in [(101, false), (102, false), (103, true)] {
            let mut stream = partly_acknowledged();
            assert_eq!(stream.is_beyond(SeqNumber(number)), beyond, "{number}");
            let found = stream.acknowledge(&ack(number), None).unwrap();
            assert_eq!((found.beyond, found.unseen), (beyond, beyond), "{number}");
            let unseen = if beyond { 2 } else { 0 };
            assert_eq!((stream.unseen().bytes(), stream.highest()), (unseen, 100 + unseen));
        }
        assert!(!ObservedStream::default().is_beyond(SeqNumber(9)), "nothing is known");
    }

    #[test]
    fn an_acknowledgement_that_is_known_tells_nothing() {
        let shift = Some(WindowShift::NONE);
        type Change = fn(&mut ObservedStream, &mut Segment);
        let heard = |change: Change| {
            let (mut stream, mut segment) = (partly_acknowledged(), ack(51));
            change(&mut stream, &mut segment);
            stream.has_heard(&segment, shift)
        };
        assert!(heard(|_, _| ()));
        let odd: [Change; 8] = [
            |_, segment| segment.ack = None,
            |_, segment| segment.ack = Some(SeqNumber(52)),
            |_, segment| segment.ack = Some(SeqNumber(50)),
            |_, segment| segment.window += 1,
            |_, segment| segment.flags.syn = true,
            |stream, _| _ = stream.see(&(200..300), at(2)),
            |stream, _| stream.positions = None,
            |stream, _| stream.highest = 48,
        ];
        for (number, change) in odd.iter().enumerate() {
            assert!(!heard(*change), "{number}");
        }
        assert!(heard(|stream, _| stream.highest = 49), "a FIN was acknowledged");
        assert!(!partly_acknowledged().has_heard(&ack(51), None), "its scale is not known");
    }

    #[test]
    fn data_is_new_behind_all_that_was_seen_and_extends_what_begins_before() {
        for (bytes, novelty, highest) in [
            (100..200, Novelty::New, 200),
            (101..200, Novelty::Skips, 200),
            (99..200, Novelty::Extends, 200),
            (99..101, Novelty::Extends, 101),
            (99..100, Novelty::Again, 100),
        ] {
            let mut stream = partly_acknowledged();
            assert_eq!(stream.see(&bytes, at(2)), novelty, "{bytes:?}");
            assert_eq!(stream.highest(), highest, "{bytes:?}");
        }
    }

    #[test]
    fn what_touches_a_hole_fills_it_and_leaves_the_rest() {
        let first = 100..200;
        for (bytes, novelty, holes) in [
            (50..100, Novelty::Again, &[100..200, 300..400][..]),
            (50..101, Novelty::Fills(Nanos::from_millis(3)), &[101..200, 300..400]),
            (199..250, Novelty::Fills(Nanos::from_millis(3)), &[100..199, 300..400]),
            (200..300, Novelty::Again, &[100..200, 300..400]),
            (120..150, Novelty::Fills(Nanos::from_millis(3)), &[100..120, 150..200, 300..400]),
            (100..400, Novelty::Fills(Nanos::from_millis(3)), &[]),
            (300..600, Novelty::Fills(Nanos::from_millis(2)), std::slice::from_ref(&first)),
        ] {
            let mut stream = partly_acknowledged();
            stream.see(&(200..300), at(2));
            stream.see(&(400..500), at(3));
            assert_eq!(stream.see(&bytes, at(5)), novelty, "{bytes:?}");
            let left: Vec<_> = stream.holes.iter().map(|it| it.bytes.clone()).collect();
            assert_eq!(left, holes, "{bytes:?}");
        }
    }

    #[test]
    fn holes_are_bounded_and_those_of_a_part_are_given_up_to_there() {
        let mut stream = partly_acknowledged();
        let most = ObservedStream::MAX_HOLES as u64;
        (1..=most).for_each(|number| _ = stream.see(&(number * 200..number * 200 + 100), at(2)));
        assert_eq!(stream.holes.len(), ObservedStream::MAX_HOLES);
        assert_eq!(stream.first_hole(), Some((100..200, at(2))));
        stream.see(&(99_000..99_100), at(3));
        assert_eq!(stream.holes.len(), ObservedStream::MAX_HOLES);
        assert_eq!(stream.first_hole(), Some((100..400, at(2))), "the oldest two are one");
        let found = stream.acknowledge(&ack(151), None).unwrap();
        assert!(found.unseen && !found.beyond);
        assert_eq!(stream.unseen().bytes(), 50);
        assert_eq!(stream.first_hole(), Some((150..400, at(2))));
        let mut whole = partly_acknowledged();
        whole.see(&(200..300), at(2));
        assert!(!whole.acknowledge(&ack(101), None).unwrap().unseen, "up to the hole");
        assert!(whole.acknowledge(&ack(102), None).unwrap().unseen);
    }

    #[test]
    fn a_stream_that_is_seen_from_its_middle_has_no_next() {
        let mut stream = ObservedStream::default();
        let bytes = stream.place(&data(100, 100)).unwrap();
        stream.see(&bytes, at(1));
        stream.agree(1_000);
        assert_eq!(stream.find_next(&data(200, 50)), None);
        assert_eq!((stream.length(), stream.middle()), (100, Some(1)));
        let whole = partly_acknowledged();
        assert_eq!((whole.length(), whole.middle()), (100, None));
    }

    proptest! {
        #[test]
        fn what_was_heard_changes_nothing(
            steps in proptest::collection::vec((0_u32..4, 0_u32..5, 0_u16..3, any::<bool>()), 1..40),
        ) {
            let mut stream = ObservedStream::default();
            let mut shift = Some(WindowShift::NONE);
            for (time, (kind, place, window, flag)) in (0..).zip(steps) {
                let number = SeqNumber((place * 100).wrapping_sub(100));
                match kind {
                    0 => {
                        let segment = Segment { seq: number, len: 100, ..Segment::default() };
                        if let Some(bytes) = stream.place(&segment) {
                            stream.see(&bytes, at(time));
                        }
                    }
                    1 => shift = flag.then_some(WindowShift::NONE),
                    _ => {
                        let ack = Some(number);
                        let mut segment = Segment { ack, window, ..Segment::default() };
                        segment.flags.syn = kind == 2 && place == 0;
                        let (heard, before) = (stream.has_heard(&segment, shift), format!("{stream:?}"));
                        let progress = stream.acknowledge(&segment, shift);
                        if heard {
                            let nothing = (0, 0, false, false);
                            let it = progress.unwrap();
                            prop_assert_eq!((it.newly, it.opened, it.unseen, it.beyond), nothing);
                            prop_assert_eq!(format!("{stream:?}"), before);
                        }
                    }
                }
            }
        }
    }
}
