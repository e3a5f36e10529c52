//! What a paper says in words, and whether it holds here.

use serde::{Serialize, Serializer};

use super::table::Numbers;

/// A sentence of a paper, tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// A short name: the paper's and its own.
    pub id: &'static str,
    /// Where it stands.
    pub place: &'static str,
    /// What it says.
    pub text: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// What our runs gave.
    pub numbers: Numbers,
    /// How it was tried, or why it was not.
    pub remark: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// As the paper says.
    Yes,
    /// Not as the paper says.
    No,
    /// It cannot be tried with what is here.
    NotTestable,
}

impl Holds {
    /// In words, as the reports have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "holds",
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

/// `true`, `false`, or `null` for what cannot be tried.
impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_some(&true),
            Self::No => serializer.serialize_some(&false),
            Self::NotTestable => serializer.serialize_none(),
        }
    }
}

/// What a paper says, and where.
pub(super) struct Said {
    pub(super) id: &'static str,
    pub(super) place: &'static str,
    pub(super) text: &'static str,
}

impl Said {
    pub(super) fn tried(
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

    pub(super) fn untried(self, why: impl Into<String>) -> Claim {
        self.tried(Holds::NotTestable, &[], why)
    }
}
