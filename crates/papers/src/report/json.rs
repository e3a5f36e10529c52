//! For programs. Keys are only added while the version stays.

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use super::Reproduction;
use crate::{claim::Claim, table::ComparisonTable};

/// One JSON object, with a line feed at its end: a [`Document`].
#[must_use]
pub fn json(reproduction: &Reproduction) -> String {
    let papers = || reproduction.papers.iter();
    format::to_json(&Document {
        ackwise: env!("CARGO_PKG_VERSION"),
        tables: papers().flat_map(|results| &results.tables).collect(),
        claims: papers().flat_map(|results| &results.claims).collect(),
    })
}

/// What `ackwise reproduce --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of the program.
    ackwise: &'static str,
    /// The papers' tables and figures, and tables of ours.
    tables: Vec<&'a ComparisonTable>,
    /// The papers' claims.
    claims: Vec<&'a Claim>,
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-reproduce");
    const ABOUT: &'static str =
        "What `ackwise reproduce --json` prints: the papers' values beside ours, and their claims.";
}
