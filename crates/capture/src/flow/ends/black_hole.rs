//! Whether a path lets small segments through and no full ones, as where it drops what is too large for it and nobody
//! hears so (RFC 2923, section 2.1).

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use super::{Ends, Half};
use crate::outcome::BlackHole;

/// What is known of the sizes of one end's segments while some are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Where the segment begins that is next for the other end, its data, and how often it was sent.
    next: u64,
    len: u32,
    sends: u8,
    /// When it was sent for the second time.
    again: Instant,
    /// The last acknowledgement while more was on its way: up to where, and of how much.
    partial: (u64, u32),
    /// The most data of a segment that was seen behind a hole.
    behind: u32,
    /// Up to where the other end has reported data behind that (SACK, RFC 2018), and the most that a report added.
    reported: u64,
    added: u32,
}

impl Sizes {
    /// Data was seen that is sent again.
    #[cold]
    pub(super) fn note(&mut self, bytes: &Range<u64>, acked: u64, now: Instant) {
        if bytes.start == acked {
            if self.next != acked || self.sends == 0 {
                (self.next, self.sends, self.again) = (acked, 1, now);
            }
            (self.len, self.sends) = (length(bytes), self.sends.saturating_add(1));
        }
    }

    /// Data was seen while some is missing; there were `holes` before it.
    pub(super) fn note_behind(&mut self, bytes: &Range<u64>, holes: bool) {
        self.behind = if holes { self.behind.max(length(bytes)) } else { length(bytes) };
    }

    /// The other end has acknowledged `newly` bytes up to `acked`, and more is on its way.
    #[inline]
    pub(super) fn note_partial(&mut self, acked: u64, newly: u64) {
        self.partial = (acked, u32::try_from(newly).unwrap_or(u32::MAX));
    }
}

fn length(bytes: &Range<u64>) -> u32 {
    u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX)
}

/// The first copy may be lost by chance, and the second. Our choice.
const SENDS: u8 = 3;

impl Ends {
    /// What is next for the other end, and was sent for the second time then, if no copy was acknowledged of several.
    pub(crate) fn unheard(&self, direction: Direction) -> Option<(u64, Instant)> {
        let half = self.half(direction);
        let Sizes { next, sends, again, .. } = half.sizes;
        (sends >= SENDS && next == half.stream.acked()).then_some((next, again))
    }

    /// The other end reports data of `direction` that it has behind a hole.
    #[cold]
    pub(super) fn note_reported(&mut self, segment: &Segment, direction: Direction) {
        let half = &mut self.halves[direction as usize];
        let acked = half.stream.acked();
        for (left, right) in segment.options.sack.iter() {
            let places = half.stream.position_of(left).zip(half.stream.position_of(right));
            // A block below is a duplicate (RFC 2883).
            let Some((left, right)) = places.filter(|it| it.0 > acked) else { continue };
            let sizes = &mut half.sizes;
            if sizes.reported < acked {
                (sizes.reported, sizes.added) = (acked, 0);
            }
            let added = right.saturating_sub(left.max(sizes.reported));
            sizes.added = sizes.added.max(u32::try_from(added).unwrap_or(u32::MAX));
            sizes.reported = sizes.reported.max(right);
        }
    }

    /// When the first data of a connection was sent for the second time, if it was again and again, and not acknowledged.
    pub(crate) fn opening_ignored(&self) -> Option<Instant> {
        let [Half { sizes, .. }, _] = &self.halves;
        (sizes.next == 0 && sizes.sends >= SENDS).then_some(sizes.again)
    }

    /// Whether that was so to the end.
    pub(crate) fn black_hole(&self, direction: Direction) -> Option<BlackHole> {
        let half = self.half(direction);
        let (sizes, stream, size) = (half.sizes, &half.stream, half.stream.segment_size());
        let full = u64::from(size.max(1));
        if sizes.sends >= SENDS && sizes.next == stream.acked() && sizes.len >= size {
            let reported = sizes.reported > sizes.next;
            let (acked, newly) = sizes.partial;
            let passes = match reported {
                true => Some(sizes.added),
                false => Some(newly).filter(|newly| *newly > 0 && acked == sizes.next),
            };
            // Not one has got through, or some have that were smaller.
            let is_so = passes.map_or(sizes.next < full, |it| it < size);
            let (sends, since) = (Some(sizes.sends), sizes.again);
            return is_so.then_some(BlackHole { direction, size, sends, passes, since });
        }
        let (hole, since) = stream.first_hole()?;
        let is_so = (hole.end - hole.start).is_multiple_of(full) && sizes.behind < size;
        let passes = Some(sizes.behind);
        is_so.then_some(BlackHole { direction, size, sends: None, passes, since })
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, SackBlocks, SeqNumber};

