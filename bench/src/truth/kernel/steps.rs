//! Values over time.

use crate::witness::clock::Nanos;

/// A value that changes at some times.
#[derive(Clone, Debug)]
pub(super) struct Steps<T> {
    before: T,
    /// In order.
    changes: Vec<(Nanos, T)>,
}

impl<T: Copy + PartialEq> Steps<T> {
    /// The `changes` may be in any order; of several at a time, the last counts.
    pub(super) fn new(before: T, mut changes: Vec<(Nanos, T)>) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        Self { before, changes }
    }

    pub(super) fn at(&self, at: Nanos) -> T {
        let later = self.changes.partition_point(|(from, _)| *from <= at);
        later.checked_sub(1).map_or(self.before, |index| self.changes[index].1)
    }

    /// When it changes next, and to what.
    pub(super) fn next(&self, after: Nanos) -> Option<(Nanos, T)> {
        let later = self.changes.partition_point(|(from, _)| *from <= after);
        self.changes.get(later).copied()
    }

    /// In order.
    pub(super) fn changes(&self) -> &[(Nanos, T)] {
        &self.changes
    }

    pub(super) fn times(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.changes.iter().map(|(at, _)| *at)
    }
}

impl Steps<u64> {
    /// Of a value that only grows: smaller ones do not count.
    pub(super) fn growing(mut changes: Vec<(Nanos, u64)>) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        let mut most = 0;
        changes.retain(|(_, value)| {
            let grows = *value > most;
            most = most.max(*value);
            grows
        });
        Self { before: 0, changes }
    }
}

impl Steps<i32> {
    /// How many of these spans there are at each time.
    pub(super) fn count(spans: impl IntoIterator<Item = (Nanos, Nanos)>) -> Self {
        let mut changes: Vec<(Nanos, i32)> = Vec::new();
        for (from, until) in spans.into_iter().filter(|(from, until)| from < until) {
            changes.extend([(from, 1), (until, -1)]);
        }
        changes.sort_by_key(|(at, _)| *at);
        let mut sum = 0;
        for change in &mut changes {
            sum += change.1;
            change.1 = sum;
        }
        Self { before: 0, changes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lasts_until_the_next_change() {
        let steps = Steps::new(0, vec![(20, 2), (10, 1)]);
        let values = [9, 10, 19, 20, 99].map(|at| steps.at(at));
        assert_eq!(values, [0, 1, 1, 2, 2]);
        assert_eq!((steps.next(10), steps.next(20)), (Some((20, 2)), None));
    }

    #[test]
    fn spans_are_counted_and_what_only_grows_never_shrinks() {
        let steps = Steps::count([(10, 20), (15, 30), (40, 40)]);
        assert_eq!([9, 10, 15, 20, 30, 40].map(|at| steps.at(at)), [0, 1, 2, 1, 0, 0]);
        let steps = Steps::growing(vec![(1, 5), (2, 3), (3, 9)]);
        assert_eq!([0, 1, 2, 3].map(|at| steps.at(at)), [0, 5, 5, 9]);
    }
}
