//! 4.3BSD-Reno: fast recovery, ended by the first ACK for new data.

use super::{Acked, CongestionControl, Repair, Windows, bsd, window::Window};
use crate::units::Instant;

/// 4.3BSD-Reno's congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    window: Window,
}

impl Reno {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    #[must_use]
    pub fn new(windows: Windows, mss: u32) -> Self {
        Self { window: Window::new(windows, mss) }
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> u32 {
        self.window.congestion
    }

    fn threshold(&self) -> u32 {
        self.window.threshold
    }

    fn repair(&self) -> Repair {
        Repair::OneSegment
    }

    fn on_ack(&mut self, _acked: Acked, _now: Instant) {
        bsd::open(&mut self.window);
    }

    /// `scoreboard` is ignored: this control is older than SACK and does not ask for it.
    fn on_loss(&mut self, flight: u32, _scoreboard: bool, _now: Instant) {
        let threshold = bsd::threshold(&self.window, flight);
        self.window.enter_recovery(threshold, false);
    }

    fn on_duplicate_ack(&mut self) {
        self.window.inflate();
    }

    /// Does not happen: any ACK for new data ends the recovery.
    fn on_partial_ack(&mut self, _bytes: u32) {}

    /// RFC 5681, section 3.2, step 6: "set cwnd to ssthresh". That may release a burst; RFC 6582
    /// has the cure, BSD has not.
    fn on_recovered(&mut self, _flight: u32, _now: Instant) {
        self.window.congestion = self.window.congestion.min(self.window.threshold);
    }

    /// ssthresh is halved at each expiry, also of the same segment: `first` is RFC 5681's rule.
    fn on_timeout(&mut self, flight: u32, _first: bool, _now: Instant) {
        self.window.threshold = bsd::threshold(&self.window, flight);
        self.window.collapse();
    }

    fn on_restart(&mut self, windows: Windows, _now: Instant) {
        self.window.set(windows);
    }
}