    use super::*;

    const FULL: u32 = 1_000;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Of the client's stream, 10,000 bytes were seen and 4,000 acknowledged; the next segment was sent three times.
    fn ends() -> Ends {
        let mut ends = Ends::default();
        let half = &mut ends.halves[Direction::ToServer as usize];
        half.stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        half.stream.agree(FULL);
        half.stream.see(&(0..10_000), at(1));
        acknowledge(half, 4_001);
        let sizes = &mut half.sizes;
        (sizes.next, sizes.len, sizes.sends, sizes.again) = (4_000, FULL, SENDS, at(9));
        ends
    }

    fn acknowledge(half: &mut Half, number: u32) {
        let ack = Segment { ack: Some(SeqNumber(number)), ..Segment::default() };
        half.stream.acknowledge(&ack, None);
    }

    fn sizes(ends: &mut Ends) -> &mut Sizes {
        &mut ends.halves[Direction::ToServer as usize].sizes
    }

    #[test]
    fn what_is_sent_again_is_counted_if_it_is_next() {
        let mut sizes = Sizes::default();
        for (bytes, acked, now, next, sends, again) in [
            (100..200, 90, 1, 0, 0, 0),
            (100..200, 100, 2, 100, 2, 2),
            (100..150, 100, 3, 100, 3, 2),
            (150..250, 150, 4, 150, 2, 4),
            (100..200, 100, 5, 100, 2, 5),
        ] {
            sizes.note(&bytes, acked, at(now));
            let found = (sizes.next, sizes.sends, sizes.again);
            assert_eq!(found, (next, sends, at(again)), "{bytes:?} {now}");
        }
        let mut first = Sizes::default();
        first.note(&(0..50), 0, at(7));
        assert_eq!((first.sends, first.again, first.len), (2, at(7), 50));
    }

    #[test]
    fn nothing_is_heard_of_what_was_sent_several_times_and_is_still_next() {
        assert_eq!(ends().unheard(Direction::ToServer), Some((4_000, at(9))));
        assert_eq!(ends().unheard(Direction::ToClient), None);
        let mut twice = ends();
        sizes(&mut twice).sends = SENDS - 1;
        let mut acked = ends();
        acknowledge(&mut acked.halves[Direction::ToServer as usize], 4_002);
        for ends in [twice, acked] {
            assert_eq!(ends.unheard(Direction::ToServer), None);
        }
    }

    #[test]
    fn the_opening_is_ignored_if_the_first_data_was_sent_several_times() {
        for (next, sends, ignored) in [(0, SENDS, true), (0, SENDS - 1, false), (1, SENDS, false)] {
            let mut ends = Ends::default();
            (sizes(&mut ends).next, sizes(&mut ends).sends) = (next, sends);
            assert_eq!(ends.opening_ignored().is_some(), ignored, "{next} {sends}");
        }
    }

