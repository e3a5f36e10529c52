//! A set of ranges of a stream: what arrived out of order, what the peer has SACKed.

use thin_vec::ThinVec;

/// Disjoint, sorted, not touching ranges `[start, end)` of positions; an empty one
/// takes eight octets and no allocation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct RangeSet {
    ranges: ThinVec<(u64, u64)>,
}

impl RangeSet {
    pub(super) const NONE: Self = Self { ranges: ThinVec::new() };

    /// More gaps than this are not kept: a peer that sends every second octet must not cost memory.
    pub(super) const MAX_RANGES: usize = 1024;

    /// Adds `[start, end)`, merging what it touches. `false` if there are too many gaps already.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end, "an empty range [{start}, {end})");
        let first = self.ranges.partition_point(|&(_, right)| right < start);
        let last = self.ranges.partition_point(|&(left, _)| left <= end);
        if first == last {
            if self.ranges.len() >= Self::MAX_RANGES {
                return false;
            }
            self.ranges.insert(first, (start, end));
            return true;
        }
        let merged = (self.ranges[first].0.min(start), self.ranges[last - 1].1.max(end));
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..last);
        true
    }

    /// Forgets everything before `position`.
    pub(super) fn remove_before(&mut self, position: u64) {
        let gone = self.ranges.partition_point(|&(_, end)| end <= position);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(position);
        }
    }

    /// Takes the range that begins at `position`: its end.
    pub(super) fn take_from(&mut self, position: u64) -> Option<u64> {
        let &(start, end) = self.ranges.first()?;
        (start == position).then(|| {
            self.ranges.remove(0);
            end
        })
    }

    /// The range that holds `position`.
    pub(super) fn containing(&self, position: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|&(_, end)| end <= position);
        self.ranges.get(index).copied().filter(|&(start, _)| start <= position)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn octets(&self) -> u64 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// The first position after the last range.
    pub(super) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|&(_, end)| end)
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, vec::Vec};

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_range_set_is_the_set_of_its_positions(
            inserts in proptest::collection::vec((0_u64..60, 1_u64..12), 0..20),
            cut in 0_u64..70,
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                prop_assert!(set.insert(start, start + len));
                model.extend(start..start + len);
            }
            set.remove_before(cut);
            model.retain(|&position| position >= cut);
            let positions: BTreeSet<u64> = set.iter().flat_map(|(start, end)| start..end).collect();
            prop_assert_eq!(&positions, &model);
            let ranges: Vec<_> = set.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", ranges);
            prop_assert_eq!(set.octets(), u64::try_from(model.len()).unwrap());
        }
    }
}
