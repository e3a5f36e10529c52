//! What failed, in JSON.

use ackwise_capture::decode::IcmpReason;
use ackwise_cause::{FailureKind as Kind, GrpcStatus, Outcome, Party};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::millis;
use crate::{failures::Failure, reading::Explained};

/// A request without an answer, or an attempt to connect that brought no connection.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Failure")]
pub(super) struct FailureRow {
    /// Why it failed; its `outcome` if the reason does not show (docs/failures.md).
    #[schemars(schema_with = "kinds")]
    kind: &'static str,
    /// What happened.
    outcome: &'static str,
    /// The `id` of the exchange; null for an attempt to connect.
    exchange: Option<usize>,
    /// The `id` of the connection.
    connection: u32,
    /// Address and port of the server.
    server: String,
    /// When it began, in seconds since the first packet.
    at: f64,
    /// What it is proved to have taken.
    ms: f64,
    /// From its beginning to the client's next attempt, which had given up by then; null if nothing else shows its end.
    ms_at_most: Option<f64>,
    /// The end at which a change can remove it, or `path`; null if unknown.
    party: Option<&'static str>,
    /// The end whose FIN or RST ended it; null if neither did.
    ended_by: Option<&'static str>,
    /// Confidence in `kind`: `high`, `medium` or `low`.
    confidence: &'static str,
    /// What the packets also admit.
    rival: Option<&'static str>,
    /// How long the connection had been idle when the server closed it, and when the client used it; null if unknown.
    idle_ms: [Option<f64>; 2],
    /// Number of the packet in which the request begins.
    packet: Option<u64>,
    /// Bytes of data of segments that did not get through, if smaller ones did.
    blocked_bytes: Option<u32>,
    /// How often such a segment was sent; null if that was not seen.
    blocked_sends: Option<u8>,
    /// Number of the packet with an ICMP error about the connection.
    icmp_packet: Option<u64>,
    /// The MTU that ICMP asked for.
    icmp_mtu: Option<u32>,
    /// The code of ICMP's or ICMPv6's destination unreachable.
    icmp_code: Option<u8>,
    /// The error code of the RST_STREAM or GOAWAY that ended it (HTTP/2).
    http2_code: Option<u32>,
    /// The error code of a GOAWAY that the server had sent before it ended the connection, or with which it excluded the
    /// request (HTTP/2).
    goaway_code: Option<u32>,
    /// The deadline that the client had set for a gRPC call, and that was over (`grpc-timeout`).
    deadline_ms: Option<f64>,
    /// What gRPC's client reports of such a call, unless it sends it again: `DEADLINE_EXCEEDED`, `UNAVAILABLE`; null if it
    /// is no gRPC call, or if that is not known.
    grpc_status: Option<&'static str>,
    /// The TLS alert that ended the handshake: `unknown_ca`, …; null if there is none, or if it is encrypted.
    alert: Option<&'static str>,
    /// Hop limits (TTL) of the RST and of the end that it names, if they differ: it was sent on the way.
    hop_limits: Option<[u8; 2]>,
    /// Segments of its connection that were sent again, to the server and to the client.
    retransmitted: [u32; 2],
    /// Failures of this kind at this server, or at this host for attempts to connect; this one is included.
    alike: u64,
    /// The `id` of the exchange that did what this one could not, after the client tried again.
    recovered_by: Option<usize>,
    /// The `id` of the exchange for which a proxy made the request, or tried to connect; null if that does not show.
    made_for: Option<usize>,
}

impl FailureRow {
    pub(super) fn of(explained: &Explained, it: &Failure, alike: u64) -> Self {
        let connection = &explained.analysis.connections[it.connection as usize];
        Self {
            kind: it.kind.name(),
            outcome: it.outcome,
            exchange: it.exchange,
            connection: it.connection,
            server: it.server.to_string(),
            at: it.at.saturating_since(explained.analysis.first).as_secs_f64(),
            ms: millis(it.span),
            ms_at_most: it.at_most.map(millis),
            party: it.party.map(Party::name),
            ended_by: it.ended_by.map(Party::name),
            confidence: it.confidence.name(),
            rival: it.rival,
            idle_ms: it.idle.map(|idle| idle.map(millis)),
            packet: it.packet,
            blocked_bytes: it.black_hole.map(|it| it.size),
            blocked_sends: it.black_hole.and_then(|it| it.sends),
            icmp_packet: it.icmp.map(|it| it.number),
            icmp_mtu: it.icmp.and_then(|it| match it.reason {
                IcmpReason::TooBig { mtu } => Some(mtu),
                _ => None,
            }),
            icmp_code: it.icmp.and_then(|it| match it.reason {
                IcmpReason::Unreachable { code } => Some(code),
                _ => None,
            }),
            http2_code: it.http2_code,
            goaway_code: it.goaway_code,
            deadline_ms: it.deadline.map(millis),
            grpc_status: it.grpc_status.and_then(GrpcStatus::name),
            alert: it.alert.and_then(|it| it.name()),
            hop_limits: it.on_the_way.map(|it| [it.rst, it.end]),
            retransmitted: connection.repeated,
            alike,
            recovered_by: it.recovered_by,
            made_for: it.made_for,
        }
    }
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Kind::ALL.map(Kind::name) })
}

/// How exchanges end.
pub(super) fn outcomes(_: &mut SchemaGenerator) -> Schema {
    let names = Outcome::ALL.map(|it| Some(it.name()));
    let names: Vec<_> = names.into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}
