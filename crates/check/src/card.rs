//! The report card: what `check` found out about one server, as data.

mod values;

pub use ackwise_cause::FindingId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

pub use values::{
    Bound, Close, CorkTimer, End, IdleRestart, InitialWindow, KeepAlive, NagleDelayedAck,
    Pipelining, ReleasedBy, RequestSegments, SendBuffer, ShortInitialSegment, SplitHead,
    SwapResult, TriedSize, Values,
};

/// What was found out about one server with one stack.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Card {
    /// What was checked, as the user named it.
    pub target: String,
    /// Which built-in server it is, if it is one.
    pub server: Option<BuiltIn>,
    /// Whose TCP played the client.
    pub stack: StackName,
    /// What a reader must know before the findings: a redirect that was not followed, a small
    /// page, a busy machine. One sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One for each question that was asked.
    pub findings: Vec<Finding>,
}

/// The two built-in servers.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub enum BuiltIn {
    /// As the papers of 1996 and 1997 describe it.
    #[serde(rename = "1996")]
    Paper1996,
    /// With every fix.
    #[serde(rename = "fixed")]
    Fixed,
}

/// Whose TCP plays the client.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackName {
    /// The kernel's sockets.
    Kernel,
    /// Our own TCP on a TUN device.
    Ackwise,
}

/// One row of the card.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Finding {
    /// Which question.
    #[schemars(schema_with = "ids")]
    pub id: FindingId,
    /// Its answer's weight.
    pub verdict: Verdict,
    /// Milliseconds per response (or request) that this costs, *measured here*; null if it was not.
    pub cost_ms: Option<f64>,
    /// One sentence for people: what was seen.
    pub summary: String,
    /// The facts; the kind is that of `id`.
    pub values: Values,
    /// A few packets (or reads), one tcpdump-like line each.
    pub evidence: Vec<String>,
    /// What removes it; null where there is nothing to remove.
    pub remedy: Option<String>,
}

fn ids(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": FindingId::ALL.map(FindingId::name) })
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing to complain about; for facts, with a note.
    Pass,
    /// It could not be found out, and `summary` says why.
    Unknown,
    /// The behaviour exists, without a measured cost.
    Warn,
    /// A stall of at least 10 ms whose release follows our ACK, or a wrong response.
    Fail,
}
