//! Verdicts, and why there may be none.

use schemars::JsonSchema;
use serde::Serialize;

/// The verdict of a finding.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// What the check looks for cannot occur on this target: `summary` says what it needs.
    NotApplicable,
    /// No problem.
    Pass,
    /// Could not be determined; `reason` and `summary` say why.
    Unknown,
    /// The behaviour is present, but below the limit for `fail`.
    Warn,
    /// A stall of at least 10 ms that ends when the client's ACK arrives, or a wrong response.
    Fail,
}

/// Why a verdict is unknown.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Something disturbed the trials, a busy machine or a connection that broke: another run may tell.
    Disturbed,
    /// The server gave no answer that ends, or none that can be understood.
    NoAnswer,
    /// A limit of requests or of time ended the check first.
    Limit,
    /// The client's TCP stack cannot measure it; another may.
    Stack,
}
