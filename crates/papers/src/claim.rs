//! What a paper says in words, and whether it holds here.
//!
//! [`verdict`](super::verdict) is how a claim is judged.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    table::Numbers,
    verdict::{Outcome, Test, TestKeys},
};

/// A claim of a paper, and what decides it.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct Claim {
    /// A short name: the paper's and its own.
    pub id: &'static str,
    /// Where the paper states it.
    pub place: &'static str,
    /// The claim, as quoted.
    pub text: &'static str,
    /// Whether it holds.
    ///
    /// Private, so that no verdict is written but by a [`Statement`]'s tests.
    #[schemars(with = "HoldsKeys")]
    #[serde(flatten)]
    holds: Holds,
    /// What decides it; nothing if it cannot be tested.
    #[schemars(with = "Vec<TestKeys<'static>>")]
    pub tests: Vec<Test>,
    /// Measured values.
    pub numbers: Numbers,
    /// What else is to be known, or why the claim was not tested.
    pub remark: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// As the paper says.
    Yes,
    /// A rate can be a ratio of sums, which is the thesis' definition, or a mean over pages. By the
    /// thesis' definition the claim holds; by the mean it does not.
    BySumOnly,
    /// By the thesis' definition it does not hold; by the mean it does.
    ByMeanOnly,
    /// Not as the paper says.
    No,
    /// It cannot be decided with the simulator.
    NotTestable,
}

impl Holds {
    /// Each of them.
    pub const ALL: [Self; 5] =
        [Self::Yes, Self::BySumOnly, Self::No, Self::ByMeanOnly, Self::NotTestable];

    /// In words, as the reports have it: by the paper's own definition first.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::BySumOnly => "holds by rate_sum (the thesis' definition), not by rate_mean",
            Self::ByMeanOnly => {
                "does not hold by rate_sum (the thesis' definition), only by rate_mean"
            }
            Self::No => "does not hold",
            Self::NotTestable => "not decided here",
        }
    }
}

impl From<Outcome> for Holds {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Yes,
            Outcome::Failed => Self::No,
            Outcome::Undecided => Self::NotTestable,
        }
    }
}

/// By the ratio of sums, and by the mean.
impl From<[Outcome; 2]> for Holds {
    fn from([sum, mean]: [Outcome; 2]) -> Self {
        match (sum, mean) {
            (Outcome::Passed, Outcome::Passed) => Self::Yes,
            (Outcome::Passed, _) => Self::BySumOnly,
            (Outcome::Failed, Outcome::Passed) => Self::ByMeanOnly,
            (Outcome::Failed, _) => Self::No,
            (Outcome::Undecided, _) => Self::NotTestable,
        }
    }
}

/// [`Holds`] in JSON.
#[derive(JsonSchema, Serialize)]
struct HoldsKeys {
    /// Whether the claim holds, by the paper's own definition if there are two; null if it cannot be
    /// decided.
    holds: Option<bool>,
    /// The definition of a rate by which the claim holds, if it holds by one of two only: `rate_sum`, the
    /// thesis' own, if `holds` is true, `rate_mean` if it is false.
    only_by: Option<&'static str>,
}

impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (holds, only_by) = match self {
            Self::Yes => (Some(true), None),
            Self::BySumOnly => (Some(true), Some("rate_sum")),
            Self::ByMeanOnly => (Some(false), Some("rate_mean")),
            Self::No => (Some(false), None),
            Self::NotTestable => (None, None),
        };
        HoldsKeys { holds, only_by }.serialize(serializer)
    }
}

/// What a paper says, and where.
pub(super) struct Statement {
    pub(super) id: &'static str,
    pub(super) place: &'static str,
    pub(super) text: &'static str,
}

impl Statement {
    /// Holds if it passes all of these tests.
    pub(super) fn judged(
        self,
        tests: impl IntoIterator<Item = Test>,
        remark: impl Into<String>,
    ) -> Claim {
        let tests: Vec<_> = tests.into_iter().collect();
        let holds = Outcome::of(&tests).into();
        self.claim(holds, tests, remark.into())
    }

    /// About rates: tests by the ratio of sums, which is the thesis' definition, and by the mean.
    pub(super) fn judged_by_rates(
        self,
        [sum, mean]: [Vec<Test>; 2],
        remark: impl Into<String>,
    ) -> Claim {
        let holds = [Outcome::of(&sum), Outcome::of(&mean)].into();
        let sum = sum.into_iter().map(|test| test.by("sum"));
        let mean = mean.into_iter().map(|test| test.by("mean"));
        self.claim(holds, sum.chain(mean).collect(), remark.into())
    }

    /// What would decide it was fitted to the paper's own values, so that the agreement shows nothing.
    pub(super) fn fitted(self, fit: &str, remark: &str) -> Claim {
        let remark = format!("Rests on a fitted value: {fit}. {remark}");
        self.claim(Holds::NotTestable, Vec::new(), remark.trim_end().to_owned())
    }

    /// Cannot be tested here.
    pub(super) fn untested(self, why: impl Into<String>) -> Claim {
        self.claim(Holds::NotTestable, Vec::new(), why.into())
    }

