//! Table 1: bulk throughput while entries in TIME-WAIT stand before the transfers' own.

use ackwise_lab::experiment::Experiment;
use ackwise_sim::Nobody;

use super::measures::{application, entries_per_lookup};
use crate::{
    ReproduceError,
    file::{File, experiment_file},
    inputs::inputs,
    published::Published,
    runner::{self, Outcome},
    table::{Case, ComparisonTable, Limit, Row},
};

/// What the table's experiment gave.
pub(super) struct Results {
    pub(super) table: ComparisonTable,
    /// Mb/s of each transfer, by row.
    pub(super) throughput: Vec<f64>,
    /// Entries that a look-up examines with 2000 in TIME-WAIT, with one client host and with two.
    pub(super) entries_with_1_and_2_clients: [f64; 2],
}

/// Runs it and compares.
pub(super) fn run() -> Result<Results, ReproduceError> {
    let published = Published::named("faber1997_table_1")?;
    let outcomes = runner::run(FILE, |_| Nobody)?;
    let mut results = Results {
        table: ComparisonTable {
            id: published.id.to_owned(),
            title: published.title.to_owned(),
            notes: inputs(FILE.text),
            rows: Vec::new(),
        },
        throughput: Vec::new(),
        entries_with_1_and_2_clients: [entries_with(1)?, entries_with(2)?],
    };
    results.table.notes.extend([SLOPE, MODIFIED].map(str::to_owned));
    let unloaded = outcomes.first().and_then(throughput);
    for row in 0..published.rows.len() {
        let entries = published.cell(row, KEY).unwrap_or_default();
        let outcome = outcomes.iter().find(|outcome| outcome.matches(&[(KEY, entries)]));
        let outcome =
            outcome.ok_or_else(|| ReproduceError::NoCase { case: format!("{entries} {KEY}") })?;
        results.throughput.push(throughput(outcome).unwrap_or_default());
        results.table.rows.extend(rows(outcome, unloaded, &published, row));
    }
    Ok(results)
}

/// Entries that a look-up examines with 2000 in TIME-WAIT.
fn entries_with(clients: u32) -> Result<f64, ReproduceError> {
    let experiment = Experiment::parse(FILE.name, FILE.text)?;
    let experiment = experiment.with_set(&format!("host.client.count={clients}"))?;
    let outcomes = runner::run_cases(&experiment, &[(KEY, "2000")], |_| Nobody)?;
    let case = || ReproduceError::NoCase { case: format!("2000 {KEY}, {clients} clients") };
    outcomes.first().and_then(entries_per_lookup).ok_or_else(case)
}

/// `unloaded` is what a server gives that holds no TIME-WAIT.
fn rows(
    outcome: &Outcome<Nobody>,
    unloaded: Option<f64>,
    published: &Published,
    row: usize,
) -> [Row; 3] {
    let case = Case(published.case(row, &[KEY]));
    let value = |measure: &str, ours, limit| Row {
        case: case.clone(),
        measure: measure.to_owned(),
        published: published.number(row, measure),
        ours,
        limit,
        ..Row::default()
    };
    let share = if row + 1 == published.rows.len() { 0.15 } else { 0.10 };
    [
        value("unmodified_avg", throughput(outcome), Some(Limit::Share(share))),
        value("tcp_mod_avg", unloaded, None),
        value("entries_per_lookup", entries_per_lookup(outcome), None),
    ]
}

/// The mean of both transfers, in megabits a second.
fn throughput(outcome: &Outcome<Nobody>) -> Option<f64> {
    Some(application(outcome)?.goodput * 8.0 / 1e6 / TRANSFERS)
}

const TRANSFERS: f64 = 2.0;

const KEY: &str = "time_wait_tcbs";

const SLOPE: &str = "Two numbers are fitted to rows 0 and 2000 of the unmodified column; the \
                     other rows follow from them. Its means vary by 3 to 5 Mb/s between runs.";

const MODIFIED: &str = "The modified column is our run without TIME-WAIT: the RSTs have removed \
                        it from the server before the transfer. The paper's column falls to 64.3 \
                        anyway; neither the paper nor our runs explain this.";

const FILE: File = experiment_file!("faber_table_1.toml");
