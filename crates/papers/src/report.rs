//! A [`Reproduction`] for people and for programs: text, Markdown (`docs/findings.md`), JSON, and a
//! page with the figures.
//!
//! Whoever prints gets the whole document at once, as with the report cards of `check`.

mod html;
mod json;
mod layout;
mod markdown;
mod text;

pub use html::html;
pub use json::{Document, json};
pub use markdown::{markdown, section};
pub use text::text;

use super::{claim::Holds, paper::PaperResults, table::Row};

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reproduction {
    /// Paper by paper.
    pub papers: Vec<PaperResults>,
}

impl Reproduction {
    /// Values that are further from the published ones than they must be: table, row.
    #[must_use]
    pub fn outside_limits(&self) -> usize {
        self.within_limits().filter(|within| !within).count()
    }

    /// The same in a sentence.
    fn verdict(&self) -> String {
        let all = self.within_limits().count();
        match self.outside_limits() {
            0 => format!("All {all} values that are checked are within their tolerances."),
            outside => {
                format!("Outside their tolerances: {outside} of {all} checked values.")
            }
        }
    }

    /// Of each value that has a limit: whether it is within it.
    fn within_limits(&self) -> impl Iterator<Item = bool> {
        let tables = self.papers.iter().flat_map(|results| &results.tables);
        tables.flat_map(|table| &table.rows).filter_map(Row::is_within)
    }
}

/// How many of a paper's claims hold, and what must be known of all of its values.
fn conclusion(results: &PaperResults) -> String {
    let claims = &results.claims;
    let count = |holds| claims.iter().filter(|claim| claim.holds() == holds).count();
    let [yes, by_sum, no, by_mean, open] = Holds::ALL.map(count);
    let partly = |many: usize, which: &str| match many {
        0 => String::new(),
        many => format!(" ({many} of them {which})"),
    };
    let holding = format!("{} hold{}", yes + by_sum, partly(by_sum, "not by rate_mean"));
    let failing = format!("{} do not{}", no + by_mean, partly(by_mean, "only by rate_mean"));
    let of = claims.len();
    let said = format!("Of {of} claims {holding}, {failing}, {open} cannot be decided here.");
    match super::headline(results) {
        Some(headline) => format!("{said} {headline}"),
        None => said,
    }
}