    fn claim(self, holds: Holds, tests: Vec<Test>, remark: String) -> Claim {
        let Self { id, place, text } = self;
        let numbers = tests.iter().flat_map(Test::numbers).collect();
        Claim { id, place, text, holds, tests, numbers, remark }
    }
}

impl Claim {
    /// Judged by the paper's own tables as well: a sentence that they contradict does not hold, and one that they may
    /// contradict is not decided, whatever our runs say.
    pub(super) fn and_as_printed(mut self, printed: Test) -> Self {
        match printed.outcome() {
            Outcome::Failed => self.holds = Holds::No,
            Outcome::Undecided if matches!(self.holds, Holds::Yes | Holds::BySumOnly) => {
                self.holds = Holds::NotTestable;
            }
            Outcome::Undecided | Outcome::Passed => {}
        }
        self.numbers.extend(printed.numbers());
        self.tests.push(printed);
        self
    }

    /// With further numbers, which decide nothing.
    pub(super) fn showing(mut self, numbers: &[(&str, f64)]) -> Self {
        let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value));
        self.numbers.extend(numbers);
        self
    }

    /// Compares with the verdict under another value of what was fitted. If that is another one, the
    /// claim rests on the fit.
    pub(super) fn compare_with(&mut self, other: &str, refitted: &Self) {
        self.rests_on("a fitted value: as fitted", other, refitted);
    }

    /// Compares with the verdict where no event falls on the same instant as another. If that is another
    /// one, it is the order of such events that decides, and nothing that the paper says.
    pub(super) fn compare_without_the_tie(&mut self, other: &str, untied: &Self) {
        self.rests_on("a tie of two events: as we order them", other, untied);
    }

    fn rests_on(&mut self, what: &str, other: &str, changed: &Self) {
        if self.holds == Holds::NotTestable || self.holds == changed.holds {
            return;
        }
        let (here, there) = (self.holds.as_str(), changed.holds.as_str());
        let why = format!("Rests on {what} it {here}; with {other} it {there}.");
        self.remark = format!("{why} {}", self.remark);
        self.holds = Holds::NotTestable;
    }

    /// Whether it holds.
    #[must_use]
    pub const fn holds(&self) -> Holds {
        self.holds
    }

    /// How it was tested, in words: the tests, then the remark.
    #[must_use]
    pub fn how(&self) -> String {
        let tests = self.tests.iter().map(|test| format!("{test}. "));
        tests.chain([self.remark.clone()]).collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{measured, printed_above};

    #[test]
    fn a_sentence_that_the_papers_own_tables_contradict_does_not_hold() {
        let rows = |more: [f64; 2]| printed_above("rows", more.map(|it| [it, 1.0])).every();
        for (ours, printed, holds) in [
            (2.0, rows([1.1, 1.1]), Holds::Yes),
            (2.0, rows([1.1, 0.96]), Holds::NotTestable),
            (2.0, rows([0.9, 0.96]), Holds::No),
            (0.5, rows([1.1, 1.1]), Holds::No),
            (0.5, rows([1.1, 0.96]), Holds::No),
        ] {
            let statement = Statement { id: "a", place: "b", text: "c" };
            let claim = statement.judged([measured("ratio", ours).above_run("other", 1.0)], "");
            assert_eq!(claim.and_as_printed(printed).holds(), holds);
        }
    }

    #[test]
    fn the_thesis_definition_comes_first() {
        let said = || Statement { id: "a", place: "b", text: "c" };
        let faster = |rate| vec![measured("rate", rate).above_run("other_rate", 10.0)];
        let judged = |sum, mean| said().judged_by_rates([faster(sum), faster(mean)], "").holds;
        assert_eq!(judged(11.0, 11.0), Holds::Yes);
        assert_eq!(judged(11.0, 9.0), Holds::BySumOnly);
        assert_eq!(judged(9.0, 11.0), Holds::ByMeanOnly);
        assert_eq!(judged(9.0, 9.0), Holds::No);
        let keys = serde_json::to_value(Holds::ByMeanOnly).unwrap();
        assert_eq!(keys, serde_json::json!({ "holds": false, "only_by": "rate_mean" }));
    }

    #[test]
    fn a_fitted_value_decides_nothing() {
        let said = Statement { id: "a", place: "b", text: "c" };
        let claim = said.fitted("6 ms on row 1", "").showing(&[("ratio", 14.0)]);
        assert_eq!((claim.holds, claim.tests.len()), (Holds::NotTestable, 0));
        assert_eq!(claim.how(), "Rests on a fitted value: 6 ms on row 1.");
    }

    #[test]
    fn a_verdict_that_another_fit_changes_is_none() {
        let above = |rate| {
            let said = Statement { id: "a", place: "b", text: "c" };
            said.judged([measured("rate", rate).above_run("other", 10.0)], "A remark.")
        };
        let mut claim = above(11.0);
        claim.compare_with("a window of 11", &above(12.0));
        assert_eq!(claim.holds, Holds::Yes);
        claim.compare_with("a window of 11", &above(9.0));
        assert_eq!(claim.holds, Holds::NotTestable);
        let said =
            "Rests on a fitted value: as fitted it holds; with a window of 11 it does not hold.";
        assert_eq!(claim.remark, format!("{said} A remark."));
    }
}
