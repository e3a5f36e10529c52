//! How gRPC calls ended: the counts of their statuses, which accuse nobody.
//!
//! A status is what the server's program says of one call. So reports count it, and do not call it a failure.

use std::collections::BTreeMap;

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_cause::GrpcStatus;
use ackwise_text::words::{counted, grouped};

/// Numbers of calls by their status, in the order of the codes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Statuses(BTreeMap<GrpcStatus, u64>);

impl Statuses {
    pub(super) fn of<'a>(exchanges: impl Iterator<Item = &'a ExchangeResult>) -> Self {
        let mut counts = BTreeMap::new();
        for status in exchanges.filter_map(|it| it.grpc_status) {
            *counts.entry(status).or_default() += 1;
        }
        Self(counts)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (GrpcStatus, u64)> {
        self.0.iter().map(|(status, count)| (*status, *count))
    }

    /// `, grpc-status 0 OK: 3, 5 NOT_FOUND: 2`; empty if no status was seen.
    pub(super) fn listed(&self) -> String {
        let one = |(status, count)| format!("{}: {}", status, grouped(count));
        let all: Vec<_> = self.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!(", grpc-status {}", all.join(", ")) }
    }
}

/// How many calls did not succeed; `None` if none is known to.
pub(super) fn note(analysis: &Analysis) -> Option<String> {
    let statuses = Statuses::of(analysis.exchanges.iter());
    let all: u64 = statuses.iter().map(|it| it.1).sum();
    let others = statuses.iter().filter(|it| it.0 != GrpcStatus::OK);
    let one = |(status, count)| format!("{} ended with grpc-status {status}", grouped(count));
    let others: Vec<_> = others.map(one).collect();
    (!others.is_empty()).then(|| {
        format!(
            "gRPC: of {} whose status the capture shows, {}.",
            counted(all, "call"),
            others.join(", ")
        )
    })
}

/// ` 200, grpc-status 5 NOT_FOUND`, as far as known.
pub(super) fn statuses(exchange: &ExchangeResult) -> String {
    let http = exchange.status.map_or_else(String::new, |status| format!(" {status}"));
    let grpc = exchange.grpc_status.map(|status| format!(", grpc-status {status}"));
    http + &grpc.unwrap_or_default()
}
