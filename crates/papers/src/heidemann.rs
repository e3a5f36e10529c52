//! Heidemann, "Performance Interactions Between P-HTTP and TCP Implementations", 1996 and 1997.
//!
//! | file | one idea |
//! | --- | --- |
//! | `table_1` | the retrieval times, beside ours and the model's |
//! | `figures` | the packets of Figures 2 and 4 |
//! | `drawings` | Figures 1 to 4 |
//! | `wan` | Table 1's rows over wide-area paths, and the model there |
//! | `transports` | the model alone, by every transport |
//! | `pacing` | the window after an idle time: pacing and its alternatives |
//! | `studies` | experiments about claims |
//! | `claims` | what the papers say in words |

mod claims;
mod drawings;
mod figures;
mod pacing;
mod studies;
mod table_1;
mod transports;
mod wan;

use super::{
    ReproduceError,
    paper::{Paper, PaperResults},
};
pub(super) use drawings::figures;
use figures::Figures;
use studies::Studies;

/// Everything that was run.
struct Runs {
    table_1: table_1::Results,
    figures: Figures,
    wan: wan::Results,
    studies: Studies,
    pacing: pacing::Pacing,
}

/// Runs all of the papers' experiments and compares.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub(crate) fn reproduce(progress: &mut dyn FnMut(&str)) -> Result<PaperResults, ReproduceError> {
    progress("heidemann: Table 1");
    let table_1 = table_1::run()?;
    progress("heidemann: Figures 2 and 4");
    let figures = figures::run()?;
    progress("heidemann: wide-area paths");
    let wan = wan::run()?;
    progress("heidemann: claims");
    let studies = studies::run()?;
    progress("heidemann: pacing after an idle time");
    let runs = Runs { table_1, figures, wan, studies, pacing: pacing::run()? };
    let claims = claims::all(&runs)?;
    let Runs { table_1, figures, wan, studies, pacing } = runs;
    let mut tables = vec![table_1.table, figures.figure_2.table, figures.figure_4.table];
    tables.extend(studies.into_tables());
    tables.extend(pacing.into_tables());
    tables.extend([wan.table, wan.model, transports::table()]);
    Ok(PaperResults { paper: Paper::Heidemann, tables, claims })
}
