//! How a sender spread its segments, in JSON.

use ackwise_capture::attribution::{Confidence, Pacing};
use schemars::JsonSchema;
use serde::Serialize;

use super::millis;

/// What one sender's departures show of pacing and of BBR.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Pacing")]
pub(super) struct PacingRow {
    /// Whether the sender was seen to be paced. Only a capture at the sender shows this; a slow link at the
    /// sender would look the same.
    paced: bool,
    /// Number of bursts that a timer, not an ACK, released.
    timer_bursts: u32,
    /// Number of bursts that either released.
    bursts: u32,
    /// Mean rate of the bursts that a timer released, in bits of data per second.
    rate_bits_per_second: u64,
    /// How sure it is that the sender uses BBR: `high` or `medium`; null if nothing shows it.
    bbr: Option<&'static str>,
    /// Number of gain cycles (ProbeBW): a quarter more than usual for a round trip, then a quarter less.
    gain_cycles: u32,
    /// Number of times with at most 4 segments in flight (ProbeRTT).
    probe_rtts: u32,
    /// How long these lasted in total.
    probe_rtt_ms: f64,
    /// From the first data to the end of BBR's startup; null if not seen.
    startup_ms: Option<f64>,
    /// How long its drain lasted; null if not seen.
    drain_ms: Option<f64>,
}

impl PacingRow {
    pub(super) fn of(it: &Pacing) -> Self {
        let [timer_bursts, bursts] = it.by_timer;
        let [startup_ms, drain_ms] =
            it.start.map_or([None, None], |spans| spans.map(|span| Some(millis(span))));
        Self {
            paced: it.is_paced(),
            timer_bursts,
            bursts,
            rate_bits_per_second: it.rate,
            bbr: it.bbr().map(Confidence::name),
            gain_cycles: it.gain_cycles,
            probe_rtts: it.probe_rtts,
            probe_rtt_ms: millis(it.probe_rtt_time),
            startup_ms,
            drain_ms,
        }
    }
}
