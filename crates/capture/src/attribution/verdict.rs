//! A verdict on some time of an exchange: the cause, the packets that show it, how sure it is.

use std::{ops::Add, time::Duration};

use ackwise_cause::{Cause, Direction, H2Window};

use super::{LossKind, Nanos, Rule};

/// The packets that show why, by their numbers in the capture, in the order in which they were seen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Evidence([u64; Self::MAX]);

impl Evidence {
    /// Enough for what was held, what released it, and what came then.
    pub const MAX: usize = 3;

    /// Of these packets; a number of 0 is no packet.
    #[must_use]
    pub const fn of(numbers: [u64; Self::MAX]) -> Self {
        Self(numbers)
    }

    /// All of them, also those that are none.
    pub(crate) const fn numbers(&self) -> [u64; Self::MAX] {
        self.0
    }

    /// The numbers.
    pub fn packets(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied().filter(|&number| number > 0)
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Confidence {
    /// Something else would look nearly the same.
    Low,
    /// What would look the same is rare.
    Medium,
    /// The packets show it.
    #[default]
    High,
}

impl Confidence {
    /// That of some time of which these parts have high and medium confidence: what nine tenths of it have at least.
    #[must_use]
    pub fn of_parts(span: Duration, parts: [Duration; 2]) -> Self {
        Self::decided(span - span / Self::PART, parts)
    }

    /// The same in nanoseconds.
    pub(super) fn of_nanos(span: Nanos, parts: [Nanos; 2]) -> Self {
        Self::decided(span - span / u64::from(Self::PART), parts)
    }

    /// All of the time but for this part decides. Our choice.
    const PART: u32 = 10;

    fn decided<T: Copy + PartialOrd + Add<Output = T>>(enough: T, [high, medium]: [T; 2]) -> Self {
        match () {
            () if high >= enough => Self::High,
            () if high + medium >= enough => Self::Medium,
            () => Self::Low,
        }
    }

    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What an exchange owes to one cause in one direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Why it did not go on.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// How long, in all.
    pub span: Duration,
    /// In how many pieces: of a stall, how often.
    pub times: u32,
    /// The longest of them.
    pub longest: Duration,
    /// Which packets show the longest.
    pub evidence: Evidence,
    /// That of nine tenths of it.
    pub confidence: Confidence,
    /// If it is not high: what else the packets of some piece admit, the longest if there are several.
    pub rival: Option<Cause>,
    /// If it is a loss, what is known of it: of the longest piece of which something is.
    pub kind: Option<LossKind>,
    /// If it is HTTP/2's flow control, which windows held data, in all pieces together.
    pub window: Option<H2Window>,
    /// Which rule decided, of the longest piece.
    pub rule: Rule,
    /// And which doubt limits its confidence first, if one does.
    pub doubt: Option<Rule>,
}

impl Share {
    /// What it says.
    pub(crate) const fn verdict(&self) -> Verdict {
        let Self { cause, direction, evidence, confidence, rival, rule, .. } = *self;
        let Self { kind, window, doubt, .. } = *self;
        let verdict = Verdict::new(rule, cause, direction, evidence, confidence);
        Verdict { rival, kind, window, doubt, ..verdict }
    }

    /// The same time, under another verdict.
    pub(crate) const fn with(self, verdict: Verdict) -> Self {
        Self::of(verdict, self.span, self.times, self.longest)
    }

    /// Time under a verdict, in `times` pieces.
    pub(crate) const fn of(
        verdict: Verdict,
        span: Duration,
        times: u32,
        longest: Duration,
    ) -> Self {
        let Verdict {
            cause,
            direction,
            evidence,
            confidence,
            rival,
            kind,
            window,
            swapped: _,
            rule,
            doubt,
        } = verdict;
        Self {
            cause,
            direction,
            span,
            times,
            longest,
            evidence,
            confidence,
            rival,
            kind,
            window,
            rule,
            doubt,
        }
    }

    /// Adds another share, which is under the same cause.
    pub(crate) fn add(&mut self, other: &Self) {
        let of = |confidence| {
            let part =
                |it: &Self| if it.confidence == confidence { it.span } else { Duration::ZERO };
            part(self) + part(other)
        };
        let parts = [Confidence::High, Confidence::Medium].map(of);
        self.confidence = Confidence::of_parts(self.span + other.span, parts);
        (self.rival, self.kind) = match self.longest < other.longest {
            true => (other.rival.or(self.rival), other.kind.or(self.kind)),
            false => (self.rival.or(other.rival), self.kind.or(other.kind)),
        };
        if self.longest < other.longest {
            (self.longest, self.evidence) = (other.longest, other.evidence);
            (self.rule, self.doubt) = (other.rule, other.doubt);
        }
        self.window = both(self.window, other.window);
        self.span += other.span;
        self.times = self.times.saturating_add(other.times);
        self.keep_doubt_if_any();
    }

    /// What is sure has no rival.
    pub(super) fn keep_doubt_if_any(&mut self) {
        if self.confidence == Confidence::High {
            (self.rival, self.doubt) = (None, None);
        }
    }
}

/// The windows of two pieces.
pub(super) fn both(one: Option<H2Window>, other: Option<H2Window>) -> Option<H2Window> {
    one.zip(other).map(|(one, other)| one.and(other)).or(one).or(other)
}

/// A verdict on some time of an exchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// Why it did not go on.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// Which packets show it.
    pub evidence: Evidence,
    /// How sure it is.
    pub confidence: Confidence,
    /// What else the packets admit: then it is not sure.
    pub rival: Option<Cause>,
    /// If it is a loss, what is known of it.
    pub kind: Option<LossKind>,
    /// If it is HTTP/2's flow control, which windows held data.
    pub window: Option<H2Window>,
    /// That so much time is owed to it is as sure as that. But when it was is less sure: it may have been the time
    /// of this cause instead, and the other way round.
    pub swapped: Option<Cause>,
    /// Which rule decided.
    pub rule: Rule,
    /// Which doubt limits its confidence first, if one does.
    pub doubt: Option<Rule>,
}

impl Verdict {
    /// That by `rule` the time is owed to `cause`, and nothing else is known.
    #[must_use]
    pub const fn new(
        rule: Rule,
        cause: Cause,
        direction: Direction,
        evidence: Evidence,
        confidence: Confidence,
    ) -> Self {
        let (rival, kind, window, swapped, doubt) = (None, None, None, None, None);
        Self { cause, direction, evidence, confidence, rival, kind, window, swapped, rule, doubt }
    }

