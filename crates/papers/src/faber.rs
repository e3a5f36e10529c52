//! Faber, Touch and Yue, "Avoiding the TCP TIME_WAIT state at Busy Servers", 1997.
//!
//! | file | one idea |
//! | --- | --- |
//! | `table_1` | bulk throughput against entries in TIME-WAIT |
//! | `webstone` | Tables 2 and 3: a closed loop of clients |
//! | `studies` | the paper's arguments as experiments |
//! | `drawings` | Table 1 as a plot |
//! | `claims` | what the paper says in words |
//! | `measures` | what is read off a run |

mod claims;
mod drawings;
mod measures;
mod studies;
mod table_1;
mod webstone;

use super::{
    Effort, ReproduceError,
    paper::{Paper, PaperResults},
};
pub(super) use drawings::figures;
use studies::Studies;

/// Everything that was run.
struct Runs {
    table_1: table_1::Results,
    large: webstone::Results,
    small: webstone::Results,
    /// Not with [`Effort::Quick`].
    studies: Option<Studies>,
}

/// Runs the paper's experiments and compares; with [`Effort::Quick`] the three tables and
/// what can be said of them.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub(crate) fn reproduce(
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<PaperResults, ReproduceError> {
    progress("faber: Table 1");
    let table_1 = table_1::run()?;
    progress("faber: Table 2");
    let large = webstone::large_files()?;
    progress("faber: Table 3");
    let small = webstone::small_files()?;
    let studies = match effort {
        Effort::Quick => None,
        Effort::Full => {
            progress("faber: arguments");
            Some(Studies::run()?)
        }
    };
    let runs = Runs { table_1, large, small, studies };
    let claims = claims::all(&runs)?;
    let Runs { table_1, large, small, studies } = runs;
    let mut tables = vec![table_1.table, large.table, small.table];
    tables.extend(studies.into_iter().flat_map(Studies::into_tables));
    Ok(PaperResults { paper: Paper::Faber, tables, claims })
}
