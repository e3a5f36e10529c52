//! What decides a claim: a measured value, the bound that it must keep and where that is from, and a
//! control that could refute it. `docs/figures/claims.md` has the rules.
//!
//! A [`Test`] cannot be made without a control, and a control that keeps the bound as well leaves the
//! claim undecided. So does a measured interval that reaches across the bound. There is no "at least": a
//! tie fails.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    interval::{Interval, LITTLE, Lies},
    published::sentence,
    table::number,
};

/// One comparison that decides a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    measure: String,
    value: Interval,
    bound: Bound,
    source: Source,
    control: Control,
    /// Which of two definitions of the rate it is about.
    definition: Option<&'static str>,
}

/// What a measured value must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Larger: a tie fails.
    Above(f64),
    /// Smaller: a tie fails.
    Below(f64),
    /// As large as `value`, give or take `tolerance`.
    Near {
        /// What is claimed.
        value: f64,
        /// How far off is near enough.
        tolerance: f64,
    },
    /// A ratio to another case: above 1. An interval within 5 % of 1 (our choice) that contains 1 is a tie.
    MoreThanTheOther,
    /// A ratio to another case: below 1; ties as above.
    LessThanTheOther,
    /// As many as there are cases, of which there is at least one.
    EveryOf(u32),
    /// More than half of the cases.
    MostOf(u32),
}

impl Bound {
    fn admits(self, value: Interval) -> Lies {
        match self {
            Self::Above(bound) => value.above(bound),
            Self::Below(bound) => value.below(bound),
            Self::Near { value: claimed, tolerance } => value.near(claimed, tolerance),
            Self::MoreThanTheOther => value.more_than_the_other(),
            Self::LessThanTheOther => value.less_than_the_other(),
            Self::EveryOf(0) => Lies::Without,
            Self::EveryOf(cases) => value.above(f64::from(cases) - 0.5),
            Self::MostOf(cases) => value.above(f64::from(cases) / 2.0),
        }
    }
}

/// As in "ratio 26 above 10".
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Above(bound) => write!(f, "above {}", number(bound)),
            Self::Below(bound) => write!(f, "below {}", number(bound)),
            Self::Near { value, tolerance } => {
                write!(f, "within {} ± {}", number(value), number(tolerance))
            }
            Self::MoreThanTheOther | Self::LessThanTheOther => {
                let side = if self == &Self::MoreThanTheOther { "above" } else { "below" };
                write!(f, "{side} 1, ± {:.0} % with 1 in it is a tie", LITTLE * 100.0)
            }
            Self::EveryOf(cases) => write!(f, "all of {cases}"),
            Self::MostOf(cases) => write!(f, "more than half of {cases}"),
        }
    }
}

/// Where a bound is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The paper.
    Printed {
        /// Where.
        place: &'static str,
        /// How far off we allow, in words; empty if the bound is what is printed.
        allowed: &'static str,
    },
    /// Our choice, for this reason.
    Ours(&'static str),
    /// The same measure in another of our runs.
    Run(&'static str),
    /// The number of cases.
    Cases,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Printed { place, allowed: "" } => write!(f, "printed: {place}"),
            Self::Printed { place, allowed } => write!(f, "printed: {place}; {allowed}"),
            Self::Ours(reason) => write!(f, "our choice: {reason}"),
            Self::Run(case) => write!(f, "our run: {case}"),
            Self::Cases => f.write_str("one for each case"),
        }
    }
}

/// What could refute the claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// The same measure in a case that lacks what the claim is about. It must not keep the bound.
    Case {
        /// Which case.
        what: &'static str,
        /// What was measured there.
        value: Interval,
    },
    /// The bound is the other case: had it measured as much or more, the claim would have failed.
    TheBound,
}

/// What a test says.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The value keeps the bound, and the control does not.
    Passed,
    /// The value does not keep the bound.
    Failed,
    /// The control keeps the bound as well, so that the test shows nothing; or an interval reaches across
    /// the bound.
    Undecided,
}

impl Outcome {
    /// Of several tests, which a claim must all pass.
    #[must_use]
    pub fn of(tests: &[Test]) -> Self {
        assert!(!tests.is_empty(), "a verdict needs a test");
        let any = |outcome| tests.iter().any(|test| test.outcome() == outcome);
        match () {
            () if any(Self::Failed) => Self::Failed,
            () if any(Self::Undecided) => Self::Undecided,
            () => Self::Passed,
        }
    }
}

