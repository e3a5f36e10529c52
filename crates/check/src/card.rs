//! The results for one server: what `check` found, as data.

mod values;

pub use ackwise_cause::FindingId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

pub use values::{
    Bound, ByRequest, Close, CorkTimer, End, FirstByte, IdleRestart, InitialWindow, KeepAlive,
    NagleDelayedAck, Pipelining, ReceiverName, ReleasedBy, RequestSegments, SendBuffer,
    ShortInitialSegment, SplitHead, SwapResult, TriedSize, Values,
};

/// The results for one server.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Card {
    /// The checked URL, as given.
    pub target: String,
    /// Which built-in server it is; null for other servers.
    pub server: Option<BuiltIn>,
    /// The client's TCP stack.
    pub stack: StackName,
    /// Restrictions on these results, one sentence each: a redirect that was not followed, a small
    /// page, a busy machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One for each check that was run.
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

/// The client's TCP stack.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackName {
    /// The kernel's sockets.
    Kernel,
    /// Ackwise's own stack on a TUN device.
    Ackwise,
}

/// The result of one check.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Finding {
    /// Name of the check.
    #[schemars(schema_with = "ids")]
    pub id: FindingId,
    /// The verdict.
    pub verdict: Verdict,
    /// Cost in milliseconds per response (or request), measured in this run; null if not measured.
    pub cost_ms: Option<f64>,
    /// What was observed, in one sentence.
    pub summary: String,
    /// Measured values; the keys depend on `id`.
    pub values: Values,
    /// A few packets (or reads), one tcpdump-like line each.
    pub evidence: Vec<String>,
    /// How to fix it; null if there is nothing to fix.
    pub remedy: Option<String>,
    /// The verdict is unknown because a disturbance took the answer: a busy machine, a path or server that
    /// stopped answering. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

fn ids(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": FindingId::ALL.map(FindingId::name) })
}

/// The verdict of a finding.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No problem.
    Pass,
    /// Could not be determined; `summary` says why.
    Unknown,
    /// The behaviour is present, but below the limit for `fail`.
    Warn,
    /// A stall of at least 10 ms that ends when the client's ACK arrives, or a wrong response.
    Fail,
}
