//! The monotonic clock, as endpoints and links see it.

use std::time;

use ackwise_tcp::Instant;

/// Counts from [`BEGINNING`], the moment that it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: time::Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: time::Instant::now() }
    }

    pub(crate) fn now(self) -> Instant {
        self.instant(time::Instant::now())
    }

    /// What `at` is here. Anything before the clock was made is its beginning.
    pub(crate) fn instant(self, at: time::Instant) -> Instant {
        BEGINNING + at.saturating_duration_since(self.start)
    }

    /// The same point in time outside, unless it is later than the system can say.
    pub(crate) fn outside(self, at: Instant) -> Option<time::Instant> {
        self.start.checked_add(at.max(BEGINNING).since(BEGINNING))
    }
}

/// Not zero: an endpoint's timestamps count from zero too, and Linux takes a timestamp of zero for none.
/// From TIME-WAIT it would then answer without, and RFC 7323, section 3.2, has us drop that.
const BEGINNING: Instant = Instant::from_nanos(1_000_000_000);
