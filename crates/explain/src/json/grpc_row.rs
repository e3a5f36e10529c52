//! Statuses of gRPC, in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::grpc::Statuses;

/// A status of gRPC, and how many calls ended with it.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "GrpcStatus")]
pub(super) struct GrpcRow {
    /// The number in `grpc-status`.
    status: u16,
    /// Its name: `OK`, `NOT_FOUND`, …; null if gRPC has no such code.
    name: Option<&'static str>,
    /// Number of calls.
    calls: u64,
}

impl GrpcRow {
    pub(super) fn all(statuses: &Statuses) -> Vec<Self> {
        let row = |(status, calls): (ackwise_cause::GrpcStatus, _)| Self {
            status: status.0,
            name: status.name(),
            calls,
        };
        statuses.iter().map(row).collect()
    }
}
