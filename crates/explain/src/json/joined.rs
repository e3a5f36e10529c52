//! How two captures were joined.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::millis;

/// Two captures of the same connections.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Joined {
    /// Offset of the server's clock; positive if it is ahead of the client's clock.
    clock_offset_ms: f64,
    /// Largest possible error of the offset, in either direction.
    uncertainty_ms: f64,
    /// Change of the offset during the capture.
    drift_ms: f64,
    /// Numbers of packets found in both captures, one per direction (to the server, to the client).
    packets: [u64; 2],
    /// Number of connections found in both captures.
    connections: u64,
    /// Number of exchanges explained from both captures.
    exchanges: u64,
    /// Number of exchanges explained from the client's capture only.
    alone: u64,
}

impl Joined {
    pub(super) fn of(it: &crate::Joined) -> Self {
        let crate::Joined { clocks, counts } = it;
        let signed = |nanos: i64| {
            millis(Duration::from_nanos(nanos.unsigned_abs())).copysign(nanos.signum() as f64)
        };
        Self {
            clock_offset_ms: signed(clocks.ahead),
            uncertainty_ms: millis(clocks.uncertainty),
            drift_ms: signed(clocks.drift),
            packets: clocks.packets,
            connections: counts.connections,
            exchanges: counts.exchanges,
            alone: counts.alone,
        }
    }
}
