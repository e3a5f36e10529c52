//! Which window held a segment, or may have.

use ackwise_cause::Cause;

use super::Facts;

impl Facts {
    /// The congestion window that may have held what Nagle's algorithm would have held: it counts segments,
    /// small ones too, and after an idle time nobody knows how many.
    pub(super) fn window_that_may_be_full(&self) -> Option<Cause> {
        let is_flight = self.flight[0] >= 2 * self.full;
        let is_full = self.flight[0] + 2 * self.full > self.least_window;
        if is_flight && self.after_idle && self.sure_window == 0 {
            return Some(Cause::IdleRestart);
        }
        // Of a few segments, as those of RFC 2581 or of a route with `initcwnd`, if nothing shows that it was larger.
        let is_first = self.flight[0] > self.full && self.most_flight <= self.flight[0];
        let may_be_first = is_first && self.slow_start;
        (may_be_first || (is_flight && is_full)).then(|| self.window())
    }

    /// Segments of the first window of most senders.
    const INITIAL: u64 = 10;

    /// The congestion window may have held it too. Linux counts segments, small ones too, and begins with ten
    /// (`TCP_INIT_CWND`); of a smaller window, nobody knows that it is Linux's.
    pub(super) const fn fills_window(&self) -> bool {
        let window = self.least_window;
        let is_full = match self.flight[0].checked_next_multiple_of(self.full) {
            Some(flight) if window >= Self::INITIAL * self.full => flight + self.full > window,
            _ => false,
        };
        is_full || !self.fits_window_in_bytes()
    }

    pub(super) const fn fits_window_in_bytes(&self) -> bool {
        let window = if self.least_window > self.full { self.least_window } else { self.full };
        self.flight[0] + self.bytes <= window
    }
}
