//! A program's end of a connection, which keeps a diary.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::SockRef;

use crate::witness::clock::{Clock, Nanos};

/// A socket and its diary.
#[derive(Debug)]
pub(super) struct Line {
    socket: TcpStream,
    clock: Clock,
    pub(super) diary: Diary,
}

/// What a program did, by its own clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Diary {
    /// When a call of `write` began, and all that the socket had taken when it was over.
    pub(super) written: Vec<(Nanos, u64)>,
    /// Times in which the socket took nothing more.
    pub(super) blocked: Vec<(Nanos, Nanos)>,
    /// Times in which HTTP/2 flow control forbade to write.
    pub(super) flow_controlled: Vec<(Nanos, Nanos)>,
    /// Times in which the program waited for leave to send a request's body.
    pub(super) awaited: Vec<(Nanos, Nanos)>,
    /// When the cork was set (true) or removed.
    pub(super) cork: Vec<(Nanos, bool)>,
    /// Whether Nagle's algorithm was off.
    pub(super) no_delay: bool,
    /// Times in which the program did not read what had arrived.
    pub(super) away: Vec<(Nanos, Nanos)>,
    /// When each message had been read.
    pub(super) received: Vec<Nanos>,
    /// How many bytes it had.
    pub(super) lengths: Vec<u64>,
    /// When the program closed its direction.
    pub(super) closed: Option<Nanos>,
    /// Each message: where it begins and ends in the stream of bytes.
    pub(super) messages: Vec<(u64, u64)>,
}

/// A connection as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// Unknown behind a proxy.
    pub(super) peer: Option<SocketAddrV4>,
    /// When it took the connection from the queue.
    pub(super) accepted: Nanos,
    pub(super) diary: Diary,
    /// When the program behind a proxy began to write each response.
    pub(super) behind: Vec<Nanos>,
}

impl Diary {
    /// All that was written so far.
    pub(super) fn total(&self) -> u64 {
        self.written.last().map_or(0, |(_, total)| *total)
    }

    /// A message begins with the next byte.
    pub(super) fn begin(&mut self) {
        let here = self.total();
        self.messages.push((here, here));
    }

    /// It ended with the last byte.
    pub(super) fn end(&mut self) {
        let here = self.total();
        if let Some(message) = self.messages.last_mut() {
            message.1 = here;
        }
    }
}

impl Line {
    #[expect(clippy::fn_params_excessive_bools, reason = "a switch of the kernel's")]
    pub(super) fn new(socket: TcpStream, no_delay: bool, clock: Clock) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(no_delay)?;
        Ok(Self { socket, clock, diary: Diary { no_delay, ..Diary::default() } })
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a switch of the kernel's")]
    pub(super) fn cork(&mut self, on: bool) -> io::Result<()> {
        // Removing it sends what it held: the time before counts.
        self.diary.cork.push((self.clock.now(), on));
        SockRef::from(&self.socket).set_tcp_cork(on)
    }

    /// Does not read for a while.
    pub(super) fn stay_away(&mut self, span: Duration) {
        if !span.is_zero() {
            let from = self.clock.now();
            pause(span);
            self.diary.away.push((from, self.clock.now()));
        }
    }

    pub(super) fn wait_for_data(&self) -> io::Result<()> {
        self.wait(PollFlags::POLLIN)
    }

    /// Whether data comes within some time, in which the program has nothing else to do.
    pub(super) fn await_leave(&mut self, at_most: Duration) -> io::Result<bool> {
        let from = self.clock.now();
        let came = match self.wait_at_most(PollFlags::POLLIN, at_most) {
            Err(error) if error.kind() == ErrorKind::TimedOut => false,
            result => result.map(|()| true)?,
        };
        self.diary.awaited.push((from, self.clock.now()));
        Ok(came)
    }

    /// Closes this direction.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.diary.closed = Some(self.clock.now());
        self.socket.shutdown(Shutdown::Write)
    }

    /// The window that was offered stays; what is read from now on opens it no further than this allows.
    pub(super) fn shrink_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        SockRef::from(&self.socket).set_recv_buffer_size(bytes)
    }

    /// Reads what has arrived, if anything has.
    pub(super) fn read_if_ready(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.socket.read(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the other side to close.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while self.read(&mut buffer)? > 0 {}
        Ok(())
    }

    fn wait(&self, what: PollFlags) -> io::Result<()> {
        self.wait_at_most(what, PATIENCE)
    }

    fn wait_at_most(&self, what: PollFlags, span: Duration) -> io::Result<()> {
        let mut descriptors = [PollFd::new(self.socket.as_fd(), what)];
        let limit = PollTimeout::try_from(span).map_err(io::Error::other)?;
        match poll(&mut descriptors, limit)? {
            0 => Err(ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}

/// Blocks until something was written.
impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let began = self.clock.now();
            match self.socket.write(bytes) {
                Ok(len) => {
                    self.diary.written.push((began, self.diary.total() + len as u64));
                    return Ok(len);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::POLLOUT)?;
                    self.diary.blocked.push((began, self.clock.now()));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Blocks until something was read.
impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::POLLIN)?;
                }
                result => return result,
            }
        }
    }
}

/// Sleeps, not a moment shorter.
pub(super) fn pause(span: Duration) {
    let until = Instant::now() + span;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::sleep(left);
    }
}

/// Nothing here takes as long (our choice).
const PATIENCE: Duration = Duration::from_secs(30);
