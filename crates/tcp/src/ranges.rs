//! A set of ranges of a stream: what arrived out of order, what the peer has SACKed.

use thin_vec::ThinVec;

/// Disjoint, sorted, not touching ranges `[start, end)` of positions; an empty set takes eight bytes
/// and no allocation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct RangeSet {
    ranges: ThinVec<Range>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Range {
    start: u64,
    end: u64,
    /// When it was last added to, in the caller's count.
    date: u32,
}

impl RangeSet {
    pub(crate) const NONE: Self = Self { ranges: ThinVec::new() };

    /// More gaps than this are not kept: a peer that sends every second byte must not cost memory.
    pub(crate) const MAX_RANGES: usize = 1024;

    /// Adds `[start, end)`, merging what it touches. `false` if there are too many gaps already.
    pub(crate) fn insert(&mut self, start: u64, end: u64, date: u32) -> bool {
        debug_assert!(start < end, "an empty range [{start}, {end})");
        let first = self.ranges.partition_point(|range| range.end < start);
        let last = self.ranges.partition_point(|range| range.start <= end);
        if first == last {
            if self.ranges.len() >= Self::MAX_RANGES {
                return false;
            }
            self.ranges.insert(first, Range { start, end, date });
            return true;
        }
        let (start, end) =
            (self.ranges[first].start.min(start), self.ranges[last - 1].end.max(end));
        self.ranges[first] = Range { start, end, date };
        self.ranges.drain(first + 1..last);
        true
    }

    /// The range that `position` lies in.
    pub(crate) fn around(&self, position: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.end <= position);
        let range = self.ranges.get(index).filter(|range| range.start <= position)?;
        Some((range.start, range.end))
    }

    /// What of `[start, end)` is missing, from the first such position to the last; an empty range if
    /// nothing is.
    pub(crate) fn missing(&self, start: u64, end: u64) -> (u64, u64) {
        let from = self.around(start).map_or(start, |(_, known_end)| known_end);
        let to = self.around(end - 1).map_or(end, |(known_start, _)| known_start);
        (from.min(end), to.max(start))
    }

    /// Forgets everything before `position`.
    pub(crate) fn remove_before(&mut self, position: u64) {
        if self.ranges.is_empty() {
            return;
        }
        let gone = self.ranges.partition_point(|range| range.end <= position);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(position);
        }
    }

    /// Takes the range that begins at `position`: its end.
    pub(crate) fn take_from(&mut self, position: u64) -> Option<u64> {
        let &Range { start, end, .. } = self.ranges.first()?;
        (start == position).then(|| {
            self.ranges.remove(0);
            end
        })
    }

    /// Whether all of `[start, end)` is in the set.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.end < end);
        self.ranges.get(at).is_some_and(|range| range.start <= start)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|range| (range.start, range.end))
    }

    /// The ranges by date, the latest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut earlier_than = u64::MAX;
        core::iter::from_fn(move || {
            let earlier = self.ranges.iter().filter(|range| u64::from(range.date) < earlier_than);
            let latest = earlier.max_by_key(|range| range.date)?;
            earlier_than = latest.date.into();
            Some((latest.start, latest.end))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// The first position after the last range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end)
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, vec::Vec};

    use proptest::prelude::*;

    #[test]
    fn a_range_is_as_late_as_what_was_added_last() {
        let mut set = RangeSet::default();
        for (date, start) in (0..).zip([50, 10, 30, 55]) {
            assert!(set.insert(start, start + 5, date));
        }
        assert_eq!(set.latest().collect::<Vec<_>>(), [(50, 60), (30, 35), (10, 15)]);
    }

    #[test]
    fn too_many_gaps_are_not_kept() {
        let mut set = RangeSet::default();
        let kept = (0..5_000).filter(|gap| set.insert(2 * gap, 2 * gap + 1, 0)).count();
        assert_eq!(kept, RangeSet::MAX_RANGES);
        assert!(set.insert(1, 2, 0), "what closes a gap is welcome");
    }

    proptest! {
        #[test]
        fn a_range_set_is_the_set_of_its_positions(
            inserts in proptest::collection::vec((0_u64..60, 1_u64..12), 0..20),
            cut in 0_u64..70,
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                prop_assert!(set.insert(start, start + len, 0));
                model.extend(start..start + len);
            }
            set.remove_before(cut);
            model.retain(|&position| position >= cut);
            let positions: BTreeSet<u64> = set.iter().flat_map(|(start, end)| start..end).collect();
            prop_assert_eq!(&positions, &model);
            let ranges: Vec<_> = set.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", ranges);
            prop_assert_eq!(set.bytes(), u64::try_from(model.len()).unwrap());
        }
    }
}
