//! Non-blocking kernel sockets.

mod sources;
mod timer;

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr},
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use ackwise_linux::sockets::TcpInfo;
use mio::{Events, Interest, Poll, Token, event::Event, net::TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use self::{sources::SourcePorts, timer::Timer};
use super::{AfterWrite, ConnectError, ConnectionError, Heard, Read, Slot, Transport};

pub use sources::{Sources, local_ports};

/// Connections of the kernel's TCP to one server.
#[derive(Debug)]
pub struct KernelTransport {
    server: SocketAddr,
    starts: SourcePorts,
    poll: Poll,
    events: Events,
    streams: Vec<Option<Stream>>,
    timer: Timer,
    began: Instant,
    /// When all events had been announced.
    up_to_date: Duration,
}

/// A socket, and what its edge-triggered events have announced since it last said "not now". Calls
/// that would fail are not made: they cost as much as those that succeed.
#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    writable: bool,
    readable: bool,
    /// Bytes may be followed by an end or an error without another event.
    ending: bool,
    /// Whether Nagle's algorithm is off.
    nodelay: bool,
}

impl Stream {
    /// Turns off Nagle's algorithm for a message that may take several segments. Smaller ones are never
    /// held: each follows the response to the message before, which acknowledges it.
    fn prepare(&mut self, bytes: usize) {
        if bytes > SMALLEST_SEGMENT && !self.nodelay {
            // If this fails, the connection is broken, and the write says so.
            self.nodelay = SockRef::from(&self.socket).set_tcp_nodelay(true).is_ok();
        }
    }

    fn hear(&mut self, event: &Event) {
        self.ending |= event.is_read_closed() || event.is_write_closed() || event.is_error();
        self.readable |= event.is_readable() || self.ending;
        self.writable |= event.is_writable() || self.ending;
    }
}

impl KernelTransport {
    /// A transport for `slots` concurrent connections. Raises the process's limit of open files if
    /// needed and permitted.
    ///
    /// # Errors
    ///
    /// If the system has no way to poll sockets, or too few descriptors.
    pub fn new(server: SocketAddr, sources: Sources, slots: usize) -> io::Result<Self> {
        allow_descriptors(slots)?;
        let poll = Poll::new()?;
        Ok(Self {
            server,
            starts: SourcePorts::new(sources, local_ports(), process_number()),
            timer: Timer::new(poll.registry(), TIMER)?,
            poll,
            events: Events::with_capacity(EVENTS_PER_POLL),
            streams: std::iter::repeat_with(|| None).take(slots).collect(),
            began: Instant::now(),
            up_to_date: Duration::ZERO,
        })
    }

    /// Tries local addresses and ports in turn until the kernel accepts one.
    fn open(&mut self) -> Result<Socket, ConnectError> {
        for _ in 0..self.starts.count().min(TRIES_LIMIT) {
            let start = self.starts.next();
            match open(self.server, start) {
                Err(error) if is_port_in_use(&error) => {}
                Err(error) => return Err(connect_error(error)),
                Ok(socket) => return Ok(socket),
            }
        }
        Err(ConnectError::NoPort)
    }

    fn stream(&mut self, slot: Slot) -> Result<&mut Stream, ConnectionError> {
        self.streams[slot.0].as_mut().ok_or(ConnectionError::Reset)
    }
}

