//! RFC 5681's windows with RFC 6582's recovery.
//!
//! Appropriate byte counting (RFC 3465) only as far as RFC 5681 has taken it over: at most one
//! segment per ACK in slow start (L = 1), bytes in congestion avoidance. L = 2 is experimental. Linux has
//! no limit.

use super::{Acked, Expiry, Repair, Windows, window::Window};

/// RFC 6582's congestion control.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // As for `Cubic`.
pub(crate) struct NewReno {
    pub(super) window: Window,
    /// Bytes acknowledged in congestion avoidance since cwnd last grew.
    acked: u32,
    rules: Rules,
}

/// Whose windows they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rules {
    Rfc5681,
    Linux,
}

impl NewReno {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn new(windows: Windows, mss: u32) -> Self {
        Self { window: Window::new(windows, mss), acked: 0, rules: Rules::Rfc5681 }
    }

    /// The same with Linux's rules.
    pub(crate) fn linux(windows: Windows, mss: u32) -> Self {
        Self { rules: Rules::Linux, ..Self::new(windows, mss) }
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
        if self.rules == Rules::Linux {
            self.open_as_linux(acked.delivered);
        } else if self.window.in_slow_start() {
            // RFC 5681, equation 2: "cwnd += min (N, SMSS)".
            self.window.grow(acked.bytes.min(self.window.mss));
        } else {
            self.avoid_congestion(acked.bytes);
        }
    }

    /// Linux `tcp_reno_cong_avoid`: slow start by all that was delivered, up to ssthresh, and a segment for
    /// each window of the rest.
    fn open_as_linux(&mut self, delivered: u32) {
        let room = self.window.threshold.saturating_sub(self.window.congestion);
        self.window.grow(delivered.min(room));
        let left = delivered.saturating_sub(room);
        if left == 0 {
            return;
        }
        // `tcp_cong_avoid_ai`: what was left over from a larger window counts as one.
        if self.acked >= self.window.congestion {
            self.acked = 0;
            self.window.grow(self.window.mss);
        }
        self.acked = self.acked.saturating_add(left);
        let windows = self.acked / self.window.congestion;
        self.acked -= windows * self.window.congestion;
        self.window.grow(windows.saturating_mul(self.window.mss));
    }

    /// Half of what was outstanding, or of cwnd (`tcp_reno_ssthresh`).
    fn reduced(&self, flight: u32) -> u32 {
        match self.rules {
            Rules::Rfc5681 => self.window.half_of(flight),
            // In whole segments.
            Rules::Linux => {
                let Window { congestion, mss, .. } = self.window;
                (congestion / mss / 2).max(2).saturating_mul(mss)
            }
        }
    }

    pub(super) fn on_loss(&mut self, flight: u32, repair: Repair) {
        let threshold = self.reduced(self.window.flight_at_loss(flight));
        self.window.enter_recovery(threshold, repair);
        self.acked = 0;
    }

    /// RFC 5681, section 3.1: for a segment retransmitted by the timer before, "the value of
    /// ssthresh is held constant".
    pub(super) fn on_timeout(&mut self, flight: u32, expiry: Expiry) {
        if expiry == Expiry::First {
            self.window.threshold = self.reduced(flight);
        }
        self.window.collapse();
        self.acked = 0;
    }

    pub(super) fn on_restart(&mut self, windows: Windows) {
        self.window.set(windows);
        self.acked = 0;
    }
}
