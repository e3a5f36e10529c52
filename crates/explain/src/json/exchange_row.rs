//! An exchange, in JSON.

use ackwise_capture::{
    analysis::ExchangeResult,
    attribution::{LossKind, Rule, Share},
};
use ackwise_cause::{H2Window, Party};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{causes, directions, failure_row::outcomes, millis, parties, rivals};
use crate::{clock_time::utc, exchanges::in_order, reading::Explained};

/// One request and its response.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Exchange")]
pub(super) struct ExchangeRow {
    /// Number of the exchange: 0 for the first one in the capture. `--export` takes it.
    id: usize,
    /// The `id` of the connection.
    connection: u32,
    /// HTTP/2 stream; 0 for other protocols.
    stream: u32,
    /// Start of the exchange, in seconds since the first packet of the capture.
    start: f64,
    /// Start of the exchange in UTC (RFC 3339).
    start_time: String,
    /// From the first byte of the request to the last byte of the response; the first exchange on a connection
    /// usually begins with the SYN.
    duration_ms: f64,
    /// In a capture away from the client: from the last byte of the response to its ACK. The byte arrived at the
    /// client within this time, which `duration_ms` does not include. Null if it is not known.
    acknowledged_after_ms: Option<f64>,
    /// Method and path, without the query; null if they were not captured or are encrypted.
    request: Option<String>,
    /// Status code; null if it was not captured or is encrypted.
    status: Option<u16>,
    /// The `grpc-status` of its trailers; null if it is no gRPC call, or if that was not captured or is hidden.
    grpc_status: Option<u16>,
    /// Size of the request, in bytes.
    request_bytes: u64,
    /// Size of the response, in bytes.
    response_bytes: u64,
    /// Whether the end of the response was captured.
    complete: bool,
    /// How the exchange ended (docs/failures.md); null if the capture or the protocol does not show it.
    #[schemars(schema_with = "outcomes")]
    outcome: Option<&'static str>,
    /// Whether the protocol's framing shows where the request and the response end.
    exact: bool,
    /// Number of the packet in which the request begins.
    packet: u64,
    /// Numbers of the packets in which the response begins and ends; null if unknown.
    response_packets: [Option<u64>; 2],
    /// The duration, divided by cause; the times add up to `duration_ms`.
    causes: Vec<Cause>,
}

/// Time that one exchange spent on one cause, in one direction.
#[derive(Debug, JsonSchema, Serialize)]
struct Cause {
    /// The cause.
    #[schemars(schema_with = "causes")]
    cause: &'static str,
    /// Direction of the delayed data.
    #[schemars(schema_with = "directions")]
    direction: &'static str,
    /// The end at which a change can remove the cause, or `path`; null if unknown.
    #[schemars(schema_with = "parties")]
    party: Option<&'static str>,
    /// Time lost to the cause.
    ms: f64,
    /// Number of times the cause occurred.
    times: u32,
    /// The longest wait.
    longest_ms: f64,
    /// Confidence: `high` (the packets show the cause directly), `medium` (another cause is unlikely) or `low`
    /// (another cause would look nearly the same).
    confidence: &'static str,
    /// Another cause that the packets do not rule out; null if there is none.
    #[schemars(schema_with = "rivals")]
    rival: Option<&'static str>,
    /// Kind of the loss, for `loss-recovery` and `retransmission-timeout`; null if unknown.
    #[schemars(schema_with = "kinds")]
    kind: Option<&'static str>,
    /// For `h2-flow-control`, which windows held the data: that of the `stream`, of the `connection`, or `both`, where
    /// raising one alone would change next to nothing; null if unknown.
    #[schemars(schema_with = "windows")]
    window: Option<&'static str>,
    /// The rule that decided, of the longest wait (`ackwise explain --rules`; names may change).
    rule: &'static str,
    /// The doubt that limits the confidence, if one does.
    doubt: Option<&'static str>,
    /// Numbers of the packets that show the longest wait, in ascending order.
    packets: Vec<u64>,
}

impl ExchangeRow {
    pub(super) fn of(explained: &Explained, id: usize, it: &ExchangeResult) -> Self {
        Self {
            id,
            connection: it.connection,
            stream: it.stream,
            start: it.start.saturating_since(explained.analysis.first).as_secs_f64(),
            start_time: utc(it.start),
            duration_ms: millis(it.duration),
            acknowledged_after_ms: it.acknowledged_after().map(millis),
            request: it.request.as_deref().map(str::to_owned),
            status: it.status,
            grpc_status: it.grpc_status.map(|it| it.0),
            request_bytes: it.bytes[0],
            response_bytes: it.bytes[1],
            complete: it.complete,
            outcome: it.ending.map(|it| it.outcome.name()),
            exact: it.exact,
            packet: it.packet,
            response_packets: it.response_packets(),
            causes: it.shares.iter().map(cause).collect(),
        }
    }
}

fn cause(share: Share) -> Cause {
    Cause {
        cause: share.cause.name(),
        direction: share.direction.name(),
        party: share.cause.party(share.direction).map(Party::name),
        ms: millis(share.span),
        times: share.times,
        longest_ms: millis(share.longest),
        confidence: share.confidence.name(),
        rival: share.rival.map(ackwise_cause::Cause::name),
        kind: share.kind.map(LossKind::name),
        window: share.window.map(H2Window::name),
        rule: share.rule.name(),
        doubt: share.doubt.map(Rule::name),
        packets: in_order(&share),
    }
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    let names = LossKind::ALL.map(|kind| Some(kind.name()));
    let names: Vec<_> = names.into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

fn windows(_: &mut SchemaGenerator) -> Schema {
    let names = H2Window::ALL.map(|window| Some(window.name()));
    let names: Vec<_> = names.into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}
