//! The facts of each finding, under the keys of `docs/check.md`. What is not known is null.
//!
//! Fields, and so keys, are in alphabetical order.

mod client;
mod stream;

use ackwise_cause::FindingId;
use schemars::JsonSchema;
use serde::Serialize;

pub use client::{
    CloseRace, ConnectionReuse, Ending, ExpectContinue, FirstClose, HappyEyeballs, RefusedUpload,
    RequestNagle, WindowUpdates,
};
pub use stream::{HeldBy, StreamFirstEvent, StreamGaps, StreamGzip, StreamHeld};

/// The values of one finding.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// Values of `split-head`.
    SplitHead(SplitHead),
    /// Values of `short-initial-segment`.
    ShortInitialSegment(ShortInitialSegment),
    /// Values of `nagle-delayed-ack`.
    NagleDelayedAck(NagleDelayedAck),
    /// Values of `cork-timer`.
    CorkTimer(CorkTimer),
    /// Values of `first-byte`.
    FirstByte(FirstByte),
    /// Values of `response-pause`.
    ResponsePause(ResponsePause),
    /// Values of `initial-window`.
    InitialWindow(InitialWindow),
    /// Values of `idle-restart`.
    IdleRestart(IdleRestart),
    /// Values of `send-buffer`.
    SendBuffer(SendBuffer),
    /// Values of `keep-alive`.
    KeepAlive(KeepAlive),
    /// Values of `pipelining`.
    Pipelining(Pipelining),
    /// Values of `close`.
    Close(Close),
    /// Values of `request-segments`.
    RequestSegments(RequestSegments),
    /// Values of `accept-queue-full`.
    AcceptQueueFull(AcceptQueueFull),
    /// Values of `early-response`.
    EarlyResponse(EarlyResponse),
    /// Values of `h2-flow-control`.
    H2FlowControl(H2FlowControl),
    /// Values of `h2-streams`.
    H2Streams(H2Streams),
    /// Values of `request-nagle`.
    RequestNagle(RequestNagle),
    /// Values of `expect-continue`.
    ExpectContinue(ExpectContinue),
    /// Values of `connection-reuse`.
    ConnectionReuse(ConnectionReuse),
    /// Values of `close-race`.
    CloseRace(CloseRace),
    /// Values of `first-close`.
    FirstClose(FirstClose),
    /// Values of `refused-upload`.
    RefusedUpload(RefusedUpload),
    /// Values of `happy-eyeballs`.
    HappyEyeballs(HappyEyeballs),
    /// Values of `window-updates`.
    WindowUpdates(WindowUpdates),
    /// Values of `stream-first-event`.
    StreamFirstEvent(StreamFirstEvent),
    /// Values of `stream-gaps`.
    StreamGaps(StreamGaps),
    /// Values of `stream-held`.
    StreamHeld(StreamHeld),
    /// Values of `stream-gzip`.
    StreamGzip(StreamGzip),
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
            FindingId::FirstByte => FirstByte::default().into(),
            FindingId::ResponsePause => ResponsePause::default().into(),
            FindingId::InitialWindow => InitialWindow::default().into(),
            FindingId::IdleRestart => IdleRestart::default().into(),
            FindingId::SendBuffer => SendBuffer::default().into(),
            FindingId::KeepAlive => KeepAlive::default().into(),
            FindingId::Pipelining => Pipelining::default().into(),
            FindingId::Close => Close::default().into(),
            FindingId::RequestSegments => RequestSegments::default().into(),
            FindingId::AcceptQueueFull => AcceptQueueFull::default().into(),
            FindingId::EarlyResponse => EarlyResponse::default().into(),
            FindingId::H2FlowControl => H2FlowControl::default().into(),
            FindingId::H2Streams => H2Streams::default().into(),
            FindingId::RequestNagle => RequestNagle::default().into(),
            FindingId::ExpectContinue => ExpectContinue::default().into(),
            FindingId::ConnectionReuse => ConnectionReuse::default().into(),
            FindingId::CloseRace => CloseRace::default().into(),
            FindingId::FirstClose => FirstClose::default().into(),
            FindingId::RefusedUpload => RefusedUpload::default().into(),
            FindingId::HappyEyeballs => HappyEyeballs::default().into(),
            FindingId::WindowUpdates => WindowUpdates::default().into(),
            FindingId::StreamFirstEvent => StreamFirstEvent::default().into(),
            FindingId::StreamGaps => StreamGaps::default().into(),
            FindingId::StreamHeld => StreamHeld::default().into(),
            FindingId::StreamGzip => StreamGzip::default().into(),
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
    FirstByte,
    ResponsePause,
    InitialWindow,
    IdleRestart,
    SendBuffer,
    KeepAlive,
    Pipelining,
    Close,
    RequestSegments,
    AcceptQueueFull,
    EarlyResponse,
    H2FlowControl,
    H2Streams,
    RequestNagle,
    ExpectContinue,
    ConnectionReuse,
    CloseRace,
    FirstClose,
    RefusedUpload,
    HappyEyeballs,
    WindowUpdates,
    StreamFirstEvent,
    StreamGaps,
    StreamHeld,
    StreamGzip
);

