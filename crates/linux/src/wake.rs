//! Sleeps until a packet arrives or a time has passed.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

/// An epoll set of devices and a timer: epoll's own timeout is in milliseconds, too coarse for a
/// receiver that acknowledges after 40 ms.
#[derive(Debug)]
pub(crate) struct Wake {
    epoll: Epoll,
    timer: TimerFd,
    /// The timer's current setting.
    armed: Option<Instant>,
}

impl Wake {
    /// Adds `sources` to the set. The caller must check all of them after a wake-up.
    pub(crate) fn new(sources: &[BorrowedFd<'_>]) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        for source in sources.iter().chain([&timer.as_fd()]) {
            epoll.add(source, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(Self { epoll, timer, armed: None })
    }

    /// Adds what wakes once for each change, and is not read.
    pub(crate) fn add_bell(&self, bell: BorrowedFd<'_>) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        Ok(self.epoll.add(bell, EpollEvent::new(flags, 0))?)
    }

    /// Sleeps until a source is readable, `until` has passed, or a signal was handled.
    pub(crate) fn sleep(&mut self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if self.armed != Some(until) {
            self.set(left)?;
            self.armed = Some(until);
        }
        match self.epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sets the timer, which also clears an unread expiry.
    fn set(&self, left: Duration) -> io::Result<()> {
        let once = Expiration::OneShot(TimeSpec::from_duration(left));
        Ok(self.timer.set(once, TimerSetTimeFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::{pipe, write};

    use super::*;

    #[test]
    fn it_sleeps_until_the_time_given_and_not_when_there_is_something_to_read() {
        let (reader, writer) = pipe().unwrap();
        let mut wake = Wake::new(&[reader.as_fd()]).unwrap();
        for millis in [3, 2] {
            let until = Instant::now() + Duration::from_millis(millis);
            wake.sleep(until).unwrap();
            assert!(Instant::now() >= until);
        }
        write(&writer, b"x").unwrap();
        let far = Instant::now() + Duration::from_secs(60);
        wake.sleep(far).unwrap();
        assert!(Instant::now() < far);
    }
}
