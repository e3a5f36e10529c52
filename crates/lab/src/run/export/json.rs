//! `{"rows": […], "summaries": […]}`.

use serde::Serialize;

use super::super::{
    row::Row,
    summary::{Summary, summaries},
};

#[derive(Serialize)]
struct Document<'a> {
    rows: &'a [Row],
    /// Over the seeds of each case.
    summaries: Vec<Summary>,
}

/// All rows, and for each case the mean of every measure over its seeds.
#[must_use]
pub fn json(rows: &[Row]) -> String {
    let document = Document { rows, summaries: summaries(rows) };
    let text = serde_json::to_string_pretty(&document);
    text.expect("rows are strings and finite numbers") + "\n"
}
