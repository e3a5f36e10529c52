//! The facts of each finding, under the keys of `docs/check.md`. What is not known is null.
//!
//! Fields, and so keys, are in alphabetical order.

use ackwise_cause::FindingId;
use schemars::JsonSchema;
use serde::Serialize;

/// The facts of one finding.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// Of `split-head`.
    SplitHead(SplitHead),
    /// Of `short-initial-segment`.
    ShortInitialSegment(ShortInitialSegment),
    /// Of `nagle-delayed-ack`.
    NagleDelayedAck(NagleDelayedAck),
    /// Of `cork-timer`.
    CorkTimer(CorkTimer),
    /// Of `initial-window`.
    InitialWindow(InitialWindow),
    /// Of `idle-restart`.
    IdleRestart(IdleRestart),
    /// Of `send-buffer`.
    SendBuffer(SendBuffer),
    /// Of `keep-alive`.
    KeepAlive(KeepAlive),
    /// Of `pipelining`.
    Pipelining(Pipelining),
    /// Of `close`.
    Close(Close),
    /// Of `request-segments`.
    RequestSegments(RequestSegments),
}

impl Values {
    /// Those of a finding about which nothing is known.
    #[must_use]
    pub fn unknown(id: FindingId) -> Self {
        match id {
            FindingId::SplitHead => SplitHead::default().into(),
            FindingId::ShortInitialSegment => ShortInitialSegment::default().into(),
            FindingId::NagleDelayedAck => NagleDelayedAck::default().into(),
            FindingId::CorkTimer => CorkTimer::default().into(),
            FindingId::InitialWindow => InitialWindow::default().into(),
            FindingId::IdleRestart => IdleRestart::default().into(),
            FindingId::SendBuffer => SendBuffer::default().into(),
            FindingId::KeepAlive => KeepAlive::default().into(),
            FindingId::Pipelining => Pipelining::default().into(),
            FindingId::Close => Close::default().into(),
            FindingId::RequestSegments => RequestSegments::default().into(),
        }
    }
}

macro_rules! into_values {
    ($($facts:ident),*) => {
        $(impl From<$facts> for Values {
            fn from(facts: $facts) -> Self {
                Self::$facts(facts)
            }
        })*
    };
}

into_values!(
    SplitHead,
    ShortInitialSegment,
    NagleDelayedAck,
    CorkTimer,
    InitialWindow,
    IdleRestart,
    SendBuffer,
    KeepAlive,
    Pipelining,
    Close,
    RequestSegments
);

/// The facts of `split-head`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SplitHead {
    /// The size of the response head.
    pub head_bytes: Option<u64>,
    /// Whether it leaves in a segment of its own.
    pub split: Option<bool>,
}

/// The facts of `short-initial-segment`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ShortInitialSegment {
    /// The announced segment size.
    pub mss: Option<u16>,
    /// How long the response waited while every ACK was withheld.
    pub stall_ms: Option<f64>,
}

/// What ends the pause in a response.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleasedBy {
    /// There is no pause.
    None,
    /// The client's ACK.
    Ack,
    /// A timer of the server.
    Timer,
    /// The application or the path.
    Other,
}

/// The facts of `nagle-delayed-ack`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct NagleDelayedAck {
    /// The cost with ACKs after 120 ms.
    pub cost_ms_120: Option<f64>,
    /// The cost with ACKs after 200 ms: computed, not measured.
    pub cost_ms_200_computed: Option<f64>,
    /// The cost with ACKs after 40 ms.
    pub cost_ms_40: Option<f64>,
    /// What ends the pause of the worst response.
    pub released_by: Option<ReleasedBy>,
    /// Each response that was tried; null if none was.
    pub sizes: Option<Vec<TriedSize>>,
}

/// One response that `nagle-delayed-ack` tried.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct TriedSize {
    /// The size of its content.
    pub bytes: u64,
    /// The path that was requested.
    pub path: String,
    /// What ends its pause.
    pub released_by: Option<ReleasedBy>,
    /// How long it paused.
    pub stall_ms: Option<f64>,
}

/// The facts of `cork-timer`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct CorkTimer {
    /// The sizes of the responses that were tried; null if none was.
    pub sizes: Option<Vec<u64>>,
    /// How long the segment was held.
    pub stall_ms: Option<f64>,
}

/// The facts of `initial-window`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct InitialWindow {
    /// A lower limit of `segments`, if that is not known.
    pub at_least: Option<u64>,
    /// The bytes of the first flight.
    pub bytes: Option<u64>,
    /// The largest segment of the response.
    pub mss: Option<u64>,
    /// The segments of the first flight.
    pub segments: Option<u64>,
}

/// The facts of `idle-restart`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct IdleRestart {
    /// The first flight after the pause, in segments.
    pub after: Option<u64>,
    /// The first flight before it, in segments.
    pub before: Option<u64>,
    /// The length of the pause.
    pub idle_s: Option<f64>,
}

/// What bounds a flight.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The whole response fits.
    Response,
    /// The client's receive window.
    Window,
    /// The server's congestion window, which still grew.
    CongestionWindow,
    /// The server's send buffer, or how it writes.
    SendBuffer,
}

/// The facts of `send-buffer`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SendBuffer {
    /// What bounds the flight.
    pub bound: Option<Bound>,
    /// The bytes of the larger of two flights.
    pub flight_bytes: Option<u64>,
}

/// The facts of `keep-alive`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct KeepAlive {
    /// The requests that one connection takes.
    pub max_requests: Option<u32>,
    /// A lower limit of `max_requests`, if that is not known.
    pub more_than_requests: Option<u32>,
    /// Whether connections persist if the client asks for it.
    pub on_request: Option<bool>,
    /// Whether connections persist by default.
    pub persistent: Option<bool>,
    /// A lower limit of `timeout_s`, if that is not known.
    pub timeout_more_than_s: Option<f64>,
    /// After how long an idle connection is closed: announced, or observed.
    pub timeout_s: Option<f64>,
    /// After how long the server closed an idle connection.
    pub timeout_seen_s: Option<f64>,
}

/// The facts of `pipelining`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Pipelining {
    /// Whether both requests were answered, in order.
    pub ok: Option<bool>,
}

/// One end of the connection.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Whether the client can take TIME-WAIT over from the server by an RST.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwapResult {
    /// The client holds it anyway.
    NotNeeded,
    /// An RST with the exact sequence number ends the server's.
    #[serde(rename = "accepted")]
    Works,
    /// It does not (RFC 1337): both ends would hold it.
    Refused,
}

/// The facts of `close`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Close {
    /// Who closes first after `Connection: close`.
    pub first_on_close: Option<End>,
    /// Who closed an idle connection first.
    pub first_on_idle: Option<End>,
    /// Whether the server reads on after it has closed its direction.
    pub half_close: Option<bool>,
    /// Whether an RST with the exact sequence number ends the server's TIME-WAIT.
    pub rst_ends_time_wait: Option<bool>,
    /// Whether the client can take TIME-WAIT over with an RST.
    pub swap: Option<SwapResult>,
    /// Who holds TIME-WAIT.
    pub time_wait: Option<End>,
}

/// The facts of `request-segments`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RequestSegments {
    /// How much later a request in two segments is answered than one in one.
    pub stall_ms: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_has_its_name_all_the_same() {
        for id in FindingId::ALL {
            let values = serde_json::to_value(Values::unknown(id)).unwrap();
            let values = values.as_object().unwrap();
            assert!(!values.is_empty() && values.values().all(serde_json::Value::is_null), "{id}");
        }
    }
}