/// Values of `split-head`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SplitHead {
    /// Size of the response head.
    pub head_bytes: Option<u64>,
    /// Whether the head is sent in its own segment.
    pub split: Option<bool>,
}

/// Values of `short-initial-segment`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ShortInitialSegment {
    /// The MSS that the client announced.
    pub mss: Option<u16>,
    /// How long the response waited for a withheld ACK.
    pub stall_ms: Option<f64>,
}

/// What ends the pause in a response.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleasedBy {
    /// No pause.
    None,
    /// The client's ACK.
    Ack,
    /// A timer at the server.
    Timer,
    /// The application or the path.
    Other,
}

/// Values of `nagle-delayed-ack`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct NagleDelayedAck {
    /// Cost with an ACK delay of 120 ms.
    pub cost_ms_120: Option<f64>,
    /// Cost with an ACK delay of 200 ms; computed, not measured.
    pub cost_ms_200_computed: Option<f64>,
    /// Cost with an ACK delay of 40 ms.
    pub cost_ms_40: Option<f64>,
    /// First and third quartile of the stall with an ACK delay of 40 ms; only if they differ so much that
    /// the cost is doubtful.
    pub cost_quartiles_ms: Option<[f64; 2]>,
    /// Whether only the first response of a connection waits.
    pub only_first: Option<bool>,
    /// Whether only clients on the server's host lose time; null if none does.
    pub only_same_host: Option<bool>,
    /// Bytes of the worst response, if it waits and is a range of the page; null otherwise.
    pub range_bytes: Option<u64>,
    /// The client that the worst response waits for; null if none waits.
    pub receiver: Option<ReceiverName>,
    /// What ends the pause of the worst response.
    pub released_by: Option<ReleasedBy>,
    /// The tested responses; null if there were none.
    pub sizes: Option<Vec<TriedSize>>,
}

/// What a client acknowledges at once.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverName {
    /// More than one full segment, as Linux does.
    Linux,
    /// Every second segment, full or not, as Windows does.
    EverySecond,
    /// Two full segments, as BSD did in 1996.
    TwoFull,
}

/// Responses of `nagle-delayed-ack` with the same number.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ByRequest {
    /// Responses for which the client delayed its ACK.
    pub asked: u32,
    /// Those that waited for it.
    pub held: u32,
    /// The number of the request on its connection, from 1.
    pub request: u32,
}

/// A response tested by `nagle-delayed-ack`.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct TriedSize {
    /// How many responses waited, by the number of the request on its connection.
    pub by_request: Vec<ByRequest>,
    /// Size of the content.
    pub bytes: u64,
    /// The requested path.
    pub path: String,
    /// The client that the response waits for; null if it does not wait.
    pub receiver: Option<ReceiverName>,
    /// What ends the pause.
    pub released_by: Option<ReleasedBy>,
    /// Length of the pause.
    pub stall_ms: Option<f64>,
}

/// Values of `cork-timer`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct CorkTimer {
    /// Sizes of the tested responses; null if there were none.
    pub sizes: Option<Vec<u64>>,
    /// How long the segment was held.
    pub stall_ms: Option<f64>,
}

/// Values of `first-byte`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct FirstByte {
    /// Time to the first byte by the number of the request after 0.3 s without requests: the quickest of each number.
    pub by_request_ms: Option<Vec<f64>>,
    /// Median time from the end of a request to the first byte of its response.
    pub median_ms: Option<f64>,
    /// The 99th percentile; of fewer than 100 responses, the slowest.
    pub p99_ms: Option<f64>,
    /// Field of the response that shows a proxy; null if none does.
    pub proxy: Option<String>,
    /// How much longer than a round trip the median is.
    pub wait_ms: Option<f64>,
}

/// Values of `response-pause`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ResponsePause {
    /// Bytes of the response before the pause, the head included; null without a pause.
    pub after_bytes: Option<u64>,
    /// Median pause of those that paused; null without a pause.
    pub pause_ms: Option<f64>,
    /// Responses that paused.
    pub paused: Option<u32>,
    /// Responses in all.
    pub responses: Option<u32>,
}

/// Values of `initial-window`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct InitialWindow {
    /// Lower bound of `segments`, if that is unknown.
    pub at_least: Option<u64>,
    /// Bytes sent before the first ACK.
    pub bytes: Option<u64>,
    /// Size of the largest segment of the response.
    pub mss: Option<u64>,
    /// Segments sent before the first ACK.
    pub segments: Option<u64>,
}

