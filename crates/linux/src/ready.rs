//! Waits until one of many sockets has something to do, a time has passed, or another thread rings.
//!
//! Epoll's own timeout is in milliseconds, too coarse for a program whose server thinks for 80 us, so
//! the set holds a timer too. Sockets are watched for changes (`EPOLLET`): the caller reads and writes
//! until the kernel says `WouldBlock`.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        eventfd::{EfdFlags, EventFd},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

/// A set of sockets, each with a token of the caller's.
#[derive(Debug)]
pub struct Ready {
    epoll: Epoll,
    timer: TimerFd,
    bell: Arc<EventFd>,
    /// The timer's current setting.
    armed: Option<Instant>,
    events: Vec<EpollEvent>,
}

/// Wakes a [`Ready`] from another thread.
#[derive(Clone, Debug)]
pub struct Bell(Arc<EventFd>);

impl Bell {
    /// Wakes the set's thread, at once or when it next waits.
    pub fn ring(&self) {
        // Fails only after 2^64 rings without a wait, when it is ringing anyway.
        let _ = self.0.write(1);
    }
}

/// For another set than its own: it becomes readable, and stays so.
impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Ready {
    /// An empty set.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let bell = Arc::new(EventFd::from_flags(flags)?);
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, OWN))?;
        epoll.add(bell.as_fd(), EpollEvent::new(edge, OWN))?;
        let events = vec![EpollEvent::empty(); EVENTS_AT_ONCE];
        Ok(Self { epoll, timer, bell, armed: None, events })
    }

    /// What wakes this set from another thread.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.bell))
    }

    /// Watches a socket until it is closed. `token` is below 2^63.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory for it.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        Ok(self.epoll.add(socket.as_fd(), EpollEvent::new(flags, token))?)
    }

    /// Waits until `until` at most, and adds the tokens of sockets that changed to `tokens`.
    ///
    /// # Errors
    ///
    /// Of the system calls, none of which can fail for reasons of the caller's.
    pub fn wait(&mut self, until: Instant, tokens: &mut Vec<u64>) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return self.take(EpollTimeout::ZERO, tokens);
        }
        if self.armed != Some(until) {
            self.set(left)?;
            self.armed = Some(until);
        }
        self.take(EpollTimeout::NONE, tokens)
    }

    fn take(&mut self, timeout: EpollTimeout, tokens: &mut Vec<u64>) -> io::Result<()> {
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => return Err(errno.into()),
        };
        for event in &self.events[..count] {
            if event.data() == OWN {
                // An unread expiry stays readable: the next wait sets the timer anew.
                self.armed = None;
                self.set(FAR)?;
            } else {
                tokens.push(event.data());
            }
        }
        Ok(())
    }

    /// Sets the timer, which also clears an unread expiry.
    fn set(&self, left: Duration) -> io::Result<()> {
        let once = Expiration::OneShot(TimeSpec::from_duration(left));
        Ok(self.timer.set(once, TimerSetTimeFlags::empty())?)
    }
}

/// The token of the timer and the bell.
const OWN: u64 = u64::MAX;
/// Our choice: more are taken by the next wait.
const EVENTS_AT_ONCE: usize = 256;
/// What the timer is set to while nobody waits for it (our choice).
const FAR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        net::{TcpListener, TcpStream},
        thread,
    };

    use super::*;

    #[test]
    fn it_wakes_for_a_socket_a_time_and_a_bell() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut ready = Ready::new().unwrap();
        ready.add(&server, 7).unwrap();
        let mut tokens = Vec::new();
        let far = || Instant::now() + Duration::from_secs(60);
        ready.wait(far(), &mut tokens).unwrap();
        assert_eq!(tokens, [7], "it can be written to");
        tokens.clear();
        let soon = Instant::now() + Duration::from_millis(2);
        while Instant::now() < soon {
            ready.wait(soon, &mut tokens).unwrap();
        }
        assert_eq!(tokens, []);
        client.write_all(b"x").unwrap();
        ready.wait(far(), &mut tokens).unwrap();
        assert_eq!(tokens, [7]);
        let bell = ready.bell();
        thread::spawn(move || bell.ring());
        let began = Instant::now();
        ready.wait(far(), &mut tokens).unwrap();
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
