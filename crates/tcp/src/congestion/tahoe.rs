//! 4.3BSD-Tahoe: every loss, however it shows, goes back to one segment and slow start.

use super::{Acked, CongestionControl, Repair, Windows, bsd, window::Window};
use crate::units::Instant;

/// 4.3BSD-Tahoe's congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Tahoe {
    window: Window,
}

impl Tahoe {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    #[must_use]
    pub fn new(windows: Windows, mss: u32) -> Self {
        Self { window: Window::new(windows, mss) }
    }

    fn start_again(&mut self, flight: u32) {
        self.window.threshold = bsd::threshold(&self.window, flight);
        self.window.collapse();
    }
}

impl CongestionControl for Tahoe {
    fn window(&self) -> u32 {
        self.window.congestion
    }

    fn threshold(&self) -> u32 {
        self.window.threshold
    }

    fn repair(&self) -> Repair {
        Repair::GoBack
    }

    fn on_ack(&mut self, _acked: Acked, _now: Instant) {
        bsd::open(&mut self.window);
    }

    fn on_loss(&mut self, flight: u32, _scoreboard: bool, _now: Instant) {
        self.start_again(flight);
    }

    // There is no fast recovery whose window could be inflated or deflated.
    fn on_duplicate_ack(&mut self) {}

    fn on_partial_ack(&mut self, _bytes: u32) {}

    fn on_recovered(&mut self, _flight: u32, _now: Instant) {}

    fn on_timeout(&mut self, flight: u32, _first: bool, _now: Instant) {
        self.start_again(flight);
    }

    fn on_restart(&mut self, windows: Windows, _now: Instant) {
        self.window.set(windows);
    }
}
