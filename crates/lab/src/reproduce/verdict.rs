//! What decides a claim: a measured value, the bound that it must keep and where that is from, and a
//! control that could refute it. `docs/decisions/claims.md` has the rules.
//!
//! A [`Test`] cannot be made without a control, and a control that keeps the bound as well leaves the
//! claim undecided. There is no "at least": a tie fails.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::table::number;

/// One comparison that decides a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    measure: String,
    value: f64,
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
    /// As many as there are cases, of which there is at least one.
    EveryOf(u32),
    /// More than half of the cases.
    MostOf(u32),
}

impl Bound {
    fn admits(self, value: f64) -> bool {
        match self {
            Self::Above(bound) => value > bound,
            Self::Below(bound) => value < bound,
            Self::Near { value: claimed, tolerance } => (value - claimed).abs() <= tolerance,
            Self::EveryOf(cases) => cases > 0 && value >= f64::from(cases),
            Self::MostOf(cases) => 2.0 * value > f64::from(cases),
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
            Self::EveryOf(cases) => write!(f, "all of {cases}"),
            Self::MostOf(cases) => write!(f, "more than half of {cases}"),
        }
    }
}

/// Where a bound is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The paper, at this place.
    Printed(&'static str),
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
            Self::Printed(place) => write!(f, "printed: {place}"),
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
        value: f64,
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
    /// The control keeps the bound as well, so that the test shows nothing.
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
            Control::TheBound => false,
        };
        match (self.bound.admits(self.value), control) {
            (false, _) => Outcome::Failed,
            (true, true) => Outcome::Undecided,
            (true, false) => Outcome::Passed,
        }
    }

    /// The values that it compares, by name.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (String, f64)> {
        let other = match (self.source, self.bound) {
            (Source::Run(name), Bound::Above(value) | Bound::Below(value)) => {
                Some((self.named(name), value))
            }
            _ => None,
        };
        std::iter::once((self.named(&self.measure), self.value)).chain(other)
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
        write!(f, "{outcome}: {measure} {} must be {bound}", number(*value))?;
        if *source != Source::Cases {
            write!(f, " ({source})")?;
        }
        match control {
            Control::Case { what, value } => write!(f, "; control, {what}: {}", number(*value)),
            Control::TheBound => Ok(()),
        }
    }
}

/// A [`Test`] in JSON.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Test")]
pub(super) struct TestKeys<'a> {
    /// What was measured; its unit is the last part of the name.
    measure: String,
    /// The measured value.
    value: f64,
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
            Control::Case { what, value } => (Some(*what), Some(*value)),
            Control::TheBound => (None, None),
        };
        TestKeys {
            measure,
            value: *value,
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
pub(super) fn measured(measure: impl Into<String>, value: f64) -> Measured {
    Measured { measure: measure.into(), value }
}

/// Begins a test with the number of cases in which something was so.
pub(super) fn cases(measure: impl Into<String>, so: u32, of: u32) -> Cases {
    Cases { measure: measure.into(), so, of }
}

/// A measured value that needs a bound.
pub(super) struct Measured {
    measure: String,
    value: f64,
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

    /// Larger than in another of our runs.
    pub(super) fn above_run(self, case: &'static str, value: f64) -> Test {
        self.above(value, Source::Run(case)).against_the_bound()
    }

    /// Smaller than in another of our runs.
    pub(super) fn below_run(self, case: &'static str, value: f64) -> Test {
        self.below(value, Source::Run(case)).against_the_bound()
    }
}

impl Bounded {
    /// The same measure in a case that lacks what the claim is about.
    pub(super) fn control(self, what: &'static str, value: f64) -> Test {
        let Self { measured: Measured { measure, value: measured }, bound, source } = self;
        let control = Control::Case { what, value };
        Test { measure, value: measured, bound, source, control, definition: None }
    }

    fn against_the_bound(self) -> Test {
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
        Test {
            measure: self.measure,
            value: self.so.into(),
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
        ] {
            assert_eq!(test.outcome(), Outcome::Failed, "{test}");
        }
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
    fn all_tests_of_a_claim_must_pass() {
        let passed = || measured("a", 2.0).near(1.75, 0.5, OURS).control("none", 1.0);
        let undecided = || measured("a", 2.0).near(1.75, 0.5, OURS).control("none", 2.0);
        let failed = || cases("rows", 1, 3).most();
        assert_eq!(Outcome::of(&[passed(), cases("rows", 2, 3).most()]), Outcome::Passed);
        assert_eq!(Outcome::of(&[passed(), undecided()]), Outcome::Undecided);
        assert_eq!(Outcome::of(&[undecided(), failed()]), Outcome::Failed);
    }
}
