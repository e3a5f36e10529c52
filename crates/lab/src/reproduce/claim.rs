//! What a paper says in words, and whether it holds here.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::table::Numbers;

/// A sentence of a paper, tested.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct Claim {
    /// A short name: the paper's and its own.
    pub id: &'static str,
    /// Where it stands.
    pub place: &'static str,
    /// What it says.
    pub text: &'static str,
    /// Whether it holds.
    #[schemars(with = "HoldsKeys")]
    #[serde(flatten)]
    pub holds: Holds,
    /// What our runs gave.
    pub numbers: Numbers,
    /// How it was tested, or why it was not.
    pub remark: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// As the paper says.
    Yes,
    /// A rate can be a mean over pages, or a ratio of sums; only the mean says so.
    ByMean,
    /// Only the ratio of sums says so.
    BySum,
    /// Not as the paper says.
    No,
    /// It cannot be tested with the simulator.
    NotTestable,
}

impl Holds {
    /// In words, as the reports have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::ByMean => "holds by rate_mean only",
            Self::BySum => "holds by rate_sum only",
            Self::No => "does not hold",
            Self::NotTestable => "not testable here",
        }
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// By the mean, and by the ratio of sums.
impl From<[bool; 2]> for Holds {
    fn from(holds: [bool; 2]) -> Self {
        match holds {
            [true, true] => Self::Yes,
            [true, false] => Self::ByMean,
            [false, true] => Self::BySum,
            [false, false] => Self::No,
        }
    }
}

/// [`Holds`] in JSON.
#[derive(JsonSchema, Serialize)]
struct HoldsKeys {
    /// Whether the claim holds; null if it cannot be tried.
    holds: Option<bool>,
    /// The one definition of a rate by which it holds, if it does not by the other.
    only_by: Option<&'static str>,
}

impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (holds, only_by) = match self {
            Self::Yes => (Some(true), None),
            Self::ByMean => (Some(true), Some("rate_mean")),
            Self::BySum => (Some(true), Some("rate_sum")),
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
    pub(super) fn tested(
        self,
        holds: impl Into<Holds>,
        numbers: &[(&str, f64)],
        remark: impl Into<String>,
    ) -> Claim {
        let Self { id, place, text } = self;
        let numbers: Numbers =
            numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Claim { id, place, text, holds: holds.into(), numbers, remark: remark.into() }
    }

    pub(super) fn untested(self, why: impl Into<String>) -> Claim {
        self.tested(Holds::NotTestable, &[], why)
    }
}
