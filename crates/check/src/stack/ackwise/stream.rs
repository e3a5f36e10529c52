//! How much of a stream is there in order, seen from its segments.

use std::collections::BTreeMap;

/// Ranges beyond a gap that are remembered; our choice: more than the largest window that a check advertises
/// (4 MB) has if every second segment of it is lost. What lies beyond more of them counts if it is sent again.
const MAX_RANGES: usize = 2048;

/// The in-order end of a stream and what has arrived beyond it.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    end: u64,
    /// Ranges by their beginning. They neither overlap nor touch.
    beyond: BTreeMap<u64, u64>,
}

impl InOrder {
    /// The first offset that is missing.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// `len` bytes arrive at `offset`; returns how many more are in order now.
    pub(super) fn arrive(&mut self, offset: u64, len: u64) -> u64 {
        let before = self.end;
        let (mut from, mut to) = (offset, offset + len);
        while let Some((&start, &end)) = self.beyond.range(..=to).next_back() {
            if end < from {
                break;
            }
            self.beyond.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        if from <= self.end {
            self.end = self.end.max(to);
        } else if self.beyond.len() < MAX_RANGES {
            self.beyond.insert(from, to);
        }
        self.end - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_gap_brings_all_that_waited_behind_it() {
        let mut stream = InOrder::default();
        let gains: Vec<u64> = [(0, 10), (20, 10), (30, 5), (20, 10), (10, 10), (0, 10), (35, 1)]
            .map(|(offset, len)| stream.arrive(offset, len))
            .into();
        assert_eq!(gains, [10, 0, 0, 0, 25, 0, 1]);
        assert_eq!(stream.end(), 36);
    }

    /// With SACK, what has arrived beyond a gap is never sent again, so none of it may be forgotten.
    #[test]
    fn a_flight_behind_a_gap_is_not_forgotten_however_long_it_is() {
        let mut stream = InOrder::default();
        let late: u64 = (1..3000).map(|segment| stream.arrive(segment * 1460, 1460)).sum();
        assert_eq!(late, 0);
        assert_eq!(stream.beyond.len(), 1);
        assert_eq!(stream.arrive(0, 1460), 3000 * 1460);
    }

    #[test]
    fn ranges_that_overlap_or_touch_become_one() {
        let mut stream = InOrder::default();
        for (offset, len) in [(10, 5), (20, 5), (30, 5), (14, 17)] {
            stream.arrive(offset, len);
        }
        assert_eq!(stream.beyond, BTreeMap::from([(10, 35)]));
        assert_eq!((stream.arrive(0, 9), stream.arrive(9, 1)), (9, 26));
    }
}
