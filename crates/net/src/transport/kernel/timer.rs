//! Waits that end within a millisecond: a poll's own timeout is a whole number of milliseconds, so a
//! request at a rate would start half a millisecond late on average.

use std::{io, time::Duration};

use mio::{Registry, Token};

/// A timer that wakes a poll.
#[derive(Debug)]
pub(super) struct Timer {
    #[cfg(target_os = "linux")]
    descriptor: nix::sys::timerfd::TimerFd,
}

#[cfg(target_os = "linux")]
impl Timer {
    /// A timer that raises events with `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use std::os::fd::{AsFd, AsRawFd};

        use mio::{Interest, unix::SourceFd};
        use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let descriptor = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let raw = descriptor.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&raw), token, Interest::READABLE)?;
        Ok(Self { descriptor })
    }

    /// The timeout for a poll that has this much time left. What is left of a whole millisecond is
    /// timed by an event.
    pub(super) fn limit(&self, left: Duration) -> io::Result<Duration> {
        use nix::{
            sys::time::TimeSpec,
            sys::timerfd::{Expiration, TimerSetTimeFlags},
        };

        if left >= MILLISECOND || left.is_zero() {
            return Ok(Duration::from_secs(left.as_secs())
                + Duration::from_millis(left.subsec_millis().into()));
        }
        // Setting it discards an expiration that nobody has read.
        let expiration = Expiration::OneShot(TimeSpec::from_duration(left));
        self.descriptor.set(expiration, TimerSetTimeFlags::empty())?;
        Ok(MILLISECOND)
    }
}

#[cfg(not(target_os = "linux"))]
impl Timer {
    /// Nothing: the poll's own timeout has to do.
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
        Ok(Self {})
    }

    /// The time that is left.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
    pub(super) fn limit(&self, left: Duration) -> io::Result<Duration> {
        Ok(left)
    }
}

#[cfg(target_os = "linux")]
const MILLISECOND: Duration = Duration::from_millis(1);
