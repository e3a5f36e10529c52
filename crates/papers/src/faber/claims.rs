//! What the paper says in words.

mod arguments;
mod tables;

use super::Runs;
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
};

/// All claims: those about the tables, and, if its studies were run, the paper's arguments.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = tables::claims(runs)?;
    if let Some(studies) = &runs.studies {
        claims.extend(arguments::claims(runs, studies)?);
    }
    Ok(claims)
}
