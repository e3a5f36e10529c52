//! The monotonic clock, as the endpoints see it.

use std::time;

use ackwise_tcp::Instant;

/// Counts from the moment that it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: time::Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { start: time::Instant::now() }
    }

    pub(super) fn now(self) -> Instant {
        self.instant(time::Instant::now())
    }

    /// What `at` is here. Anything before the clock was made is its beginning.
    pub(super) fn instant(self, at: time::Instant) -> Instant {
        Instant::EPOCH + at.saturating_duration_since(self.start)
    }

    /// The same point in time outside, unless it is later than the system can say.
    pub(super) fn outside(self, at: Instant) -> Option<time::Instant> {
        self.start.checked_add(at.since(Instant::EPOCH))
    }
}
