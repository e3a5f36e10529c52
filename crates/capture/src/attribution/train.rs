//! A train of segments that a link has spread, seen far from its sender.
//!
//! The link is somewhere on the way to the vantage point, and no packet shows where. If it is next to the sender, it
//! is busy as soon as the first segment leaves; if it is next to the vantage point, by all of the way later. For how
//! long it is busy, the train shows; when, only to so much.

use std::ops::Range;

use ackwise_tcp::Instant;

use super::Nanos;

/// The latest train: segments between which nothing but the link was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Train {
    /// When the first of them left.
    began: Instant,
    /// The link may have been busy so much later than it seems.
    later: Nanos,
}

impl Train {
    /// Less is not worth a doubt. Our choice: less than round trips vary without any queue.
    const LEAST: Nanos = Nanos::from_micros(100);

    /// Nothing has spread anything.
    pub(crate) const NONE: Self = Self::new(Instant::EPOCH, Nanos::ZERO);

    /// A train whose first segment left at `began`, `later` before it was seen.
    pub(crate) const fn new(began: Instant, later: Nanos) -> Self {
        Self { began, later }
    }

    /// Of the time until links were `free_at`, the part in which they may not have been busy yet.
    pub(crate) fn first(self, free_at: Instant) -> Range<Instant> {
        self.began..self.began + self.in_doubt(free_at)
    }

    /// Of a wait that ends at `until`, the part in which links may still have been busy. When within the wait that
    /// was, nothing shows: its end stands for it.
    pub(crate) fn behind(self, free_at: Instant, until: Instant) -> Range<Instant> {
        (until - self.in_doubt(free_at)).max(free_at)..until
    }

    /// For how long it is not known whether links were busy, at the beginning and again behind the train.
    fn in_doubt(self, free_at: Instant) -> Nanos {
        let later = self.later.min(Nanos::between(self.began, free_at));
        if later < Self::LEAST { Nanos::ZERO } else { later }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_have_been_busy_later_by_the_way_to_it() {
        let at = |micros: u64| Instant::EPOCH + Nanos::from_micros(micros);
        for (later, free_at, first, behind) in [
            (10_000, 30_000, (1_000, 11_000), (40_000, 50_000)),
            (10_000, 45_000, (1_000, 11_000), (45_000, 50_000)),
            (10_000, 5_000, (1_000, 5_000), (46_000, 50_000)),
            (10_000, 1_099, (1_000, 1_000), (50_000, 50_000)),
            (99, 30_000, (1_000, 1_000), (50_000, 50_000)),
            (10_000, 500, (1_000, 1_000), (50_000, 50_000)),
        ] {
            let train = Train::new(at(1_000), Nanos::from_micros(later));
            let found = (train.first(at(free_at)), train.behind(at(free_at), at(50_000)));
            let range = |(from, until)| at(from)..at(until);
            assert_eq!(found, (range(first), range(behind)), "{later} {free_at}");
        }
    }
}
