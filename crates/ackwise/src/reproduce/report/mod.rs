//! A [`Reproduction`] for people and for programs: text, Markdown (`docs/findings.md`), JSON.
//!
//! Whoever prints gets the whole document at once, as with the report cards of `check`.

mod json;
mod layout;
mod markdown;
mod text;

pub use json::json;
pub use markdown::{markdown, section};
pub use text::text;

use serde::Serialize;

use super::{claim::Claim, paper::Paper, table::Table};

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reproduction {
    /// Paper by paper.
    pub papers: Vec<PaperResults>,
}

/// What came out of one paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperResults {
    /// Which one.
    #[serde(skip)]
    pub paper: Paper,
    /// Its tables and figures, and tables of ours.
    pub tables: Vec<Table>,
    /// Its sentences.
    pub claims: Vec<Claim>,
}

impl Reproduction {
    /// Values that are further from the published ones than they must be: table, row.
    #[must_use]
    pub fn misses(&self) -> usize {
        let tables = self.papers.iter().flat_map(|results| &results.tables);
        tables.flat_map(|table| &table.rows).filter(|row| row.is_within() == Some(false)).count()
    }
}
