//! Data that was acknowledged but never captured: the capture lost it, not the network.

use std::{collections::VecDeque, ops::Range};

/// Bytes of one stream that were delivered but not captured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unseen {
    /// The latest of them, oldest first.
    ranges: VecDeque<Range<u64>>,
    bytes: u64,
    segments: u64,
}

impl Unseen {
    /// The most ranges that are remembered, in case they are captured late. Our choice.
    const MAX_RANGES: usize = 32;

    /// Adds a range; full segments have `full` bytes, 0 if that is unknown.
    pub(super) fn add(&mut self, range: Range<u64>, full: u32) {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return;
        }
        self.bytes += length;
        self.segments += length.div_ceil(if full == 0 { length } else { full.into() });
        if self.ranges.len() == Self::MAX_RANGES {
            self.ranges.pop_front();
        }
        self.ranges.push_back(range);
    }

    /// Removes data that was captured after its ACK, as happens with several capture queues. Whether it
    /// had been given up.
    pub(super) fn withdraw(&mut self, bytes: &Range<u64>) -> bool {
        let Some(place) = self.ranges.iter().position(|it| overlap(it, bytes) > 0) else {
            return false;
        };
        let range = &mut self.ranges[place];
        let found = overlap(range, bytes);
        // Within a queue, segments are in order: what comes before this one stays lost.
        *range = bytes.end.clamp(range.start, range.end)..range.end;
        if range.is_empty() {
            self.ranges.remove(place);
        }
        self.bytes -= found;
        self.segments = self.segments.saturating_sub(1).max(u64::from(self.bytes > 0));
        true
    }

    /// Whether the byte at this position is one of the latest that were lost.
    pub(crate) fn contains(&self, position: u64) -> bool {
        self.ranges.iter().any(|it| it.contains(&position))
    }

    /// How many bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// In how many segments, at least.
    pub(crate) const fn segments(&self) -> u64 {
        self.segments
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> u64 {
    one.end.min(other.end).saturating_sub(one.start.max(other.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_counted_in_bytes_and_segments() {
        let mut unseen = Unseen::default();
        for (range, bytes, segments) in
            [(100..100, 0, 0), (100..101, 1, 1), (200..2_200, 2_001, 3), (5_000..6_000, 3_001, 4)]
        {
            unseen.add(range, 1_000);
            assert_eq!((unseen.bytes(), unseen.segments()), (bytes, segments));
        }
        for (position, lost) in [(99, false), (100, true), (101, false), (2_199, true)] {
            assert_eq!(unseen.contains(position), lost, "{position}");
        }
    }

    #[test]
    fn data_that_is_captured_after_its_acknowledgement_is_not_missing() {
        let mut unseen = Unseen::default();
        unseen.add(0..2_000, 1_000);
        assert!(!unseen.withdraw(&(2_000..3_000)));
        assert!(unseen.withdraw(&(0..1_000)));
        assert_eq!((unseen.bytes(), unseen.segments()), (1_000, 1));
        assert!(!unseen.withdraw(&(0..1_000)));
        assert!(unseen.withdraw(&(1_000..2_000)));
        assert_eq!((unseen.bytes(), unseen.segments()), (0, 0));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_counted_is_not() {
        let mut unseen = Unseen::default();
        for start in (0..1_000).step_by(10) {
            unseen.add(start..start + 1, 1);
        }
        assert_eq!((unseen.bytes(), unseen.ranges.len()), (100, Unseen::MAX_RANGES));
    }
}
