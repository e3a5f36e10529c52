//! Tables 2 and 3: WebSTONE's closed loop against a server that holds TIME-WAIT, and one that does not.

use ackwise_sim::Nobody;

use super::measures::{connection_rate, refused, server_memory, throughput};
use crate::{
    ReproduceError,
    file::{File, experiment_file},
    inputs::inputs,
    published::Published,
    runner::{self, Outcome},
    table::{Case, ComparisonTable, Limit, Row},
};

/// What a table's experiment gave, by [`SYSTEMS`].
pub(super) struct Results {
    pub(super) table: ComparisonTable,
    /// Connections a second.
    pub(super) rates: [f64; 3],
    /// KiB of records at the server.
    pub(super) memory: [f64; 3],
    /// Connections that the server had no memory for.
    pub(super) refused: [f64; 3],
}

/// The rows of both tables.
pub(super) const UNMODIFIED: usize = 0;
pub(super) const TCP: usize = 1;
pub(super) const HTTP: usize = 2;

impl Results {
    /// Connections a second more than without a modification, in percent.
    pub(super) fn gain(&self, system: usize) -> f64 {
        (self.rates[system] / self.rates[UNMODIFIED] - 1.0) * 100.0
    }
}

/// Table 2: large files.
pub(super) fn large_files() -> Result<Results, ReproduceError> {
    let published = Published::named("faber1997_table_2")?;
    let mut results = run(&published, LARGE, |measure, _| match measure {
        "tcb_memory" => Some(Limit::Share(0.10)),
        _ => None,
    })?;
    for system in [TCP, HTTP] {
        let rate = |row| published.number(row, "connection_rate").unwrap_or_default();
        results.table.rows.push(Row {
            case: Case(published.case(system, &["system"])),
            measure: "rate_gain_pct".to_owned(),
            published: Some((rate(system) / rate(UNMODIFIED) - 1.0) * 100.0),
            ours: Some(results.gain(system)),
            limit: Some(Limit::Amount(8.0)),
            ..Row::default()
        });
    }
    results.table.notes.push(GAINS.to_owned());
    Ok(results)
}

/// Table 3: small files.
pub(super) fn small_files() -> Result<Results, ReproduceError> {
    let published = Published::named("faber1997_table_3")?;
    let mut results =
        run(&published, SMALL, |_, system| (system != UNMODIFIED).then_some(Limit::Share(0.10)))?;
    results.table.notes.push(FAILS.to_owned());
    Ok(results)
}

fn run(
    published: &Published,
    file: File,
    limit: fn(&str, usize) -> Option<Limit>,
) -> Result<Results, ReproduceError> {
    let outcomes = runner::run(file, |_| Nobody)?;
    let table = ComparisonTable {
        id: published.id.to_owned(),
        title: published.title.to_owned(),
        notes: inputs(file.text),
        rows: Vec::new(),
    };
    let mut results = Results { table, rates: [0.0; 3], memory: [0.0; 3], refused: [0.0; 3] };
    for (system, name) in SYSTEMS.into_iter().enumerate() {
        let outcome = outcomes.iter().find(|outcome| outcome.matches(&[("system", name)]));
        let outcome = outcome.ok_or_else(|| ReproduceError::NoCase { case: name.to_owned() })?;
        results.rates[system] = connection_rate(outcome).unwrap_or_default();
        results.memory[system] = server_memory(outcome).unwrap_or_default();
        results.refused[system] = refused(outcome).unwrap_or_default();
        results.table.rows.extend(MEASURES.map(|(measure, value)| Row {
            case: Case(published.case(system, &["system"])),
            measure: measure.to_owned(),
            published: published.number(system, measure),
            ours: value(outcome),
            limit: limit(measure, system),
            ..Row::default()
        }));
    }
    Ok(results)
}

const SYSTEMS: [&str; 3] = ["unmodified", "tcp_modification", "http_modifications"];

/// What is read off a run.
type Measure = fn(&Outcome<Nobody>) -> Option<f64>;

const MEASURES: [(&str, Measure); 4] = [
    ("throughput", throughput),
    ("connection_rate", connection_rate),
    ("tcb_memory", server_memory),
    ("refused", refused),
];

const GAINS: &str = "Three costs of the server are fitted to the three connection rates, so the \
                     gains agree by construction; the memory does not depend on them. \
                     faber1997_findings has the results of Table 1's slope alone.";

const FAILS: &str = "“fails”: the unmodified server runs out of memory. Our server continues: it \
                     refuses the connections that are counted, and its clients retransmit their \
                     SYN.";

const LARGE: File = experiment_file!("faber_table_2.toml");
const SMALL: File = experiment_file!("faber_table_3.toml");
