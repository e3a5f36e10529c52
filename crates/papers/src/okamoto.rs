//! Okamoto, Terai, Hasegawa, Murata, "A Resource/Connection Management Scheme for HTTP Proxy Servers",
//! 2001.
//!
//! The curves of the paper's two figures are not in its text, so nothing is compared with them. What the
//! text says of them are orderings, which hold or do not.
//!
//! | file | one idea |
//! | --- | --- |
//! | `sweep` | runs of the paper's simulation, and what is kept of them |
//! | `ratio` | pairs of runs with the same requests |
//! | `figures` | Figures 4 and 5 as tables |
//! | `exhibits` | runs beside the figures: the deadlock, two clients, policies, Linux |
//! | `claims` | what the paper says in words |
//! | `sensitivity` | which claims depend on which parameter |
//! | `drawings` | the figures as plots |

mod claims;
mod drawings;
mod exhibits;
mod figures;
pub(crate) mod ratio;
mod sensitivity;
pub(crate) mod sweep;

use super::{
    Effort, ReproduceError,
    paper::{Paper, PaperResults},
};
pub(super) use drawings::figures;
use exhibits::Exhibits;
pub use sensitivity::sensitivity;
use sweep::Sweep;

/// Everything that was run.
struct Runs {
    sweep: Sweep,
    exhibits: Exhibits,
}

/// Runs the paper's simulation and compares; with [`Effort::Quick`] three seeds instead of
/// ten, and one for what is shown beside the figures.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub fn reproduce(
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<PaperResults, ReproduceError> {
    progress("okamoto: Figures 4 and 5");
    let sweep = sweep::all(sweep::seeds(effort))?;
    let exhibits = Exhibits::run(effort, progress)?;
    let runs = Runs { sweep, exhibits };
    let claims = claims::all(&runs)?;
    let mut tables = figures::tables(&runs.sweep);
    tables.extend(runs.exhibits.into_tables());
    Ok(PaperResults { paper: Paper::Okamoto, tables, claims })
}