    #[test]
    fn no_full_segment_gets_through_and_smaller_ones_do_or_none_did() {
        type Change = fn(&mut Ends);
        let rows: &[(&str, Change, Option<Option<u32>>)] = &[
            ("a smaller one did", |it| sizes(it).partial = (4_000, 999), Some(Some(999))),
            ("a full one did", |it| sizes(it).partial = (4_000, 1_000), None),
            ("that was before", |it| sizes(it).partial = (3_999, 999), None),
            ("nothing was acknowledged with it", |it| sizes(it).partial = (4_000, 0), None),
            ("some were, nobody knows of what size", |_| (), None),
            ("sent twice", |it| (sizes(it).partial, sizes(it).sends) = ((4_000, 999), 2), None),
            (
                "less than a full one",
                |it| (sizes(it).partial, sizes(it).len) = ((4_000, 999), 999),
                None,
            ),
            (
                "acknowledged since",
                |it| {
                    sizes(it).partial = (4_000, 999);
                    acknowledge(&mut it.halves[0], 4_002);
                },
                None,
            ),
            (
                "smaller ones behind it did",
                |it| (sizes(it).reported, sizes(it).added) = (4_001, 500),
                Some(Some(500)),
            ),
            (
                "full ones behind it did",
                |it| (sizes(it).reported, sizes(it).added) = (4_001, 1_000),
                None,
            ),
            (
                "none behind it",
                |it| {
                    (sizes(it).reported, sizes(it).added) = (4_000, 500);
                    sizes(it).partial = (4_000, 999);
                },
                Some(Some(999)),
            ),
        ];
        for (why, change, passes) in rows {
            let mut ends = ends();
            change(&mut ends);
            let found = ends.black_hole(Direction::ToServer).map(|it| it.passes);
            assert_eq!(found, *passes, "{why}");
        }
        // Of the first segment, none has got through.
        for (next, is_one) in [(999, true), (1_000, false)] {
            let mut ends = Ends::default();
            let half = &mut ends.halves[Direction::ToServer as usize];
            half.stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
            half.stream.agree(FULL);
            half.stream.see(&(0..10_000), at(1));
            acknowledge(half, next + 1);
            let sizes = &mut half.sizes;
            (sizes.next, sizes.len, sizes.sends) = (next.into(), FULL, SENDS);
            assert_eq!(ends.black_hole(Direction::ToServer).is_some(), is_one, "{next}");
        }
    }

    #[test]
    fn behind_the_place_where_full_segments_get_lost_holes_of_that_size_are_seen() {
        for (from, behind, is_one) in
            [(12_000, 999, true), (12_000, 1_000, false), (11_999, 999, false), (11_000, 0, true)]
        {
            let mut ends = ends();
            sizes(&mut ends).sends = 0;
            let half = &mut ends.halves[Direction::ToServer as usize];
            half.stream.see(&(from..13_000), at(20));
            half.sizes.behind = behind;
            let found = ends.black_hole(Direction::ToServer);
            let found = found.map(|it| (it.sends, it.passes, it.since));
            assert_eq!(found, is_one.then_some((None, Some(behind), at(20))), "{from} {behind}");
        }
        let mut sizes = Sizes::default();
        for (bytes, holes, behind) in
            [(0..500, false, 500), (0..400, true, 500), (0..600, true, 600), (0..100, false, 100)]
        {
            sizes.note_behind(&bytes, holes);
            assert_eq!(sizes.behind, behind, "{bytes:?} {holes}");
        }
    }

    #[test]
    fn what_is_reported_behind_a_hole_counts_as_far_as_it_is_new() {
        // Two reports each: blocks of the client's stream, of which 4,000 bytes are acknowledged.
        for (reports, found) in [
            (&[(5_001, 6_001)][..], (6_000, 1_000)),
            (&[(5_001, 6_001), (6_001, 6_501)], (6_500, 1_000)),
            (&[(5_001, 6_001), (5_001, 7_501)], (7_500, 1_500)),
            (&[(4_001, 5_001)], (0, 0)),
            (&[(4_002, 5_001)], (5_000, 999)),
            (&[(3_001, 3_501)], (0, 0)),
        ] {
            let mut ends = ends();
            for &(left, right) in reports {
                let mut sack = SackBlocks::default();
                sack.push(SeqNumber(left), SeqNumber(right));
                let mut segment = Segment::default();
                segment.options.sack = sack;
                ends.note_reported(&segment, Direction::ToServer);
            }
            let sizes = sizes(&mut ends);
            assert_eq!((sizes.reported, sizes.added), found, "{reports:?}");
        }
        let mut later = ends();
        (sizes(&mut later).reported, sizes(&mut later).added) = (3_999, 7);
        let mut segment = Segment::default();
        segment.options.sack.push(SeqNumber(5_001), SeqNumber(5_101));
        later.note_reported(&segment, Direction::ToServer);
        assert_eq!(sizes(&mut later).added, 100, "what was reported before is acknowledged");
        (sizes(&mut later).reported, sizes(&mut later).added) = (4_000, 700);
        later.note_reported(&segment, Direction::ToServer);
        assert_eq!(sizes(&mut later).added, 700);
    }
}
