//! The scoreboard: what is lost, how much is in the pipe, what to send next. By RFC 6675, or by the list
//! of segments where losses are detected by time.

use super::{flight::Flight, in_flight::InFlight, recovery::Recovery, sequence::SendSequence};
use crate::{congestion::DUPLICATE_THRESHOLD, ranges::RangeSet};

/// A view of what the peer has SACKed, with the bounds that RFC 6675, section 2, names.
pub(crate) struct Scoreboard<'a> {
    /// The segments, where losses are detected by time.
    flight: Option<&'a Flight>,
    sacked: &'a RangeSet,
    /// HighACK.
    una: u64,
    /// HighData.
    max: u64,
    /// HighRxt.
    high_retransmitted: u64,
    mss: u64,
}

/// Bytes that are not SACKed, between two SACKed ranges or after the last.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Hole {
    start: u64,
    end: u64,
    /// IsLost() of its bytes.
    lost: bool,
    /// Something above it is SACKed.
    below_sacked: bool,
}

impl Hole {
    /// The range that is missing.
    pub(crate) const fn range(self) -> (u64, u64) {
        (self.start, self.end)
    }
}

impl<'a> Scoreboard<'a> {
    pub(crate) fn new(
        recovery: &'a Recovery,
        in_flight: &'a InFlight,
        sequence: &SendSequence,
    ) -> Self {
        Self {
            flight: recovery.timed(in_flight),
            sacked: recovery.sacked(),
            una: sequence.una(),
            max: sequence.max(),
            high_retransmitted: recovery.high_retransmitted(),
            mss: u64::from(sequence.mss()),
        }
    }

    /// The holes, lowest first.
    fn holes(&self) -> impl Iterator<Item = Hole> + '_ {
        let mut bytes_above = self.sacked.bytes();
        let mut ranges_above = self.sacked.len();
        let mut start = self.una;
        self.sacked.iter().chain([(self.max, self.max)]).map(move |(left, right)| {
            // IsLost(): "DupThresh discontiguous SACKed sequences have arrived above", "or more
            // than (DupThresh - 1) * SMSS bytes".
            let threshold = u64::from(DUPLICATE_THRESHOLD);
            let lost = ranges_above >= usize::from(DUPLICATE_THRESHOLD)
                || bytes_above > (threshold - 1) * self.mss;
            let hole = Hole { start, end: left, lost, below_sacked: ranges_above > 0 };
            bytes_above -= right - left;
            ranges_above = ranges_above.saturating_sub(1);
            start = right;
            hole
        })
    }

    /// IsLost(HighACK).
    pub(crate) fn head_is_lost(&self) -> bool {
        if let Some(flight) = self.flight {
            return flight.has_unrepaired();
        }
        self.holes().next().is_some_and(|hole| hole.lost)
    }

    /// The end of the last hole that counts as lost; zero if none does.
    pub(crate) fn lost_end(&self) -> u64 {
        if let Some(flight) = self.flight {
            return flight.lost_end();
        }
        self.holes().filter(|hole| hole.lost).map(|hole| hole.end).last().unwrap_or(0)
    }

    /// SetPipe().
    pub(crate) fn pipe(&self) -> u64 {
        if let Some(flight) = self.flight {
            return flight.pipe(self.una, u32::try_from(self.mss).unwrap_or(u32::MAX));
        }
        self.holes()
            .map(|hole| {
                let size = hole.end - hole.start;
                let again = self.high_retransmitted.clamp(hole.start, hole.end) - hole.start;
                again + if hole.lost { 0 } else { size }
            })
            .sum()
    }

    /// NextSeg(), rule 1: the lowest lost bytes below the highest SACKed ones that were not retransmitted in this repair.
    pub(crate) fn next_lost_hole(&self) -> Option<Hole> {
        self.next(|hole| hole.lost)
    }

    /// NextSeg(), rule 3: as above, lost or not.
    pub(crate) fn next_hole(&self) -> Option<Hole> {
        self.next(|_| true)
    }

    fn next(&self, counts: impl Fn(&Hole) -> bool) -> Option<Hole> {
        if let Some(flight) = self.flight {
            let (start, end) = flight.next_unrepaired()?;
            return Some(Hole { start, end, lost: true, below_sacked: false });
        }
        self.holes()
            .filter(|hole| hole.below_sacked && counts(hole))
            .map(|hole| Hole { start: hole.start.max(self.high_retransmitted), ..hole })
            .find(|hole| hole.start < hole.end)
    }

    /// NextSeg(), rule 4: the end of the last hole, at most one segment.
    pub(crate) fn rescue(&self) -> Option<Hole> {
        if self.flight.is_some() {
            return None; // A tail-loss probe does it.
        }
        let start = self.sacked.end()?.max(self.high_retransmitted).max(self.una);
        let start = start.max(self.max.saturating_sub(self.mss));
        (start < self.max).then_some(Hole {
            start,
            end: self.max,
            lost: false,
            below_sacked: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(sacked: &RangeSet, high_retransmitted: u64) -> Scoreboard<'_> {
        Scoreboard { flight: None, sacked, una: 1, max: 10_001, high_retransmitted, mss: 1000 }
    }

    fn sacked(ranges: &[(u64, u64)]) -> RangeSet {
        let mut set = RangeSet::default();
        for &(start, end) in ranges {
            assert!(set.insert(start, end, 0));
        }
        set
    }

    #[test]
    fn more_than_two_segments_sacked_above_make_a_hole_lost() {
        for (ranges, lost) in [
            (&[(1001, 3001)][..], false),
            (&[(1001, 3002)], true),
            (&[(1001, 1002), (2001, 2002)], false),
            (&[(1001, 1002), (2001, 2002), (3001, 3002)], true),
        ] {
            let set = sacked(ranges);
            assert_eq!(board(&set, 1).head_is_lost(), lost, "{ranges:?}");
        }
    }

    #[test]
    fn the_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
        let set = sacked(&[(1001, 4001)]);
        assert_eq!(board(&set, 1).pipe(), 6000, "the head is lost");
        assert_eq!(board(&set, 1001).pipe(), 7000, "and was sent again");
        let set = sacked(&[(1001, 2001)]);
        assert_eq!(board(&set, 1).pipe(), 9000, "one SACKed segment proves nothing");
    }

    #[test]
    fn holes_are_repaired_from_below_each_once() {
        let set = sacked(&[(1001, 2001), (3001, 7001)]);
        let first = board(&set, 1).next_lost_hole().map(|hole| (hole.start, hole.end));
        let second = board(&set, 1001).next_lost_hole().map(|hole| (hole.start, hole.end));
        assert_eq!((first, second), (Some((1, 1001)), Some((2001, 3001))));
        assert_eq!(board(&set, 3001).next_hole(), None);
        assert_eq!(
            board(&set, 3001).rescue().map(|hole| (hole.start, hole.end)),
            Some((9001, 10_001))
        );
    }
}
