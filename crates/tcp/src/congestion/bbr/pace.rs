//! How BBR paces: its rate, and the kernel's internal pacing (`tcp_update_skb_after_send`,
//! `tcp_tso_autosize`).

use super::{Bbr, GAIN_SHIFT, HIGH_GAIN, RATE_SHIFT, RATE_UNIT, micros};
use crate::{
    pacing::{GSO_MAX, PACING_SHIFT, burst},
    units::{Instant, Nanos},
};

impl Bbr {
    /// Bytes per second.
    pub(crate) const fn pacing_rate(&self) -> u64 {
        self.pacer.rate()
    }

    /// When the next segment may leave, if that is not yet.
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        self.pacer.held_until(now)
    }

    /// A segment with `bytes` of data has left.
    pub(crate) fn note_paced(&mut self, bytes: u32, shortest: Option<Nanos>, now: Instant) {
        let quantum = self.quantum(shortest);
        self.pacer.on_sent(bytes, quantum, now);
    }

    /// What leaves at once, in bytes; two segments at least if the rate is not low.
    fn quantum(&self, shortest: Option<Nanos>) -> u32 {
        self.burst(shortest) * self.window.mss
    }

    /// The same in segments.
    pub(crate) fn burst(&self, shortest: Option<Nanos>) -> u32 {
        burst(self.pacing_rate(), shortest, self.window.mss).max(self.least_burst())
    }

    /// When what was sent last counts as sent (`tcp_wstamp_ns`).
    pub(crate) const fn sent_at(&self) -> Instant {
        self.pacer.next()
    }

    /// `bbr_tso_segs_goal`.
    pub(super) fn burst_segments(&self) -> u32 {
        let bytes =
            (self.pacing_rate() >> PACING_SHIFT).min(u64::from(GSO_MAX) - 1 - MAX_TCP_HEADER);
        let segments = u32::try_from(bytes).unwrap_or(GSO_MAX) / self.window.mss;
        segments.max(self.least_burst()).min(127)
    }

    /// `bbr_min_tso_segs`.
    const fn least_burst(&self) -> u32 {
        if self.pacing_rate() < LOW_RATE { 1 } else { 2 }
    }

    /// `bbr_packets_in_net_at_edt`: what will be in the network when the next segment may leave.
    pub(super) fn in_network(&self, in_flight: u32, now: Instant) -> u32 {
        let wait = micros(Nanos::between(now, self.pacer.next()));
        let delivered = u64::from(self.bandwidth()) * u64::from(wait) / RATE_UNIT;
        let more = if self.pacing_gain() > super::UNIT { self.burst_segments() } else { 0 };
        let delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
        (in_flight + more).saturating_sub(delivered)
    }

    /// `bbr_init_pacing_rate_from_rtt`: a high gain times cwnd per round trip, of 1 ms while there is none.
    pub(super) fn start_pace(&mut self, srtt: Option<Nanos>) {
        self.has_seen_round_trip |= srtt.is_some();
        let time = srtt.map_or(1_000, |srtt| micros(srtt).max(1));
        let bandwidth = (u64::from(self.segments()) << RATE_SHIFT) / u64::from(time);
        self.pacer.set_rate(self.rate_of(bandwidth, HIGH_GAIN));
    }

    /// `bbr_set_pacing_rate`: until the pipe is full, the rate only grows.
    pub(super) fn set_pace(&mut self, bandwidth: u32, gain: u32, srtt: Option<Nanos>) {
        if !self.has_seen_round_trip && srtt.is_some() {
            self.start_pace(srtt);
        }
        let rate = self.rate_of(bandwidth.into(), gain);
        if self.full || rate > self.pacing_rate() {
            self.pacer.set_rate(rate);
        }
    }

    /// `bbr_rate_bytes_per_sec`: in bytes per second, and one percent less, lest a queue builds up.
    pub(super) fn rate_of(&self, bandwidth: u64, gain: u32) -> u64 {
        let bytes =
            (u128::from(bandwidth) * u128::from(self.window.mss) * u128::from(gain)) >> GAIN_SHIFT;
        let rate = (bytes * 990_000) >> RATE_SHIFT;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// Nine segments, for the tenth counts (`data_segs_out >= 10`).
pub(super) const UNPACED: u8 = 9;
/// `MAX_TCP_HEADER`, on a 64-bit kernel with IPv6.
const MAX_TCP_HEADER: u64 = 320;
/// `bbr_min_tso_rate`, in bytes per second.
const LOW_RATE: u64 = 1_200_000 / 8;
