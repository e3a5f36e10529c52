//! Rows and their means, for programs. Keys are only added while the version stays.

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{
    row::Row,
    summary::{Summary, summaries},
};
use crate::experiment::{Experiment, Labels};

/// What `ackwise run --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// One for each case and each seed.
    rows: &'a [Row],
    /// One for each case, over its seeds.
    summaries: Vec<Summary>,
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-run");
    const ABOUT: &'static str = "What `ackwise run --json` prints: every row with every metric.";
}

/// All rows, and for each case the mean of every measure over its seeds: a [`Document`].
#[must_use]
pub fn json(rows: &[Row]) -> String {
    format::to_json(&Document { rows, summaries: summaries(rows) })
}

/// What `ackwise run --list --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct List<'a> {
    /// The cases: how each differs from the others, in order.
    cases: Vec<&'a Labels>,
    /// The experiment's name.
    experiment: &'a str,
    /// The `hash` of this experiment's rows.
    hash: &'a str,
    /// Each case is run with each of these seeds.
    seeds: &'a [u64],
    /// The experiment's title, if it has one.
    title: Option<&'a str>,
}

impl format::Document for List<'_> {
    const FORMAT: Format = Format::first("ackwise-run-list");
    const ABOUT: &'static str =
        "What `ackwise run --list --json` prints: the cases of an experiment.";
}

/// The cases and seeds of an experiment: a [`List`].
#[must_use]
pub fn list_json(experiment: &Experiment) -> String {
    format::to_json(&List {
        cases: experiment.cases().iter().map(|case| &case.labels).collect(),
        experiment: experiment.name(),
        hash: experiment.hash(),
        seeds: experiment.seeds(),
        title: experiment.title(),
    })
}
