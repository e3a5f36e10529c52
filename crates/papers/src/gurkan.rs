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
//! | `drawings` | Figures 2.3 to 2.5 and 4.2 to 4.13 |
//! | `claims` | what the thesis says in words |

mod claims;
mod drawings;
mod medians;
mod plan;
mod samples;
mod sweep;
mod tables;
mod transaction;
mod windows;

use ackwise_lab::experiment::Experiment;

use super::{
    Effort, ReproduceError,
    paper::{Paper, PaperResults},
};
pub(super) use drawings::figures;
pub(super) use medians::headline;
use plan::{Load, Plan};
use sweep::{Sweep, TABLES, Wanted};
use transaction::Transaction;

/// Everything that was run.
struct Runs {
    base: Base,
    cached: Cached,
    /// Serial and pipelined over T/TCP, without FTP clients.
    transactions: Sweep,
    /// One transaction, packet by packet.
    transaction: Transaction,
    /// With other values for what was fitted, and what these are.
    refitted: Vec<(&'static str, Base)>,
}

/// With a share of the files in the client's cache, at one load.
struct Cached {
    /// Half, used without asking.
    half: Sweep,
    /// Three quarters, used without asking.
    most: Sweep,
    /// Three quarters, of which each is validated.
    most_validated: Sweep,
    /// All, of which each is validated.
    all_validated: Sweep,
}

/// All initial windows.
struct Base {
    /// Initial window 1: everything.
    usual: Sweep,
    /// Initial windows 2 and 3, as Tables 4.9 and 4.10.
    larger: [Sweep; 2],
    /// Initial windows 4 to 10, at a few loads.
    largest: Vec<Sweep>,
}

/// Runs the thesis' experiments and compares. A quick one runs only what has a limit, with three
/// seeds.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub(crate) fn reproduce(
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<PaperResults, ReproduceError> {
    let judged = |plan: Plan, load: Load| Plan::PRINTED.contains(&plan) && load.is_judged();
    let few = |plan: Plan, load: Load| Plan::PRINTED.contains(&plan) && load.is_example();
    let tables = Experiment::parse(TABLES.name, TABLES.text)?;
    let mut run = |window, wanted: Wanted| {
        progress(&format!("gurkan: initial window {window}"));
        sweep::run(&tables, window, wanted, effort)
    };
    let usual = if effort == Effort::Quick { run(1, &judged)? } else { run(1, &|_, _| true)? };
    let larger = [run(2, &judged)?, run(3, &judged)?];
    let mut compared = vec![medians::table(&usual, &larger)?];
    for plan in Plan::PRINTED {
        compared.push(tables::printed(plan, &usual)?);
    }
    compared.extend(windows::printed(&usual, &larger)?);
    if effort == Effort::Quick {
        return Ok(PaperResults { paper: Paper::Gurkan, tables: compared, claims: Vec::new() });
    }
    let largest = (4..=10).map(|window| run(window, &few)).collect::<Result<_, _>>()?;
    progress("gurkan: caches");
    let light = |plan, load| CACHED.contains(&plan) && load == Load { web: 8, ftp: 0 };
    let cached = |share, validation: &str| {
        let cached = format!("application.web.cached=\"{share} %\"");
        let validation = format!("application.web.validation={validation}");
        sweep::run(&tables.with_set(&cached)?.with_set(&validation)?, 1, &light, effort)
    };
    let cached = Cached {
        half: cached(50, "none")?,
        most: cached(75, "none")?,
        most_validated: cached(75, "conditional")?,
        all_validated: cached(100, "conditional")?,
    };
    progress("gurkan: T/TCP");
    let quiet = |plan, load: Load| {
        [Plan::Serial, Plan::Pipelined].contains(&plan) && load.ftp == 0 && load.web < 64
    };
    let transactions = sweep::run(&tables.with_set("tcp.open=transaction")?, 1, &quiet, effort)?;
    let other_window = tables.with_set("tcp.receive_buffer=\"11 segments\"")?;
    let other_sizes = sweep::with_sizes(15_000)?;
    let mut refitted = Vec::new();
    for (what, experiment) in [(RFC_2415, other_window), (CAPPED, other_sizes)] {
        progress(&format!("gurkan: {what}"));
        let run = |window, wanted: Wanted| sweep::run(&experiment, window, wanted, effort);
        let usual = run(1, &|plan, load| judged(plan, load) || is_claimed(plan, load))?;
        let larger = [run(2, &judged)?, run(3, &judged)?];
        let largest = (4..=10).map(|window| run(window, &few)).collect::<Result<_, _>>()?;
        refitted.push((what, Base { usual, larger, largest }));
    }
    let base = Base { usual, larger, largest };
    let transaction = transaction::run()?;
    let runs = Runs { base, cached, transactions, transaction, refitted };
    let mut tables = compared;
    tables.push(windows::largest(&runs.base)?);
    tables.push(tables::ours(&runs.base.usual)?);
    tables.extend(samples::tables()?);
    tables.push(runs.transaction.table());
    let claims = claims::all(&runs)?;
    Ok(PaperResults { paper: Paper::Gurkan, tables, claims })
}

/// What claims about an initial window of one segment need.
fn is_claimed(plan: Plan, load: Load) -> bool {
    match plan {
        Plan::SharedByWriter => load == Load { web: 8, ftp: 0 },
        Plan::TruePipelined | Plan::SharedByNagle | Plan::GetWeb => load.is_judged(),
        _ => true,
    }
}

/// Plans that are run with a cache.
const CACHED: [Plan; 3] = [Plan::Serial, Plan::Pipelined, Plan::GetWeb];

/// Other values for what was fitted: the base of the thesis' model, and the cap that Table 4.5 shows.
const RFC_2415: &str = "a maximum window of 11 segments, as RFC 2415 has it";
const CAPPED: &str = "500 bytes instead of more than 15,000 in serial and parallel pages";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::report::section;

    /// Those of single runs; the others take minutes.
    #[test]
    fn the_findings_have_the_samples_and_the_transaction_as_they_are() {
        let mut tables = samples::tables().expect("they run");
        tables.push(transaction::run().expect("it runs").table());
        let results = PaperResults { paper: Paper::Gurkan, tables, claims: Vec::new() };
        let section = section(&results);
        let (_title, tables) = section.split_once("\n### ").expect("there are tables");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
        assert!(fs::read_to_string(path).expect("a file").contains(tables), "{tables}");
    }
}
