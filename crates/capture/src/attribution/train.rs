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

    /// The times until the next departure (`until`) for which it is not known whether the link was busy, which seems to be
    /// done at `free_at`: the first of the train, and as much behind it.
    pub(crate) fn in_doubt(self, free_at: Instant, until: Instant) -> [Range<Instant>; 2] {
        if let Some(last) = self.last {
            return self.in_doubt_between([last, until], free_at);
        }
        let busy = Nanos::between(self.began, free_at);
        let later = self.later.min(busy);
        let later = if later < Self::LEAST { Nanos::ZERO } else { later };
        let end = if later == Nanos::ZERO { free_at } else { free_at + self.later };
        [self.began..self.began + later, end - later..end]
    }

    /// Between two departures, for how long the link was busy, and not when: the end of that time, and of the time
    /// behind it. The nearer the link is to the sender, the more of the train it has done before the first of them; so
    /// a burst that leaves at once is in no doubt.
    fn in_doubt_between(
        self,
        [from, until]: [Instant; 2],
        free_at: Instant,
    ) -> [Range<Instant>; 2] {
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
        let [less, more] = [worth(less), worth(most - seems)];
        let done = free_at.max(from).min(until);
        [done - less..done, until - more..until]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_have_been_busy_later_by_the_way_to_it() {
        let at = |micros: u64| Instant::EPOCH + Nanos::from_micros(micros);
        for (later, free_at, expected) in [
            (10_000, 30_000, [(1_000, 11_000), (30_000, 40_000)]),
            (10_000, 5_000, [(1_000, 5_000), (5_000, 9_000)]),
            (10_000, 1_099, [(1_000, 1_000), (1_099, 1_099)]),
            (99, 30_000, [(1_000, 1_000), (30_000, 30_000)]),
            (10_000, 500, [(1_000, 1_000), (500, 500)]),
        ] {
            let train = Train::new(at(1_000), Nanos::from_micros(later));
            let expected = expected.map(|(from, until)| at(from)..at(until));
            let found = train.in_doubt(at(free_at), at(1_000_000));
            assert_eq!(found, expected, "{later} {free_at}");
        }
    }

    #[test]
    fn next_to_the_sender_only_what_acknowledgements_spread_is_in_doubt() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let millis = |range: &Range<Instant>| {
            Nanos::between(range.start, range.end).get() / 1_000_000
        };
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
            let soon = train.after(Nanos::ZERO).in_doubt(at(free_at), at(until));
            assert_eq!(millis(&soon[0]), 0, "the link was never idle");
            let doubt = train.in_doubt(at(free_at), at(until));
            assert_eq!(doubt.each_ref().map(millis), expected, "{last} {until} {free_at}");
        }
    }
}
