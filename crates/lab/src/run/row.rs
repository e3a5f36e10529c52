//! One case with one seed, and what was measured.

use std::collections::BTreeMap;

use ackwise_sim::Measures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::warning::{self, Warning};
use crate::experiment::{Experiment, Labels};
use crate::measures::flatten;

/// One case with one seed, and what was measured.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Row {
    /// The experiment's file.
    pub experiment: String,
    /// The hash of what the experiment's file says.
    pub hash: String,
    /// Version of ackwise, and after a plus sign its commit.
    pub version: String,
    /// The row's place among all rows of the experiment, from 0.
    pub row: usize,
    /// How many rows the experiment has.
    pub of: usize,
    /// How the case differs from the others.
    pub case: Labels,
    /// Seed of the random streams.
    pub seed: u64,
    /// The hash of all that happened, in 16 hexadecimal digits.
    pub trace: String,
    /// By name.
    pub measures: BTreeMap<String, f64>,
    /// Why some of them are missing, or say less than they seem to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Row {
    /// The row of case `case` with seed number `seed`, both by their places in the experiment.
    pub(super) fn new(experiment: &Experiment, place: RowKey, measures: &Measures) -> Self {
        Self {
            experiment: experiment.name().to_owned(),
            hash: experiment.hash().to_owned(),
            version: VERSION.to_owned(),
            row: place.row(experiment),
            of: experiment.cases().len() * experiment.seeds().len(),
            case: experiment.cases()[place.case].labels.clone(),
            seed: experiment.seeds()[place.seed],
            trace: format!("{:016x}", measures.work.trace_hash),
            measures: flatten(measures),
            warnings: warning::of(measures),
        }
    }

    /// The value of a measure, if the run had it.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<f64> {
        self.measures.get(name).copied()
    }
}

/// A case and a seed by their places in the experiment.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct RowKey {
    pub(super) case: usize,
    pub(super) seed: usize,
}

impl RowKey {
    /// All of them, in order: the seeds of a case follow one another.
    pub(super) fn all(experiment: &Experiment) -> impl Iterator<Item = Self> {
        let seeds = experiment.seeds().len();
        (0..experiment.cases().len())
            .flat_map(move |case| (0..seeds).map(move |seed| Self { case, seed }))
    }

    /// The one at this place among all.
    pub(super) fn at(row: usize, experiment: &Experiment) -> Self {
        let seeds = experiment.seeds().len();
        Self { case: row / seeds, seed: row % seeds }
    }

    pub(super) fn row(self, experiment: &Experiment) -> usize {
        self.case * experiment.seeds().len() + self.seed
    }
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ACKWISE_COMMIT"));