impl Test {
    /// What it says.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let control = match self.control {
            Control::Case { value, .. } => self.bound.admits(value),
            Control::TheBound => Lies::Without,
        };
        match (self.bound.admits(self.value), control) {
            (Lies::Without, _) => Outcome::Failed,
            (Lies::Within, Lies::Without) => Outcome::Passed,
            _ => Outcome::Undecided,
        }
    }

    /// The values that it compares, by name; of an interval its ends as well.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (String, f64)> {
        let other = match (self.source, self.bound) {
            (Source::Run(name), Bound::Above(value) | Bound::Below(value)) => {
                Some((self.named(name), value))
            }
            _ => None,
        };
        let Interval { mean, low, high } = self.value;
        let ends = [("_low", low), ("_high", high)].into_iter();
        let ends = ends.filter(|(_, end)| !self.value.is_exact() && end.is_finite());
        let ends =
            ends.map(|(suffix, end)| (self.named(&format!("{}{suffix}", self.measure)), end));
        std::iter::once((self.named(&self.measure), mean)).chain(ends).chain(other)
    }

    /// The same for one of two definitions of the rate.
    pub(super) fn by(self, definition: &'static str) -> Self {
        Self { definition: Some(definition), ..self }
    }

    fn named(&self, measure: &str) -> String {
        match self.definition {
            Some(definition) => format!("{measure}_by_{definition}"),
            None => measure.to_owned(),
        }
    }
}

/// As reports have it: "passed: ratio 26 above 10 (printed: section 1); control, both fixes: 0.95".
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, value, bound, source, control, definition: _ } = self;
        let measure = self.named(measure);
        let outcome = match self.outcome() {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::Undecided => "undecided",
        };
        write!(f, "{outcome}: {measure} {} must be {bound}", shown(*value))?;
        if *source != Source::Cases {
            write!(f, " ({source})")?;
        }
        match control {
            Control::Case { what, value } => write!(f, "; control, {what}: {}", shown(*value)),
            Control::TheBound => Ok(()),
        }
    }
}

/// A value, and its interval if it has one: "0.974 (0.923 to 1.025)".
fn shown(value: Interval) -> String {
    let Interval { mean, low, high } = value;
    match (value.is_exact(), low.is_finite()) {
        (true, _) => number(mean),
        (false, true) => format!("{} ({} to {})", number(mean), number(low), number(high)),
        (false, false) => format!("{} (one run)", number(mean)),
    }
}

/// A [`Test`] in JSON.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Test")]
pub(super) struct TestKeys<'a> {
    /// What was measured; its unit is the last part of the name.
    measure: String,
    /// The measured value; of an interval the mean.
    value: f64,
    /// The ends of the measured value's 95 % interval; null if it has none.
    interval: Option<[f64; 2]>,
    /// What it must be, in words.
    must_be: String,
    /// Where the bound is from: printed, our choice, another run, or the number of cases.
    source: String,
    /// The case that lacks what the claim is about; null if the bound is that case.
    control: Option<&'a str>,
    /// The same measure in that case, which must not keep the bound.
    control_value: Option<f64>,
    /// What the test says.
    outcome: Outcome,
}

impl Serialize for Test {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { measure, value, bound, source, control, definition: _ } = self;
        let measure = self.named(measure);
        let (control, control_value) = match control {
            Control::Case { what, value } => (Some(*what), Some(value.mean)),
            Control::TheBound => (None, None),
        };
        TestKeys {
            measure,
            value: value.mean,
            interval: (!value.is_exact() && value.low.is_finite())
                .then_some([value.low, value.high]),
            must_be: bound.to_string(),
            source: source.to_string(),
            control,
            control_value,
            outcome: self.outcome(),
        }
        .serialize(serializer)
    }
}

/// Begins a test with what was measured; the last part of the name is the unit.
pub(super) fn measured(measure: impl Into<String>, value: impl Into<Interval>) -> Measured {
    Measured { measure: measure.into(), value: value.into() }
}

/// Begins a test with the number of cases in which something was so.
pub(super) fn cases(measure: impl Into<String>, so: u32, of: u32) -> Cases {
    Cases { measure: measure.into(), so, tied: 0, of }
}

