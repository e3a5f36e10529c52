//! A request on both sides of a proxy, in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::millis;
use crate::hops::Hop;

/// A request that a proxy passed on. Times count from the beginning of its client's exchange.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Hop")]
pub(super) struct HopRow {
    /// The `id` of the exchange with the proxy's client.
    client_exchange: usize,
    /// The `id` of the exchange with the server behind the proxy.
    server_exchange: usize,
    /// When the proxy's exchange with that server began.
    asked_after_ms: f64,
    /// When the proxy had the first byte of the response; null if there is none, or it sent its own before.
    answered_after_ms: Option<f64>,
    /// When it sent the first byte of its response; null if it did not.
    passed_on_after_ms: Option<f64>,
    /// Confidence: `high` (`X-Request-Id` or `traceparent` is the same), `medium` (host, method and path are) or `low`
    /// (the times are nested; method and path are encrypted, or all is on one host).
    confidence: &'static str,
    /// What the packets also admit.
    rival: Option<&'static str>,
}

impl HopRow {
    pub(super) fn of(it: &Hop) -> Self {
        Self {
            client_exchange: it.front,
            server_exchange: it.back,
            asked_after_ms: millis(it.asked_after),
            answered_after_ms: it.answered_after.map(millis),
            passed_on_after_ms: it.passed_on_after.map(millis),
            confidence: it.confidence.name(),
            rival: it.rival(),
        }
    }
}
