//! With which window it begins, and begins again.

use ackwise_tcp::Instant;

use super::{Nanos, PathDelays, Sender};

impl Sender {
    /// It sends again; an idle time before that may have cut its window.
    pub(super) fn notice_idle(&mut self, sent: Instant, delays: &PathDelays) {
        /// RFC 5681, section 4.1: idle for more than a retransmission timeout. Linux's is the round trip and at
        /// least this (`tcp_rtt_estimator`).
        const IDLE: Nanos = Nanos::from_millis(200);
        let Some(last) = &self.last else { return };
        // If data was in flight until just now, the sender was not idle.
        let waited = self
            .latest
            .as_ref()
            .is_some_and(|it| it.flight[0] > 0 && it.at + delays.immediate >= sent);
        let long = Nanos::between(last.sent, sent) > IDLE + delays.round_trip;
        let is_small =
            delays.is_next_to_sender() && self.window.is_no_larger_than_initial(self.full);
        if self.flight() == 0 && long && !waited && !is_small {
            self.window.idle();
        }
    }

    /// The initial window is this at least, in bytes.
    pub(crate) fn set_initial_window(&mut self, bytes: u64) {
        self.window.initial = bytes;
        self.window.least = self.window.least.max(bytes);
    }

    /// Segments that it sent before any was acknowledged, if the window kept it from sending more.
    pub(crate) const fn initial_window(&self) -> Option<u32> {
        if self.first_flight.limited { Some(self.first_flight.segments) } else { None }
    }
}
