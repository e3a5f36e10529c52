//! Rows for people and for programs: a table shows what was asked for, the other formats have
//! everything.

pub(in crate::run) mod columns;
mod csv;
mod html;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod table;
mod warnings;

pub use columns::columns;
pub use csv::csv;
pub use html::{PageNotes, html};
pub use json::{Document, List, json, list_json};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetError, parquet};
pub use table::table;
pub use warnings::warnings;

use std::collections::{BTreeMap, BTreeSet};

use super::row::Row;
use crate::experiment::Experiment;
use crate::measures::matches;

/// Which measures a table shows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MeasureFilter {
    patterns: Vec<String>,
    /// Beginnings of names that are left out unless a pattern names them.
    hidden: Vec<String>,
}

impl MeasureFilter {
    /// What an experiment says, or all but the hosts and links that are many of one kind.
    #[must_use]
    pub fn of(experiment: &Experiment) -> Self {
        let (patterns, hidden) = (experiment.show().to_vec(), experiment.counted().to_vec());
        Self { patterns, hidden }
    }

    /// Those that fit one of these patterns, in their order; a name without a star is shown even if no
    /// row has it.
    #[must_use]
    pub fn patterns(patterns: Vec<String>) -> Self {
        Self { patterns, hidden: Vec::new() }
    }

    /// The measures of `rows` to show.
    fn measures(&self, rows: &[Row]) -> Vec<String> {
        let known = measures(rows);
        if self.patterns.is_empty() {
            let hidden = |name: &str| self.hidden.iter().any(|start| name.starts_with(start));
            return known.into_iter().filter(|name| !hidden(name)).map(str::to_owned).collect();
        }
        let mut names: Vec<String> = Vec::new();
        for pattern in &self.patterns {
            let found = known.iter().filter(|name| matches(pattern, name));
            let asked = Some(pattern.as_str()).filter(|pattern| !pattern.contains('*'));
            for name in found.copied().chain(asked) {
                if !names.iter().any(|other| other == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

/// The names of all measures that a row has.
fn measures(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter().flat_map(|row| row.measures.keys().map(String::as_str)).collect()
}

/// The names of all labels, in the order of the grid.
fn labels(rows: &[Row]) -> Vec<&str> {
    rows.first().map_or_else(Vec::new, |row| row.case.iter().map(|(name, _)| name).collect())
}

/// The columns that say where a row comes from.
fn origin(row: &Row) -> BTreeMap<&'static str, String> {
    [
        ("experiment", row.experiment.clone()),
        ("hash", row.hash.clone()),
        ("version", row.version.clone()),
        ("trace", row.trace.clone()),
    ]
    .into()
}