/// Begins a test of a sentence by the paper's own values: in how many rows the first is above the second. Where it is
/// less by at most 5 %, they tie.
pub(super) fn printed_above(
    measure: impl Into<String>,
    rows: impl IntoIterator<Item = [f64; 2]>,
) -> Cases {
    let mut counted = cases(measure, 0, 0);
    for [more, less] in rows {
        counted.of += 1;
        counted.so += u32::from(more > less);
        counted.tied += u32::from(more <= less && more >= less * (1.0 - LITTLE));
    }
    counted
}

/// A measured value that needs a bound.
pub(super) struct Measured {
    measure: String,
    value: Interval,
}

/// A measured value and its bound, which need a control.
pub(super) struct Bounded {
    measured: Measured,
    bound: Bound,
    source: Source,
}

/// A count of cases, each of which has its own control.
pub(super) struct Cases {
    measure: String,
    so: u32,
    /// How many of the others tie.
    tied: u32,
    of: u32,
}

impl Measured {
    pub(super) fn above(self, bound: f64, source: Source) -> Bounded {
        Bounded { measured: self, bound: Bound::Above(bound), source }
    }

    pub(super) fn below(self, bound: f64, source: Source) -> Bounded {
        Bounded { measured: self, bound: Bound::Below(bound), source }
    }

    pub(super) fn near(self, value: f64, tolerance: f64, source: Source) -> Bounded {
        Bounded { measured: self, bound: Bound::Near { value, tolerance }, source }
    }

    /// As large as the sentence that `claim` quotes says, give or take `tolerance`, in words `allowed`.
    pub(super) fn near_printed(
        self,
        claim: &str,
        tolerance: f64,
        allowed: &'static str,
    ) -> Bounded {
        let (number, place) = sentence(claim, &self.measure);
        self.near(number, tolerance, Source::Printed { place, allowed })
    }

    /// Larger than the sentence that `claim` quotes says, and `more`.
    pub(super) fn above_printed(self, claim: &str, more: f64) -> Bounded {
        let (number, place) = sentence(claim, &self.measure);
        self.above(number + more, Source::Printed { place, allowed: "" })
    }

    /// Smaller than the sentence that `claim` quotes says, and `more`, in words `allowed`.
    pub(super) fn below_printed(self, claim: &str, more: f64, allowed: &'static str) -> Bounded {
        let (number, place) = sentence(claim, &self.measure);
        self.below(number + more, Source::Printed { place, allowed })
    }

    /// Larger than in another of our runs.
    pub(super) fn above_run(self, case: &'static str, value: f64) -> Test {
        self.above(value, Source::Run(case)).against_the_bound()
    }

    /// Smaller than in another of our runs.
    pub(super) fn below_run(self, case: &'static str, value: f64) -> Test {
        self.below(value, Source::Run(case)).against_the_bound()
    }

    /// A ratio to another of our runs: more than that.
    pub(super) fn more_than(self, other: &'static str) -> Test {
        let bound = Bound::MoreThanTheOther;
        Bounded { measured: self, bound, source: Source::Run(other) }.against_the_bound()
    }

    /// A ratio to another of our runs: less than that.
    pub(super) fn less_than(self, other: &'static str) -> Bounded {
        Bounded { measured: self, bound: Bound::LessThanTheOther, source: Source::Run(other) }
    }

    /// A ratio whose difference from 1 is little: within 5 %.
    pub(super) fn little(self) -> Bounded {
        self.near(1.0, LITTLE, Source::Ours("little: 5 %"))
    }
}

impl Bounded {
    /// The same measure in a case that lacks what the claim is about.
    pub(super) fn control(self, what: &'static str, value: impl Into<Interval>) -> Test {
        let Self { measured: Measured { measure, value: measured }, bound, source } = self;
        let control = Control::Case { what, value: value.into() };
        Test { measure, value: measured, bound, source, control, definition: None }
    }

    /// The bound is another run, which is the control.
    pub(super) fn against_the_bound(self) -> Test {
        let Self { measured: Measured { measure, value }, bound, source } = self;
        Test { measure, value, bound, source, control: Control::TheBound, definition: None }
    }
}

impl Cases {
    /// In each of them.
    pub(super) fn every(self) -> Test {
        let bound = Bound::EveryOf(self.of);
        self.judged(bound)
    }

    /// In more than half of them.
    pub(super) fn most(self) -> Test {
        let bound = Bound::MostOf(self.of);
        self.judged(bound)
    }

