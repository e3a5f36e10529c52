//! RFC 5681's windows with RFC 6675's recovery. The scoreboard is the endpoint's; where SACK was not
//! negotiated, the recovery is RFC 6582's.

use super::{Acked, CongestionControl, NewReno, Repair, Windows};
use crate::units::Instant;

/// RFC 5681's congestion control for a connection with SACK.
#[derive(Clone, Copy, Debug)]
pub struct SackReno {
    reno: NewReno,
}

impl SackReno {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    #[must_use]
    pub fn new(windows: Windows, mss: u32) -> Self {
        Self { reno: NewReno::new(windows, mss) }
    }
}

impl CongestionControl for SackReno {
    fn window(&self) -> u32 {
        self.reno.window()
    }

    fn threshold(&self) -> u32 {
        self.reno.threshold()
    }

    fn repair(&self) -> Repair {
        Repair::Scoreboard
    }

    fn on_ack(&mut self, acked: Acked, now: Instant) {
        self.reno.on_ack(acked, now);
    }

    fn on_loss(&mut self, flight: u32, scoreboard: bool, now: Instant) {
        self.reno.on_loss(flight, scoreboard, now);
    }

    fn on_duplicate_ack(&mut self) {
        self.reno.on_duplicate_ack();
    }

    fn on_partial_ack(&mut self, bytes: u32) {
        self.reno.on_partial_ack(bytes);
    }

    fn on_recovered(&mut self, flight: u32, now: Instant) {
        self.reno.on_recovered(flight, now);
    }

    fn on_timeout(&mut self, flight: u32, first: bool, now: Instant) {
        self.reno.on_timeout(flight, first, now);
    }

    fn on_restart(&mut self, windows: Windows, now: Instant) {
        self.reno.on_restart(windows, now);
    }
}
