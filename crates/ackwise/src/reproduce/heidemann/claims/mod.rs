//! What the papers say in words, section by section.

mod final_segment;
mod framework;
mod initial_segment;
mod other;
mod restart;

use super::Runs;
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Holds},
    table::Numbers,
};

/// All claims, in the order of the papers.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = framework::claims(runs)?;
    claims.extend(initial_segment::claims(runs)?);
    claims.extend(final_segment::claims(runs)?);
    claims.extend(restart::claims(runs)?);
    claims.extend(other::claims(runs)?);
    Ok(claims)
}

/// What a paper says, and where.
struct Said {
    id: &'static str,
    place: &'static str,
    text: &'static str,
}

impl Said {
    fn tried(
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

    fn untried(self, why: impl Into<String>) -> Claim {
        self.tried(Holds::NotTestable, &[], why)
    }
}
