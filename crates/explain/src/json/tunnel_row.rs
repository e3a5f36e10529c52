//! Tunnels and their messages, in JSON.

use ackwise_capture::{
    analysis::{HeldMessages, MessageCounts, TunnelResult},
    conversation::Tunnel,
};
use ackwise_cause::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use super::{super::tunnels::not_judged, Explained, millis};

/// A WebSocket or another tunnel.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Tunnel")]
pub(super) struct TunnelRow {
    /// `websocket`, `event-stream` (`text/event-stream` or newline-delimited JSON), `grpc-stream` (a call with more than one
    /// message in a direction), `connect` (a CONNECT tunnel with
    /// anything but cleartext HTTP in it), `upgrade` (another protocol after a 101), `push` (the server sends when
    /// something happens: Redis's SUBSCRIBE and MONITOR), `blocking` (a command of Redis that waits for another client or
    /// a timeout), `unanswered` (CLIENT REPLY OFF), `pipelined` (packets are missing of a client that pipelines, or its
    /// requests overlap with answers that cannot be distinguished), `session` (SSH), or of
    /// PostgreSQL `startup` (with authentication), `flush` (a unit with Flush) or `copy`.
    kind: &'static str,
    /// HTTP/2 stream; 0 if it is the whole connection.
    stream: u32,
    /// The `packet` of the exchange that opened it.
    packet: u64,
    /// When the response that opened it had been captured, in seconds since the first packet of the
    /// capture.
    start: f64,
    /// From then to its end, or to the last packet of the connection.
    not_judged_ms: f64,
    /// Its messages to the server; null if they cannot be read.
    to_server: Option<MessagesRow>,
    /// Its messages to the client.
    to_client: Option<MessagesRow>,
    /// From the start of the exchange that opened it to the end of the first message to the client.
    first_message_after_ms: Option<f64>,
    /// How a stream of gRPC ended: the code of `grpc-status`.
    grpc_status: Option<u16>,
}

/// Messages in one direction. Nobody is known to wait for the next one, so only the time for which TCP held one is a stall.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Messages")]
pub(super) struct MessagesRow {
    /// Number of whole messages.
    messages: u64,
    /// Number of control frames (WebSocket) or comments (event stream).
    control: u64,
    /// From the end of a message to that of the next: median, exact to 6 % with more than 8 messages.
    gap_median_ms: Option<f64>,
    /// The same: 99th percentile.
    gap_p99_ms: Option<f64>,
    /// Whether they could not be divided from some byte on.
    undivided: bool,
    /// Those that the sender's TCP held, by cause.
    held: Vec<HeldMessagesRow>,
}

/// Messages that were held before their first byte or between their pieces: a stall that is in no exchange.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "HeldMessages")]
struct HeldMessagesRow {
    /// `nagle-delayed-ack`, `nagle-rtt` or `cork-timer`.
    cause: &'static str,
    /// Number of messages.
    messages: u64,
    /// Number of segments in which they left.
    times: u64,
    /// The shortest wait of a segment. Of a cork it is the least that it can have been, else the most.
    shortest_ms: f64,
    /// The longest wait.
    longest_ms: f64,
    /// All of them.
    total_ms: f64,
    /// Confidence of the least sure one: `high` or `medium`.
    confidence: &'static str,
    /// Numbers of the packets that show the longest wait, in ascending order.
    packets: Vec<u64>,
}

impl TunnelRow {
    pub(super) fn of(explained: &Explained, it: &TunnelResult) -> Self {
        let messages = |direction: Direction| {
            it.messages.as_ref().map(|both| MessagesRow::of(&both[direction as usize]))
        };
        Self {
            kind: kind(it.kind),
            stream: it.stream,
            packet: it.packet,
            start: it.from.saturating_since(explained.analysis.first).as_secs_f64(),
            not_judged_ms: millis(not_judged(it)),
            to_server: messages(Direction::ToServer),
            to_client: messages(Direction::ToClient),
            first_message_after_ms: it.first_message_after.map(millis),
            grpc_status: it.grpc_status.map(|it| it.0),
        }
    }
}

impl MessagesRow {
    fn of(it: &MessageCounts) -> Self {
        Self {
            messages: it.messages,
            control: it.control,
            gap_median_ms: it.gaps.map(|gaps| millis(gaps.median)),
            gap_p99_ms: it.gaps.map(|gaps| millis(gaps.p99)),
            undivided: it.undivided,
            held: it.held.iter().map(HeldMessagesRow::of).collect(),
        }
    }
}

impl HeldMessagesRow {
    fn of(it: &HeldMessages) -> Self {
        let mut packets: Vec<u64> = it.evidence.packets().collect();
        packets.sort_unstable();
        Self {
            cause: it.cause.name(),
            messages: it.messages,
            times: it.times,
            shortest_ms: millis(it.shortest),
            longest_ms: millis(it.longest),
            total_ms: millis(it.total),
            confidence: it.confidence.name(),
            packets,
        }
    }
}

const fn kind(kind: Tunnel) -> &'static str {
    match kind {
        Tunnel::WebSocket => "websocket",
        Tunnel::EventStream => "event-stream",
        Tunnel::GrpcStream => "grpc-stream",
        Tunnel::Connect => "connect",
        Tunnel::Push => "push",
        Tunnel::Blocking => "blocking",
        Tunnel::Unanswered => "unanswered",
        Tunnel::Pipelined | Tunnel::Overlapping => "pipelined",
        Tunnel::Session => "session",
        Tunnel::Startup => "startup",
        Tunnel::Dialogue => "flush",
        Tunnel::Copy => "copy",
        _ => "upgrade",
    }
}