/// Values of `idle-restart`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct IdleRestart {
    /// Segments sent before the first ACK, after the idle period.
    pub after: Option<u64>,
    /// Segments sent before the first ACK, before the idle period.
    pub before: Option<u64>,
    /// Length of the idle period.
    pub idle_s: Option<f64>,
    /// What pacing would save at least in a response of `before` segments after such a period: slow
    /// start from `after` against spreading it over one round trip. Only if the window falls.
    pub paced_saves_ms: Option<f64>,
}

/// What limits the data in flight.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The size of the response.
    Response,
    /// The client's receive window.
    Window,
    /// The server's congestion window, which was still growing.
    CongestionWindow,
    /// The server's send buffer or write pattern.
    SendBuffer,
}

/// Values of `send-buffer`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SendBuffer {
    /// What limits the data in flight.
    pub bound: Option<Bound>,
    /// The larger of two measurements of the data in flight.
    pub flight_bytes: Option<u64>,
}

/// Values of `keep-alive`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct KeepAlive {
    /// How long the client or balancer in front keeps idle connections (`--behind`).
    pub behind_s: Option<f64>,
    /// Whether the last response of a full connection says that the server closes it; null if `max_requests` was not
    /// observed.
    pub limit_announced: Option<bool>,
    /// How much longer than `behind_s` the server has to keep them.
    pub margin_s: Option<f64>,
    /// Number of requests per connection, as observed, or as announced if the limit was not reached.
    pub max_requests: Option<u32>,
    /// Lower bound of `max_requests`, if that is unknown.
    pub more_than_requests: Option<u32>,
    /// Whether connections persist after a request with `Connection: Keep-Alive`.
    pub on_request: Option<bool>,
    /// Whether connections persist by default.
    pub persistent: Option<bool>,
    /// Lower bound of `timeout_s`, if that is unknown.
    pub timeout_more_than_s: Option<f64>,
    /// Idle timeout as announced, or as observed if none was announced.
    pub timeout_s: Option<f64>,
    /// Idle timeout as observed.
    pub timeout_seen_s: Option<f64>,
}

/// Values of `pipelining`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Pipelining {
    /// Whether both requests were answered in order.
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

/// Whether the client can take TIME-WAIT over from the server with an RST.
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

/// Values of `close`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Close {
    /// The end that closes first after `Connection: close`.
    pub first_on_close: Option<End>,
    /// The end that closed an idle connection first.
    pub first_on_idle: Option<End>,
    /// Whether the server keeps reading after it has closed its direction.
    pub half_close: Option<bool>,
    /// Whether an RST with the exact sequence number ends the server's TIME-WAIT.
    pub rst_ends_time_wait: Option<bool>,
    /// Whether the client can take TIME-WAIT over with an RST.
    pub swap: Option<SwapResult>,
    /// The end that holds TIME-WAIT.
    pub time_wait: Option<End>,
}

/// The facts of `request-segments`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RequestSegments {
    /// How much later a request in two writes is answered if the client's TCP uses Nagle's algorithm: how
    /// long the server delays its ACK. Only with `--data-split`.
    pub nagle_stall_ms: Option<f64>,
    /// How much later a request in two segments is answered than one in one.
    pub stall_ms: Option<f64>,
}

/// Values of `early-response`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct EarlyResponse {
    /// Whether the server reset the connection.
    pub reset: Option<bool>,
    /// The status of the response before the end of the request; null if there was none.
    pub status: Option<u16>,
}

/// Values of `h2-flow-control`: the server's windows, which hold what the client sends.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct H2FlowControl {
    /// Bytes that all streams of a connection may carry before the server grants more.
    pub connection_bytes: Option<u64>,
    /// Bytes of the request's content; null without `--data`.
    pub content_bytes: Option<u64>,
    /// Bytes that one stream may carry before the server grants more.
    pub stream_bytes: Option<u32>,
    /// How long the request waited for room in the windows, in all; null without `--data`.
    pub waited_ms: Option<f64>,
}

/// Values of `h2-streams`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct H2Streams {
    /// Streams that a client may have open at once; null for any number.
    pub max_concurrent: Option<u32>,
    /// How long the server took to acknowledge a PING; null if it did not.
    pub ping_ms: Option<f64>,
}

/// Values of `accept-queue-full`, as read on the server's host.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct AcceptQueueFull {
    /// Connections that the program had not accepted when the check ended.
    pub backlog: Option<u32>,
    /// SYNs and connections that the listening socket dropped during the check, for whatever reason.
    pub dropped: Option<u32>,
    /// The limit of the queue: listen(2)'s, at most net.core.somaxconn.
    pub limit: Option<u32>,
    /// By how much TcpExt ListenDrops of the whole host grew during the check.
    pub listen_drops: Option<u64>,
    /// By how much TcpExt ListenOverflows of the whole host grew during the check.
    pub listen_overflows: Option<u64>,
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
