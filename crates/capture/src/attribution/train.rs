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
    /// The link had nothing to do for so long before.
    idle: Nanos,
    /// When the last of them left, if they were captured where they leave.
    last: Option<Instant>,
}

impl Train {
    /// Less is not worth a doubt. Our choice: less than round trips vary without any queue.
    const LEAST: Nanos = Nanos::from_micros(100);

    /// Nothing has spread anything.
    pub(crate) const NONE: Self = Self::new(Instant::EPOCH, Nanos::ZERO);

    /// A train whose first segment left at `began`, `later` before it was seen.
    pub(crate) const fn new(began: Instant, later: Nanos) -> Self {
        Self { began, later, idle: Nanos::new(u64::MAX), last: None }
    }

    /// The same, before which the link had nothing to do for `idle`.
    pub(crate) const fn after(self, idle: Nanos) -> Self {
        Self { idle, ..self }
    }

    /// The same, captured next to the sender, where acknowledgements spread the train, and the last segment so far left
    /// at `last`.
    pub(crate) const fn at_sender(self, last: Instant) -> Self {
        Self { last: Some(last), ..self }
    }

    /// Of the time until links were `free_at`, the part in which they may not have been busy yet. The next data left at
    /// `next`.
    pub(crate) fn first(self, free_at: Instant, next: Instant) -> Range<Instant> {
        let Some(last) = self.last else {
            return self.began..self.began + self.in_doubt(free_at);
        };
        let [less, _] = self.in_doubt_between([last, next], free_at);
        let done = free_at.max(last).min(next);
        done - less..done
    }

    /// Of a wait that ends at `until`, the part in which links may still have been busy. When within the wait that
    /// was, nothing shows: its end stands for it.
    pub(crate) fn behind(self, free_at: Instant, [next, until]: [Instant; 2]) -> Range<Instant> {
        let doubt = match self.last {
            Some(last) => self.in_doubt_between([last, next], free_at)[1],
            None => self.in_doubt(free_at),
        };
        (until - doubt).max(free_at)..until
    }

    /// For how long it is not known whether links were busy, at the beginning and again behind the train.
    fn in_doubt(self, free_at: Instant) -> Nanos {
        let later = self.later.min(Nanos::between(self.began, free_at));
        if later < Self::LEAST { Nanos::ZERO } else { later }
    }

    /// By how much less links may have been busy between two departures than it seems, and by how much more. The nearer
    /// they are to the sender, the more of the train they have done before the first of both; so a burst that leaves at
    /// once is in no doubt.
    fn in_doubt_between(self, [from, until]: [Instant; 2], free_at: Instant) -> [Nanos; 2] {
        let busy = |later: Nanos| {
            let (begins, ends) = (self.began + later, free_at + later);
            Nanos::between(begins.max(from), ends.min(until))
        };
        let (seems, latest) = (busy(Nanos::ZERO), busy(self.later));
        // All of it, or all of the time, as soon as the link is so much later.
        let reached = Nanos::between(self.began, from).min(Nanos::between(free_at, until));
        let all = Nanos::between(self.began, free_at).min(Nanos::between(from, until));
        let most = if reached <= self.later { all } else { latest };
        let worth = |doubt: Nanos| if doubt < Self::LEAST { Nanos::ZERO } else { doubt };
        // What is done later of this train, the link has done later of the one before.
        let less = (seems - latest).min(self.idle);
        [worth(less), worth(most - seems)]
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
            let found =
                (train.first(at(free_at), at(50_000)), train.behind(at(free_at), [at(50_000); 2]));
            let range = |(from, until)| at(from)..at(until);
            assert_eq!(found, (range(first), range(behind)), "{later} {free_at}");
        }
    }

    #[test]
    fn next_to_the_sender_only_what_acknowledgements_spread_is_in_doubt() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        for (last, until, free_at, expected) in [
            // A burst, and nothing until all of it has arrived.
            (100, 200, 120, [0, 0]),
            // The same, but the next data leaves before a far link is done.
            (100, 130, 120, [20, 0]),
            // A train of 20 ms: far away, its first segments are on the link after its end.
            (110, 112, 112, [2, 0]),
            (120, 200, 121, [0, 20]),
            (120, 125, 121, [1, 4]),
            // One that lasts longer than the way: its end is no different from what is before it.
            (180, 182, 182, [0, 0]),
            (180, 300, 182, [0, 40]),
        ] {
            let train = Train::new(at(100), Nanos::from_millis(40)).at_sender(at(last));
            let soon =
                train.after(Nanos::ZERO).in_doubt_between([at(last), at(until)], at(free_at));
            assert_eq!(soon[0], Nanos::ZERO, "the link was never idle");
            let doubt = train.in_doubt_between([at(last), at(until)], at(free_at));
            let expected = expected.map(Nanos::from_millis);
            assert_eq!(doubt, expected, "{last} {until} {free_at}");
            let first = train.first(at(free_at), at(until));
            assert_eq!(Nanos::between(first.start, first.end), expected[0]);
            let behind = train.behind(at(free_at), [at(until); 2]);
            assert_eq!(Nanos::between(behind.start, behind.end), expected[1]);
        }
    }
}
