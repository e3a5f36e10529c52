//! Idle times, which may have cut the congestion window.

use ackwise_tcp::Instant;

use super::{Nanos, PathDelays, Sender};

impl Sender {
    /// Data leaves at `sent`: whether an idle time is over.
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
        if self.flight() == 0 && long && !waited {
            self.window.idle();
        }
    }
}