    /// The same, where the packets admit `rival` as well.
    #[must_use]
    pub fn or(self, rival: Cause) -> Self {
        let confidence = self.confidence.min(Confidence::Medium);
        Self { confidence, rival: Some(rival), ..self }
    }

    /// The same, because of a doubt.
    #[must_use]
    pub fn doubted(self, doubt: Rule, rival: Cause) -> Self {
        Self { doubt: self.doubt.or(Some(doubt)), ..self.or(rival) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_has_an_order_and_names() {
        use Confidence::{High, Low, Medium};
        assert!(Low < Medium && Medium < High);
        assert_eq!([Low, Medium, High].map(Confidence::name), ["low", "medium", "high"]);
        assert_eq!(Confidence::default(), High);
    }

    #[test]
    fn shares_of_one_cause_are_added_up() {
        use Confidence::{High, Medium};
        let share = |millis, times, packet, confidence, rival| Share {
            cause: Cause::Unknown,
            direction: Direction::ToClient,
            span: Duration::from_millis(millis * u64::from(times)),
            times,
            longest: Duration::from_millis(millis),
            evidence: Evidence::of([packet, 0, 0]),
            confidence,
            rival,
            kind: None,
            window: None,
            rule: if packet == 7 { Rule::Written } else { Rule::Paced },
            doubt: None,
        };
        let (pacing, queueing) = (Some(Cause::Pacing), Some(Cause::Queueing));
        for (rivals, rival) in [
            ([None, None], None),
            ([pacing, None], pacing),
            ([None, queueing], queueing),
            ([pacing, queueing], queueing),
        ] {
            let (one, other) = (share(5, 2, 7, High, rivals[0]), share(6, 1, 8, Medium, rivals[1]));
            for (mut sum, other) in [(one, other), (other, one)] {
                sum.add(&other);
                assert_eq!(sum.rival, rival, "{rivals:?}: that of the longest which has one");
            }
        }
        let (one, other) = (share(5, 2, 7, High, None), share(6, 1, 8, Medium, None));
        for (mut sum, other) in [(one, other), (other, one)] {
            sum.add(&other);
            assert_eq!((sum.span.as_millis(), sum.times), (16, 3));
            assert_eq!((sum.longest.as_millis(), sum.confidence), (6, Medium));
            assert_eq!(sum.evidence.packets().collect::<Vec<_>>(), [8]);
            assert_eq!(sum.rule, Rule::Paced, "that of the longest");
        }
    }

    #[test]
    fn evidence_skips_what_is_no_packet() {
        let evidence = Evidence::of([7, 0, 9]);
        assert_eq!(evidence.packets().collect::<Vec<_>>(), [7, 9]);
        assert_eq!(evidence.numbers(), [7, 0, 9]);
    }
}
