//! The table of exchanges by URL path.

use schemars::JsonSchema;
use serde::Serialize;

use super::{causes, directions, grpc_row::GrpcRow, millis};
use crate::{path_streams::PathStreams, paths::PathGroup, totals::Total};

/// The exchanges with one URL path.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Path")]
pub(super) struct PathRow {
    /// The path as sent, without the query; null for all exchanges whose path was not captured or is
    /// encrypted.
    path: Option<String>,
    /// Their methods.
    methods: Vec<String>,
    /// Number of exchanges.
    exchanges: u64,
    /// Number of exchanges among them that failed.
    failed: u64,
    /// How gRPC calls among them ended, by status.
    grpc_statuses: Vec<GrpcRow>,
    /// The streams that they opened, if messages of one were read.
    streams: Option<PathStreamsRow>,
    /// Sum of their durations.
    total_ms: f64,
    /// Median of their durations.
    median_ms: f64,
    /// 95th percentile of their durations.
    p95_ms: f64,
    /// The cause with the largest part of the total, in one direction of the data; null if the exchanges have no duration.
    largest: Option<PathCause>,
    /// The part of the total that stalls took, which a setting or a code change removes.
    avoidable_ms: f64,
}

/// The streams (WebSocket, event stream, gRPC) that exchanges with one path opened.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "PathStreams")]
struct PathStreamsRow {
    /// Number of streams.
    streams: u64,
    /// Number of whole messages to the client.
    messages: u64,
    /// From the start of an exchange to the end of the first message to the client: median of the streams.
    first_message_median_ms: Option<f64>,
    /// The same: 95th percentile.
    first_message_p95_ms: Option<f64>,
    /// From the end of a message to that of the next: median of the streams' medians.
    gap_median_ms: Option<f64>,
    /// The same: the longest of the streams' 99th percentiles.
    gap_p99_ms: Option<f64>,
}

/// What took the largest part of the time of a path.
#[derive(Debug, JsonSchema, Serialize)]
struct PathCause {
    /// The cause.
    #[schemars(schema_with = "causes")]
    cause: &'static str,
    /// Direction of the delayed data.
    #[schemars(schema_with = "directions")]
    direction: &'static str,
    /// Time lost to the cause.
    ms: f64,
    /// The same as a part of the total, from 0 to 1.
    share: f64,
    /// Confidence of nine tenths of this time or more: `high`, `medium` or `low`.
    confidence: &'static str,
}

impl PathRow {
    pub(super) fn of(group: &PathGroup<'_>) -> Self {
        let cause = |it: Total| PathCause {
            cause: it.cause.name(),
            direction: it.direction.name(),
            ms: millis(it.span),
            share: group.share(it.span),
            confidence: it.confidence.name(),
        };
        Self {
            path: group.path.map(str::to_owned),
            methods: group.methods.iter().map(|it| (*it).to_owned()).collect(),
            exchanges: group.count,
            failed: group.failed,
            grpc_statuses: GrpcRow::all(&group.statuses),
            streams: group.streams.as_ref().map(PathStreamsRow::of),
            total_ms: millis(group.total),
            median_ms: millis(group.median),
            p95_ms: millis(group.p95),
            largest: group.largest_one_way.map(cause),
            avoidable_ms: millis(group.avoidable),
        }
    }
}

impl PathStreamsRow {
    fn of(it: &PathStreams) -> Self {
        let [first, apart] = [it.first_after, it.apart].map(|it| it.map(|both| both.map(millis)));
        Self {
            streams: it.streams,
            messages: it.messages,
            first_message_median_ms: first.map(|it| it[0]),
            first_message_p95_ms: first.map(|it| it[1]),
            gap_median_ms: apart.map(|it| it[0]),
            gap_p99_ms: apart.map(|it| it[1]),
        }
    }
}
