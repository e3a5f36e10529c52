//! RFC 5681's windows with RFC 6582's recovery.
//!
//! Appropriate byte counting (RFC 3465) only as far as RFC 5681 has taken it over: at most one
//! segment per ACK in slow start (L = 1), bytes in congestion avoidance. L = 2 is experimental.

use super::{Acked, Windows, window::Window};

/// RFC 6582's congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    pub(super) window: Window,
    /// Bytes acknowledged in congestion avoidance since cwnd last grew.
    acked: u32,
}

impl NewReno {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn new(windows: Windows, mss: u32) -> Self {
        Self { window: Window::new(windows, mss), acked: 0 }
    }

    /// RFC 5681, section 3.1: "When the number of bytes acknowledged reaches cwnd, then cwnd can be
    /// incremented by up to SMSS bytes"; never more than one segment, however long the ACK.
    fn avoid_congestion(&mut self, bytes: u32) {
        self.acked = self.acked.saturating_add(bytes);
        if let Some(left) = self.acked.checked_sub(self.window.congestion) {
            self.acked = left.min(self.window.congestion);
            self.window.grow(self.window.mss);
        }
    }

    pub(super) fn on_ack(&mut self, acked: Acked) {
        if !self.window.was_used(acked) {
            return;
        }
        if self.window.in_slow_start() {
            // RFC 5681, equation 2: "cwnd += min (N, SMSS)".
            self.window.grow(acked.bytes.min(self.window.mss));
        } else {
            self.avoid_congestion(acked.bytes);
        }
    }

    pub(super) fn on_loss(&mut self, flight: u32, scoreboard: bool) {
        let threshold = self.window.half_of(self.window.flight_at_loss(flight));
        self.window.enter_recovery(threshold, scoreboard);
        self.acked = 0;
    }

    /// RFC 5681, section 3.1: for a segment retransmitted by the timer before, "the value of
    /// ssthresh is held constant".
    pub(super) fn on_timeout(&mut self, flight: u32, first: bool) {
        if first {
            self.window.threshold = self.window.half_of(flight);
        }
        self.window.collapse();
        self.acked = 0;
    }

    pub(super) fn on_restart(&mut self, windows: Windows) {
        self.window.set(windows);
        self.acked = 0;
    }
}