impl Transport for KernelTransport {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let mut socket = TcpStream::from_std(self.open()?.into());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        registry.register(&mut socket, Token(slot.0), interest).map_err(ConnectError::System)?;
        // On loopback, the handshake is over when `connect` returns.
        let writable = self.server.ip().is_loopback();
        let (readable, ending, nodelay) = (false, false, false);
        self.streams[slot.0] = Some(Stream { socket, writable, readable, ending, nodelay });
        Ok(())
    }

    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError> {
        let stream = self.stream(slot)?;
        stream.prepare(bytes.len());
        while stream.writable {
            match write(&mut stream.socket, bytes, follows) {
                Ok(written) => {
                    stream.writable = written == bytes.len();
                    return Ok(written);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => {
                        stream.writable = false;
                    }
                    kind => return Err(kind.into()),
                },
            }
        }
        Ok(0)
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError> {
        let stream = self.stream(slot)?;
        while stream.readable {
            match stream.socket.read(buffer) {
                Ok(0) => return Ok(Read::End),
                Ok(bytes) => {
                    // epoll(7): fewer bytes than the buffer holds are all that there are, and more
                    // of them raise another event.
                    stream.readable = bytes == buffer.len() || stream.ending;
                    return Ok(Read::ByteCount(bytes));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => {
                        stream.readable = false;
                    }
                    kind => return Err(kind.into()),
                },
            }
        }
        Ok(Read::Nothing)
    }

    fn may_have_ended(&mut self, slot: Slot, now: Duration) -> bool {
        let is_stale = now > self.up_to_date + FRESH;
        self.stream(slot).is_ok_and(|stream| {
            stream.readable |= is_stale;
            stream.readable
        })
    }

    #[cfg(target_os = "linux")]
    fn heard(&mut self, slot: Slot) -> Option<Heard> {
        let info = TcpInfo::of(&self.stream(slot).ok()?.socket).ok()?;
        Some(match info.unacknowledged() {
            None => Heard::Nothing,
            Some(0) => Heard::All,
            Some(_) => Heard::Part,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn heard(&mut self, _slot: Slot) -> Option<Heard> {
        None
    }

    fn half_close(&mut self, slot: Slot) {
        if let Ok(stream) = self.stream(slot) {
            // Fails if the server has reset; the next read reports it.
            let _ = stream.socket.shutdown(Shutdown::Write);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.streams[slot.0] = None;
    }

    fn abort(&mut self, slot: Slot) {
        if let Some(stream) = self.streams[slot.0].take() {
            // If this fails, the close sends a FIN, which is harmless.
            let _ = SockRef::from(&stream.socket).set_linger(Some(Duration::ZERO));
        }
    }

    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()> {
        let left = until.saturating_sub(self.now());
        let limit = self.timer.limit(left)?;
        match self.poll.poll(&mut self.events, Some(limit)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let mut events = 0;
        for event in &self.events {
            events += 1;
            if event.token() == TIMER {
                continue;
            }
            let slot = Slot(event.token().0);
            if let Some(stream) = &mut self.streams[slot.0] {
                stream.hear(event);
                ready.push(slot);
            }
        }
        if events < EVENTS_PER_POLL {
            self.up_to_date = self.now();
        }
        Ok(())
    }
}

/// Makes the kernel hold bytes that a close follows, so that they are sent with the FIN.
#[cfg(target_os = "linux")]
fn write(stream: &mut TcpStream, bytes: &[u8], follows: AfterWrite) -> io::Result<usize> {
    match follows {
        AfterWrite::Nothing => stream.write(bytes),
        AfterWrite::Close => SockRef::from(&*stream).send_with_flags(bytes, nix::libc::MSG_MORE),
    }
}

#[cfg(not(target_os = "linux"))]
fn write(stream: &mut TcpStream, bytes: &[u8], _follows: AfterWrite) -> io::Result<usize> {
    stream.write(bytes)
}

/// Starts a connection to `server`.
fn open(server: SocketAddr, start: Option<SocketAddr>) -> io::Result<Socket> {
    let domain = Domain::for_address(server);
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if let Some(start) = start {
        // Without SO_REUSEADDR, which would allow ports in the client's own TIME-WAIT.
        let bound = socket.bind(&start.into());
        bound.map_err(|error| match error.kind() {
            io::ErrorKind::AddrNotAvailable => {
                io::Error::other(format!("{} is not an address of this host", start.ip()))
            }
            _ => error,
        })?;
    }
    match socket.connect(&server.into()) {
        Err(error) if !is_in_progress(&error) => Err(error),
        _ => Ok(socket),
    }
}

/// Whether `error` means that the local port is in use or in TIME-WAIT. Another port may succeed.
#[must_use]
pub fn is_port_in_use(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse)
}

/// Offset of the first port, which differs between processes.
fn process_number() -> usize {
    let number = usize::try_from(std::process::id()).unwrap_or(0);
    number.wrapping_mul(PROCESS_STEP) % local_ports().len()
}

fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32)
}

/// A connection may be refused immediately; a local error would repeat for every connection.
fn connect_error(error: io::Error) -> ConnectError {
    match ConnectionError::from(error.kind()) {
        ConnectionError::System(_) => ConnectError::System(error),
        broken => ConnectError::Failed(broken),
    }
}

/// Raises the limit of open files, as far as the system permits, if it is too low.
fn allow_descriptors(slots: usize) -> io::Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let needed = slots as u64 + OTHER_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        let text =
            format!("cannot open {slots} connections at once: this process may open {hard} files");
        return Err(io::Error::other(text));
    }
    Ok(setrlimit(Resource::RLIMIT_NOFILE, needed, hard)?)
}

/// RFC 9293, section 3.7.1: a peer that does not send its MSS takes segments of 536 bytes.
const SMALLEST_SEGMENT: usize = 536;
/// Larger than any slot's token.
const TIMER: Token = Token(usize::MAX - 1);
/// Number of events handled before the clock and the schedule are checked again (our choice).
const EVENTS_PER_POLL: usize = 1024;
/// A close that has not been announced is at most this old, as `ackwise explain` allows for (our choice): looking for one before
/// each request would cost a system call.
const FRESH: Duration = Duration::from_millis(1);
/// Maximum number of ports tried for one connection: those of two addresses (our choice; it takes a
/// fraction of a second).
const TRIES_LIMIT: usize = 65_536;
/// A prime, which spreads consecutive process numbers over the ports.
const PROCESS_STEP: usize = 7_919;
/// Other files that the process has open (our choice).
const OTHER_DESCRIPTORS: u64 = 64;

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    #[test]
    fn a_close_that_no_event_has_announced_is_seen_after_a_millisecond() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (server, slot) = (listener.local_addr().unwrap(), Slot(0));
        let mut transport = KernelTransport::new(server, Sources::Any, 1).unwrap();
        transport.connect(slot).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let poll = |transport: &mut KernelTransport| {
            transport.poll(transport.now(), &mut Vec::new()).unwrap();
            transport.now()
        };
        let now = poll(&mut transport);
        assert!(!transport.may_have_ended(slot, now), "nothing has happened");
        drop(accepted);
        thread::sleep(2 * FRESH);
        let now = transport.now();
        assert!(transport.may_have_ended(slot, now));
        assert_eq!(transport.read(slot, &mut [0; 9]), Ok(Read::End));
    }
}
