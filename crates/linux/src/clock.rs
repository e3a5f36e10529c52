//! The monotonic clock as virtual time for endpoints and links, and the processor's.

use std::{
    io,
    time::{self, Duration},
};

use ackwise_tcp::Instant;
use nix::time::{ClockId, clock_gettime};

/// Processor time of this process, all threads together. Includes what the kernel did meanwhile on its
/// behalf, such as receiving packets.
///
/// # Errors
///
/// If the kernel has no such clock, which all have (POSIX.1-2008).
pub fn processor_time() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// Counts from [`BEGINNING`], the time of its creation or another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: time::Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: time::Instant::now() }
    }

    /// Counts from `start`, which may be in the past.
    pub(crate) const fn from(start: time::Instant) -> Self {
        Self { start }
    }

    pub(crate) fn now(self) -> Instant {
        self.instant(time::Instant::now())
    }

    /// Converts `at`. Times before the clock's start become its beginning.
    pub(crate) fn instant(self, at: time::Instant) -> Instant {
        BEGINNING + at.saturating_duration_since(self.start)
    }

    /// Converts back to the system's time, unless it is out of range.
    pub(crate) fn outside(self, at: Instant) -> Option<time::Instant> {
        self.start.checked_add(at.max(BEGINNING).since(BEGINNING))
    }
}

/// Not zero: an endpoint's timestamps also start at zero, and Linux treats a timestamp of zero as
/// none. In TIME-WAIT it would then respond without timestamps, and RFC 7323, section 3.2, requires
/// such segments to be dropped.
const BEGINNING: Instant = Instant::from_nanos(1_000_000_000);
