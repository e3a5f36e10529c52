//! Warnings for people: a line for all rows of a case that have the same one.

use std::collections::BTreeMap;

use super::super::{
    row::Row,
    warning::{Warning, WarningKind},
};
use crate::experiment::Labels;

/// The warnings of all rows, a line for those of one kind that a case has with any of its seeds: the
/// worst, and how often.
#[must_use]
pub fn warnings(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for rows in rows.chunk_by(|a, b| a.case == b.case) {
        let mut worst: BTreeMap<(&str, WarningKind), (&Warning, usize)> = BTreeMap::new();
        for warning in rows.iter().flat_map(|row| &row.warnings) {
            let key = (warning.application.as_str(), warning.kind);
            let (known, seeds) = worst.entry(key).or_insert((warning, 0));
            *seeds += 1;
            if warning.count > known.count {
                *known = warning;
            }
        }
        lines.extend(
            worst.values().map(|(warning, seeds)| line(warning, &rows[0].case, *seeds, rows.len())),
        );
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.truncate(MOST_LINES);
        lines.push(format!("{more} more warnings (--json has all of them)"));
    }
    lines
}

fn line(warning: &Warning, case: &Labels, seeds: usize, of: usize) -> String {
    let mut line = String::new();
    if !case.is_empty() {
        line.push_str(&format!("{case}: "));
    }
    line.push_str(&warning.to_string());
    if of > 1 {
        line.push_str(&format!(", with {seeds} of {of} seeds"));
    }
    line
}

/// More lines are not read (our choice).
const MOST_LINES: usize = 20;
