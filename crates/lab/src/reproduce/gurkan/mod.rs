//! Gürkan, "A Simulation Study on HTTP Performance Analysis in Terms of Its Interaction with TCP",
//! M.S. thesis, Bilkent University, 1998.
//!
//! | file | one idea |
//! | --- | --- |
//! | `plan` | how the files of a page travel, and how many clients there are |
//! | `sweep` | runs the thesis' cases, each with several seeds |
//! | `tables` | Tables 4.2, 4.4, 4.6 and 4.8, and the plans that the thesis does not run |
//! | `windows` | Tables 4.9 and 4.10, and larger initial windows |
//! | `medians` | how near the tables are |
//! | `samples` | Tables 4.1, 4.3, 4.5 and 4.7: one client's requests |
//! | `drawings` | Figures 4.2 to 4.13 |
//! | `claims` | what the thesis says in words |

mod claims;
mod drawings;
mod medians;
mod plan;
mod samples;
mod sweep;
mod tables;
mod windows;

use super::{
    Effort, ReproduceError,
    paper::{Paper, PaperResults},
};
pub(super) use drawings::figures;
pub(super) use medians::headline;
use plan::{Load, Plan};
use sweep::{Sweep, Wanted};

/// Everything that was run.
struct Runs {
    /// Initial window 1: everything.
    usual: Sweep,
    /// Initial windows 2 and 3, as Tables 4.9 and 4.10.
    larger: [Sweep; 2],
    /// Initial windows 4 to 10, at a few loads.
    largest: Vec<Sweep>,
    /// Half and three quarters of the files in the client's cache, at one load.
    cached: [Sweep; 2],
    /// With other values for what was fitted, and what these are.
    refitted: Vec<(&'static str, Sweep)>,
}

/// Runs the thesis' experiments and compares. A quick one runs only what has a limit, with three
/// seeds.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub fn reproduce(
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<PaperResults, ReproduceError> {
    let judged = |plan: Plan, load: Load| Plan::PRINTED.contains(&plan) && load.is_judged();
    let few = |plan: Plan, load: Load| Plan::PRINTED.contains(&plan) && load.is_example();
    let mut run = |window, wanted: Wanted| {
        progress(&format!("gurkan: initial window {window}"));
        sweep::run(window, wanted, effort)
    };
    let usual = if effort == Effort::Quick { run(1, &judged)? } else { run(1, &|_, _| true)? };
    let larger = [run(2, &judged)?, run(3, &judged)?];
    let mut tables = vec![medians::table(&usual, &larger)?];
    for plan in Plan::PRINTED {
        tables.push(tables::printed(plan, &usual)?);
    }
    tables.extend(windows::printed(&usual, &larger)?);
    if effort == Effort::Quick {
        return Ok(PaperResults { paper: Paper::Gurkan, tables, claims: Vec::new() });
    }
    let largest = (4..=10).map(|window| run(window, &few)).collect::<Result<_, _>>()?;
    progress("gurkan: caches");
    let cached = |share| {
        let light = |plan, load| CACHED.contains(&plan) && load == Load { web: 8, ftp: 0 };
        sweep::run_with(&format!("application.web.cached=\"{share} %\""), &light)
    };
    let cached = [cached(50)?, cached(75)?];
    progress("gurkan: other values for what was fitted");
    let refitted = vec![
        (RFC_2415, sweep::run_with("tcp.receive_buffer=\"11 segments\"", &is_refitted)?),
        (CAPPED, sweep::run_with_sizes(15_000, &is_refitted)?),
    ];
    let runs = Runs { usual, larger, largest, cached, refitted };
    tables.push(windows::largest(&runs)?);
    tables.push(tables::ours(&runs.usual)?);
    tables.extend(samples::tables()?);
    let claims = claims::all(&runs)?;
    Ok(PaperResults { paper: Paper::Gurkan, tables, claims })
}

fn is_refitted(plan: Plan, _: Load) -> bool {
    Plan::PRINTED.contains(&plan) || plan == Plan::SerialThinkOnce
}

/// Plans that are run with a cache.
const CACHED: [Plan; 2] = [Plan::Pipelined, Plan::GetWeb];

/// Other values for what was fitted: the base of the thesis' model, and the cap that Table 4.5 shows.
const RFC_2415: &str = "a maximum window of 11 segments, as RFC 2415 has it";
const CAPPED: &str = "500 bytes instead of more than 15,000 in serial and parallel pages";