    fn judged(self, bound: Bound) -> Test {
        let [so, most] = [self.so, self.so + self.tied].map(f64::from);
        Test {
            measure: self.measure,
            value: Interval { mean: so, low: so, high: most },
            bound,
            source: Source::Cases,
            control: Control::TheBound,
            definition: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Source = Source::Ours("a test");

    #[test]
    fn a_tie_fails() {
        for test in [
            measured("a", 2.0).above(2.0, OURS).control("none", 1.0),
            measured("a", 2.0).below(2.0, OURS).control("none", 3.0),
            measured("a", 2.0).above_run("other", 2.0),
            measured("a", 2.0).below_run("other", 2.0),
            cases("rows", 2, 4).most(),
            cases("rows", 3, 4).every(),
            cases("rows", 0, 0).every(),
            printed_above("rows", [[2.0, 1.0], [0.96, 1.0], [0.94, 1.0]]).every(),
        ] {
            assert_eq!(test.outcome(), Outcome::Failed, "{test}");
        }
    }

    #[test]
    fn cases_that_tie_leave_it_undecided_if_they_could_decide() {
        let rows = |more: [f64; 4]| printed_above("rows", more.map(|it| [it, 1.0]));
        let (so, tied, not) = (1.1, 0.96, 0.9);
        for (test, outcome) in [
            (rows([so, so, so, tied]).every(), Outcome::Undecided),
            (rows([so, so, tied, not]).most(), Outcome::Undecided),
            (rows([so, so, so, tied]).most(), Outcome::Passed),
            (rows([so, tied, not, not]).most(), Outcome::Failed),
        ] {
            assert_eq!(test.outcome(), outcome, "{test}");
        }
        let text = rows([so, so, so, tied]).every().to_string();
        assert_eq!(text, "undecided: rows 3 (3 to 4) must be all of 4");
    }

    #[test]
    fn a_control_that_passes_too_leaves_it_undecided() {
        let test = measured("stall_ms", 192.4).below(200.0, OURS).control("without", 192.6);
        assert_eq!(test.outcome(), Outcome::Undecided);
        let text = "undecided: stall_ms 192.4 must be below 200 (our choice: a test); control, \
                    without: 192.6";
        assert_eq!(test.to_string(), text);
    }

    #[test]
    fn an_interval_across_the_bound_leaves_it_undecided() {
        let interval = |low, mean, high| Interval { mean, low, high };
        let tests = |value: Interval| {
            let ratio = || measured("ratio", value);
            [
                ratio().above(1.0, OURS).control("same", 1.0),
                ratio().more_than("other"),
                ratio().little().control("another scheme", 2.0),
            ]
            .map(|test| test.outcome())
        };
        use Outcome::{Failed, Passed, Undecided};
        assert_eq!(tests(interval(1.1, 1.2, 1.3)), [Passed, Passed, Failed]);
        assert_eq!(tests(interval(0.9, 1.0, 1.1)), [Undecided; 3]);
        assert_eq!(tests(interval(0.99, 1.0, 1.01)), [Undecided, Failed, Passed]);
        let open = measured("a", 2.0).above(1.0, OURS).control("open", interval(0.9, 1.0, 1.1));
        assert_eq!(open.outcome(), Undecided, "a control that may keep the bound");
        let names: Vec<_> = tests_of(interval(0.9, 1.0, 1.1)).numbers().collect();
        assert_eq!(
            names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["a", "a_low", "a_high"]
        );
        let text = "undecided: a 1 (0.9 to 1.100) must be above 1, ± 5 % with 1 in it is a tie (our run: \
                    other)";
        assert_eq!(tests_of(interval(0.9, 1.0, 1.1)).to_string(), text);
    }

    fn tests_of(value: Interval) -> Test {
        measured("a", value).more_than("other")
    }

    #[test]
    fn all_tests_of_a_claim_must_pass() {
        let passed = || measured("a", 2.0).near(1.75, 0.5, OURS).control("none", 1.0);
        let undecided = || measured("a", 2.0).near(1.75, 0.5, OURS).control("none", 2.0);
        let failed = || cases("rows", 1, 3).most();
        assert_eq!(Outcome::of(&[passed(), cases("rows", 2, 3).most()]), Outcome::Passed);
        assert_eq!(Outcome::of(&[passed(), undecided()]), Outcome::Undecided);
        assert_eq!(Outcome::of(&[undecided(), failed()]), Outcome::Failed);
    }
}
