//! For programs: `{"tables": […], "claims": […]}`. Keys are only ever added.

use serde::Serialize;

use super::Reproduction;
use crate::reproduce::{claim::Claim, table::Table};

/// One JSON object, with a line feed at its end.
#[must_use]
pub fn json(reproduction: &Reproduction) -> String {
    let papers = || reproduction.papers.iter();
    let document = Document {
        ackwise: env!("CARGO_PKG_VERSION"),
        tables: papers().flat_map(|results| &results.tables).collect(),
        claims: papers().flat_map(|results| &results.claims).collect(),
    };
    let mut json = serde_json::to_string_pretty(&document)
        .expect("no map of a reproduction has keys other than strings");
    json.push('\n');
    json
}

#[derive(Serialize)]
struct Document<'a> {
    ackwise: &'static str,
    tables: Vec<&'a Table>,
    claims: Vec<&'a Claim>,
}
