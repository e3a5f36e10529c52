//! Whether the timer of a cork held a segment, or a retransmission timeout.

use super::{
    super::{CorkTimer, Nanos},
    Facts,
};

impl Facts {
    /// Of the stacks in use, none has a shorter retransmission timeout than Linux's 200 ms; less a tick and what a
    /// capture is inaccurate by. Our choice.
    pub(super) const LEAST_TIMER: Nanos = Nanos::from_millis(195);

    /// Whether the timer of a cork may have run before it.
    pub(super) fn cork_timer_may_have_run(&self) -> bool {
        if self.may_miss_losses && self.lost_before.is_none() {
            // Far from the sender, a retransmission after a loss that was not seen comes later.
            CorkTimer::runs_shortest(self.since_event(), self.round_trip)
                || CorkTimer::runs_before_timeout(self.since_write(), self.round_trip)
                || (self.is_too_soon_for_timeout()
                    && CorkTimer::may_have_run(self.since_write(), self.round_trip))
        } else {
            // The timer runs since the data before was sent or since the last of it was acknowledged.
            CorkTimer::may_have_run(self.since_write(), self.round_trip)
                || CorkTimer::may_have_run(self.since_event(), self.round_trip)
                // Without PSH, more was written: on a long path, too, no program's pause is between the two.
                || (!self.pushed
                    && CorkTimer::cannot_be_excluded(self.since_write(), self.round_trip))
        }
    }

    /// While a full segment is outstanding, too, if more than that was written: a timer that sends again, or probes, would
    /// have run longer.
    pub(super) fn is_corked_beside_a_segment(&self) -> bool {
        let is_too_soon = self.is_too_soon_for_timeout()
            || CorkTimer::runs_before_timeout(self.since_write(), self.round_trip);
        !self.pushed && self.flight[1] <= self.full && is_too_soon
    }

    /// An acknowledgement of new data starts the timer again (RFC 6298, section 5.3), and of the stacks in use,
    /// none has a shorter one than Linux's 200 ms, nor one for the probe of a lone segment
    /// (`tcp_schedule_loss_probe`).
    pub(super) fn is_too_soon_for_timeout(&self) -> bool {
        let restarts = self.is_small() && self.flight[0] > self.flight[1];
        restarts && self.since_ack.is_some_and(|since| since < Self::LEAST_TIMER)
    }

    /// Time since it last sent data. Where a slow link kept that data before the vantage point, the timestamps have it.
    fn since_write(&self) -> Nanos {
        self.since_data.max(self.by_stamps)
    }
}
