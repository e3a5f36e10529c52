//! The report card: what `check` found out about one server, as data.

use std::{fmt, str::FromStr};

use serde::Serialize;

/// What was found out about one server with one stack.
#[derive(Clone, Debug, Serialize)]
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
    /// In the order of [`FindingId::ALL`].
    pub findings: Vec<Finding>,
}

/// The two built-in servers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum BuiltIn {
    /// As the papers of 1996 and 1997 describe it.
    #[serde(rename = "1996")]
    Paper1996,
    /// With every fix.
    #[serde(rename = "fixed")]
    Fixed,
}

/// Whose TCP plays the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackName {
    /// The kernel's sockets.
    Kernel,
    /// Our own TCP on a TUN device.
    Ackwise,
}

/// One row of the card.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Which question.
    pub id: FindingId,
    /// Its answer's weight.
    pub verdict: Verdict,
    /// Milliseconds per response (or request) that this costs, *measured here*; `None` if it was not.
    pub cost_ms: Option<f64>,
    /// One sentence for people: what was seen.
    pub summary: String,
    /// The facts, by the names of the table in the documentation.
    pub values: serde_json::Value,
    /// A few packets (or reads), one tcpdump-like line each.
    pub evidence: Vec<String>,
    /// What removes it; `None` where there is nothing to remove.
    pub remedy: Option<String>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
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

/// The questions, in the order in which the card shows them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingId {
    /// Does the response head leave in a segment of its own?
    SplitHead,
    /// Does the response wait for our delayed ACK at its start?
    ShortInitialSegment,
    /// Is a small last segment held until our ACK?
    NagleDelayedAck,
    /// Is it held until a timer fires, whatever we do?
    CorkTimer,
    /// Segments sent before the first ACK.
    InitialWindow,
    /// The window before and after an idle pause.
    IdleRestart,
    /// What bounds the flight.
    SendBuffer,
    /// Is the connection kept, how long, for how many requests?
    KeepAlive,
    /// Two requests in one segment.
    Pipelining,
    /// Who closes first, and what an RST does.
    Close,
    /// A request that comes in two segments.
    RequestSegments,
}

impl FindingId {
    /// All of them, in the order of the card.
    pub const ALL: [Self; 11] = [
        Self::SplitHead,
        Self::ShortInitialSegment,
        Self::NagleDelayedAck,
        Self::CorkTimer,
        Self::InitialWindow,
        Self::IdleRestart,
        Self::SendBuffer,
        Self::KeepAlive,
        Self::Pipelining,
        Self::Close,
        Self::RequestSegments,
    ];
}

impl FindingId {
    /// The name on the command line and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SplitHead => "split-head",
            Self::ShortInitialSegment => "short-initial-segment",
            Self::NagleDelayedAck => "nagle-delayed-ack",
            Self::CorkTimer => "cork-timer",
            Self::InitialWindow => "initial-window",
            Self::IdleRestart => "idle-restart",
            Self::SendBuffer => "send-buffer",
            Self::KeepAlive => "keep-alive",
            Self::Pipelining => "pipelining",
            Self::Close => "close",
            Self::RequestSegments => "request-segments",
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for FindingId {
    type Err = UnknownFinding;

    fn from_str(name: &str) -> Result<Self, UnknownFinding> {
        Self::ALL
            .into_iter()
            .find(|id| id.as_str() == name)
            .ok_or_else(|| UnknownFinding(name.to_owned()))
    }
}

/// There is no finding of that name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown finding {0:?} (expected one of {all})", all = FindingId::ALL.map(FindingId::as_str).join(", "))]
pub struct UnknownFinding(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_one_name_in_json_and_on_the_command_line() {
        for id in FindingId::ALL {
            assert_eq!(serde_json::to_value(id).unwrap(), id.as_str());
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!("Nagle".parse::<FindingId>(), Err(UnknownFinding("Nagle".to_owned())));
    }
}
