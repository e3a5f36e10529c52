//! What a run's measures do not say: that there is little or nothing behind them.

use std::{collections::BTreeMap, fmt};

use ackwise_sim::{Measures, measure::Missing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::Row;
use crate::experiment::Labels;

/// Why measures of an application are missing, or say less than they seem to.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Warning {
    /// The application's name.
    pub application: String,
    /// What is wrong.
    pub kind: WarningKind,
    /// How many users, clients or documents it is wrong with.
    pub count: u64,
    /// How many there are.
    pub of: u64,
}

/// What is wrong.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Users or clients whose start is after the end of the run.
    NeverStarted,
    /// Users or clients that have not finished a document by the end of the run.
    NoDocument,
    /// All documents ended before the warm-up was over.
    NoneMeasured,
}

/// `application "web": 2 of 4 users start after the end of the run (expected …)`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { application, kind, count, of } = self;
        write!(f, "application \"{application}\": {count} of {of} ")?;
        f.write_str(match kind {
            WarningKind::NeverStarted => {
                "users start after the end of the run (expected an earlier start or a longer duration)"
            }
            WarningKind::NoDocument => {
                "users finish no document (expected a longer duration or less to transfer)"
            }
            WarningKind::NoneMeasured => {
                "documents end during the warm-up (expected some after it)"
            }
        })
    }
}

/// What is wrong with a run.
pub(super) fn of(measures: &Measures) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (name, application) in &measures.applications {
        let Missing { users, never_started, without_document, documents_before } =
            application.missing;
        let mut warn = |kind, count: u64, of: u64| {
            if count > 0 {
                warnings.push(Warning { application: name.clone(), kind, count, of });
            }
        };
        warn(WarningKind::NeverStarted, never_started.into(), users.into());
        warn(WarningKind::NoDocument, without_document.into(), users.into());
        if application.documents == 0 {
            warn(WarningKind::NoneMeasured, documents_before, documents_before);
        }
    }
    warnings
}

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
