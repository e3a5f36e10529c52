//! What an exchange waited for, when.

use std::time::Duration;

use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use super::{
    Rule,
    verdict::{Confidence, Evidence, Verdict},
};

/// Some time of an exchange, all of it under one cause.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stretch {
    /// Since when, at the ends: a packet is seen later than it leaves by its way to the vantage point.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
    /// Why it did not go on.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// How sure that is.
    pub confidence: Confidence,
    /// Which packets show it.
    pub evidence: Evidence,
    /// What else the packets admit.
    pub rival: Option<Cause>,
    /// Which rule decided.
    pub rule: Rule,
    /// Which doubt limits its confidence first, if one does.
    pub doubt: Option<Rule>,
}

impl Stretch {
    /// What it says.
    pub(crate) const fn verdict(&self) -> Verdict {
        let Self { cause, direction, evidence, confidence, rival, rule, doubt, .. } = *self;
        let verdict = Verdict::new(rule, cause, direction, evidence, confidence);
        Verdict { rival, doubt, ..verdict }
    }

    /// The same time, under another verdict.
    pub(crate) const fn with(self, verdict: Verdict) -> Self {
        let Verdict { cause, direction, evidence, confidence, rival, rule, doubt, .. } = verdict;
        Self { cause, direction, confidence, evidence, rival, rule, doubt, ..self }
    }

    fn length(&self) -> Duration {
        self.until.since(self.from)
    }
}

/// The stretches of one exchange, in order.
#[derive(Clone, Debug)]
pub(crate) struct Stretches {
    kept: Vec<Stretch>,
    /// What the last one may go on with.
    open: Option<Open>,
    /// Of more than this the shorter half is dropped.
    limit: usize,
}

/// Time under one verdict is one stretch, as far as it is all as sure when it was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Open {
    /// Since when the verdict is the same.
    piece: Instant,
    /// Where only that changes, there are two stretches: what is doubtful of a long transfer is a part of it.
    confidence: Confidence,
    swapped: Option<Cause>,
    rule: Rule,
    doubt: Option<Rule>,
}

