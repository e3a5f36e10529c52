//! What the papers say in words, section by section.

mod final_segment;
mod framework;
mod initial_segment;
mod other;
mod restart;

use super::Runs;
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
};

/// All claims, in the order of the papers.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = framework::claims(runs)?;
    claims.extend(initial_segment::claims(runs)?);
    claims.extend(final_segment::claims(runs)?);
    claims.extend(restart::claims(runs)?);
    claims.extend(super::pacing::claims(&runs.pacing)?);
    claims.extend(other::claims(runs)?);
    Ok(claims)
}
