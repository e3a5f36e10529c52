//! What a run's measures do not say: that there is little or nothing behind them.

use std::fmt;

use ackwise_sim::{Measures, measure::Missing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