impl Stretches {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), open: None, limit }
    }

    pub(crate) const fn emptied(&self) -> Self {
        Self::new(self.limit)
    }

    /// The exchange went on at `until`; under the same verdict since `from`.
    pub(crate) fn add(&mut self, from: Instant, until: Instant, verdict: Verdict) {
        let Verdict {
            cause,
            direction,
            evidence,
            confidence,
            rival,
            kind: _,
            window: _,
            swapped,
            rule,
            doubt,
        } = verdict;
        let doubt = doubt.or_else(|| swapped.map(|_| Rule::LinkUnsure));
        let (confidence, rival) = match swapped {
            Some(other) => (confidence.min(Confidence::Medium), rival.or(Some(other))),
            None => (confidence, rival),
        };
        let mut stretch =
            Stretch { from, until, cause, direction, confidence, evidence, rival, rule, doubt };
        let open = Open { piece: from, confidence, swapped, rule, doubt };
        let before = self.open.replace(open).filter(|it| it.piece == from);
        match (before, self.kept.last_mut()) {
            (Some(before), Some(last)) if before == open && last.from >= from => {
                let confidence = confidence.min(last.confidence);
                let (from, rival) = (last.from, last.rival.or(rival));
                *last = Stretch { from, confidence, rival, ..stretch };
                return;
            }
            (Some(_), Some(last)) => stretch.from = last.until.max(from),
            _ => {}
        }
        if self.kept.len() >= self.limit {
            self.drop_shorter_half();
        }
        self.kept.push(stretch);
    }

    pub(crate) fn into_inner(self) -> Vec<Stretch> {
        self.kept
    }

    fn drop_shorter_half(&mut self) {
        self.kept.sort_by_key(|it| std::cmp::Reverse(it.length()));
        self.kept.truncate(self.limit / 2);
        self.kept.sort_by_key(|it| it.from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Budget;

    #[test]
    fn of_too_many_stretches_the_long_ones_stay() {
        let mut stretches = Stretches::new(Budget::STRETCHES_PER_EXCHANGE);
        let mut from = Instant::EPOCH;
        for number in 0..10_000_u32 {
            let length =
                if number == 77 { Duration::from_secs(1) } else { Duration::from_nanos(5) };
            let cause = if number % 2 == 0 { Cause::Propagation } else { Cause::Transmission };
            let (direction, evidence) = (Direction::ToClient, Evidence::default());
            let confidence = Confidence::High;
            let verdict = Verdict::new(Rule::Written, cause, direction, evidence, confidence);
            stretches.add(from, from + length, verdict);
            from = from + length;
        }
        let kept = stretches.into_inner();
        assert!(kept.len() <= Budget::STRETCHES_PER_EXCHANGE);
        assert!(kept.is_sorted_by_key(|it| it.from));
        assert!(kept.iter().any(|it| it.length() == Duration::from_secs(1)));
    }

    #[test]
    fn the_part_that_may_have_been_another_cause_is_a_stretch_of_its_own() {
        let verdict = |swapped| {
            let (cause, evidence) = (Cause::Transmission, Evidence::default());
            let sure =
                Verdict::new(Rule::Written, cause, Direction::ToClient, evidence, Confidence::High);
            Verdict { swapped, ..sure }
        };
        let at = Instant::from_nanos;
        let mut stretches = Stretches::new(Budget::STRETCHES_PER_EXCHANGE);
        let other = Some(Cause::Propagation);
        for (until, swapped) in [(5, other), (7, other), (9, None), (12, None), (13, other)] {
            stretches.add(at(0), at(until), verdict(swapped));
        }
        let kept = stretches.into_inner();
        let found: Vec<_> = kept
            .iter()
            .map(|it| (it.from.as_nanos(), it.until.as_nanos(), it.confidence, it.rival))
            .collect();
        let (high, medium) = (Confidence::High, Confidence::Medium);
        assert_eq!(found, [(0, 7, medium, other), (7, 12, high, None), (12, 13, medium, other)]);
    }

    #[test]
    fn a_stretch_goes_on_as_long_as_it_is_as_sure() {
        use Confidence::{High, Low, Medium};
        let verdict = |confidence| {
            let (cause, evidence) = (Cause::Propagation, Evidence::default());
            Verdict::new(Rule::Written, cause, Direction::ToClient, evidence, confidence)
        };
        let at = Instant::from_nanos;
        let mut stretches = Stretches::new(Budget::STRETCHES_PER_EXCHANGE);
        stretches.add(at(0), at(5), verdict(Low));
        stretches.add(at(0), at(7), verdict(Low));
        stretches.add(at(0), at(9), verdict(High));
        stretches.add(at(0), at(10), verdict(Medium));
        stretches.add(at(10), at(12), verdict(Medium));
        let kept = stretches.into_inner();
        let found: Vec<_> = kept
            .iter()
            .map(|it| (it.from.as_nanos(), it.until.as_nanos(), it.confidence))
            .collect();
        assert_eq!(found, [(0, 7, Low), (7, 9, High), (9, 10, Medium), (10, 12, Medium)]);
    }

    #[test]
    fn what_begins_anew_is_a_stretch_of_its_own_and_only_too_many_are_dropped() {
        let verdict = |cause| {
            let (direction, evidence) = (Direction::ToClient, Evidence::default());
            Verdict::new(Rule::Written, cause, direction, evidence, Confidence::High)
        };
        let at = Instant::from_nanos;
        let of = |pieces: &[(u64, u64, Cause)], limit| {
            let mut stretches = Stretches::new(limit);
            for &(from, until, cause) in pieces {
                stretches.add(at(from), at(until), verdict(cause));
            }
            let kept = stretches.into_inner();
            kept.iter().map(|it| (it.from.as_nanos(), it.until.as_nanos())).collect::<Vec<_>>()
        };
        let (one, other) = (Cause::Propagation, Cause::Transmission);
        assert_eq!(of(&[(0, 5, one), (0, 7, one)], 9), [(0, 7)]);
        assert_eq!(of(&[(0, 5, one), (5, 7, one)], 9), [(0, 5), (5, 7)]);
        let four = [(0, 5, one), (5, 7, other), (7, 8, one), (8, 12, other)];
        assert_eq!(of(&four, 4), [(0, 5), (5, 7), (7, 8), (8, 12)]);
        assert_eq!(of(&four, 3), [(0, 5), (8, 12)], "the longest of three, and the next");
        // A piece of which an earlier part was dropped does not go on with another's stretch.
        let dropped = [(0, 9, one), (9, 20, other), (20, 21, one), (20, 22, one)];
        assert_eq!(of(&dropped, 2), [(9, 20), (20, 22)]);
    }
}
