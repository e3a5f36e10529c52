//! The kernel's sockets, without blocking.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr},
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, net::TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::{Broken, ConnectError, Follows, Read, Slot, Sources, Transport};

/// Connections of the kernel's TCP to one server.
#[derive(Debug)]
pub struct KernelTransport {
    server: SocketAddr,
    sources: Sources,
    /// The source in use.
    source: usize,
    /// Connections that have started from it.
    taken: u32,
    poll: Poll,
    events: Events,
    streams: Vec<Option<TcpStream>>,
    began: Instant,
}

impl KernelTransport {
    /// A transport for `slots` connections at once. The process may have as many files open afterwards,
    /// if the system allows it.
    ///
    /// # Errors
    ///
    /// If the system has no way to wait for sockets, or not so many descriptors.
    pub fn new(server: SocketAddr, sources: Sources, slots: usize) -> io::Result<Self> {
        allow_descriptors(slots)?;
        Ok(Self {
            server,
            sources,
            source: 0,
            taken: 0,
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS_AT_ONCE),
            streams: std::iter::repeat_with(|| None).take(slots).collect(),
            began: Instant::now(),
        })
    }

    /// Starts from the next source once the one in use has its share, or has no port left.
    fn open(&mut self) -> Result<Socket, ConnectError> {
        if self.taken >= CONNECTIONS_PER_SOURCE {
            self.next_source();
        }
        for _ in 0..self.sources.len() {
            match self.try_open() {
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => self.next_source(),
                Err(error) => return Err(connect_error(error)),
                Ok(socket) => {
                    self.taken += 1;
                    return Ok(socket);
                }
            }
        }
        Err(ConnectError::NoPort)
    }

    fn next_source(&mut self) {
        self.source = (self.source + 1) % self.sources.len();
        self.taken = 0;
    }

    fn try_open(&self) -> io::Result<Socket> {
        let domain = Domain::for_address(self.server);
        let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = self.sources.at(self.source) {
            #[cfg(target_os = "linux")]
            // The port is chosen with the connection: it needs to be free towards this server only.
            nix::sys::socket::setsockopt(
                &socket,
                nix::sys::socket::sockopt::IpBindAddressNoPort,
                &true,
            )?;
            let bound = socket.bind(&SocketAddr::new(source, 0).into());
            bound.map_err(|error| {
                io::Error::other(format!("cannot use source {source}: {error}"))
            })?;
        }
        match socket.connect(&self.server.into()) {
            Err(error) if !is_under_way(&error) => Err(error),
            _ => Ok(socket),
        }
    }

    fn stream(&mut self, slot: Slot) -> Result<&mut TcpStream, Broken> {
        self.streams[slot.0].as_mut().ok_or(Broken::Reset)
    }
}

impl Transport for KernelTransport {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let mut stream = TcpStream::from_std(self.open()?.into());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        registry.register(&mut stream, Token(slot.0), interest).map_err(ConnectError::System)?;
        self.streams[slot.0] = Some(stream);
        Ok(())
    }

    fn write(&mut self, slot: Slot, octets: &[u8], follows: Follows) -> Result<usize, Broken> {
        loop {
            return match write(self.stream(slot)?, octets, follows) {
                Ok(written) => Ok(written),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => Ok(0),
                    kind => Err(kind.into()),
                },
            };
        }
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, Broken> {
        loop {
            return match self.stream(slot)?.read(buffer) {
                Ok(0) => Ok(Read::End),
                Ok(octets) => Ok(Read::Octets(octets)),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => Ok(Read::Nothing),
                    kind => Err(kind.into()),
                },
            };
        }
    }

    fn half_close(&mut self, slot: Slot) {
        if let Ok(stream) = self.stream(slot) {
            // It fails if the server has reset: the next read says so.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.streams[slot.0] = None;
    }

    fn abort(&mut self, slot: Slot) {
        if let Some(stream) = self.streams[slot.0].take() {
            // Refused, it closes with a FIN: no harm either.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    }

    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()> {
        let left = until.saturating_sub(self.now());
        match self.poll.poll(&mut self.events, Some(left)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        ready.extend(self.events.iter().map(|event| Slot(event.token().0)));
        Ok(())
    }
}

/// The kernel holds what a close follows, and sends it with the FIN.
#[cfg(target_os = "linux")]
fn write(stream: &mut TcpStream, octets: &[u8], follows: Follows) -> io::Result<usize> {
    match follows {
        Follows::Nothing => stream.write(octets),
        Follows::Close => SockRef::from(&*stream).send_with_flags(octets, nix::libc::MSG_MORE),
    }
}

#[cfg(not(target_os = "linux"))]
fn write(stream: &mut TcpStream, octets: &[u8], _follows: Follows) -> io::Result<usize> {
    stream.write(octets)
}

fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32)
}

/// A refusal may come at once; what is about our own system would come again and again.
fn connect_error(error: io::Error) -> ConnectError {
    match Broken::from(error.kind()) {
        Broken::System(_) => ConnectError::System(error),
        broken => ConnectError::Broken(broken),
    }
}

/// Raises the limit of open files towards what the system allows, if it is too low.
fn allow_descriptors(slots: usize) -> io::Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let needed = slots as u64 + OTHER_DESCRIPTORS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        let text = format!("{slots} connections at once, but this process may open {hard} files");
        return Err(io::Error::other(text));
    }
    Ok(setrlimit(Resource::RLIMIT_NOFILE, needed, hard)?)
}

/// What is handled between two looks at the clock and the schedule.
const EVENTS_AT_ONCE: usize = 1024;
/// Where there is another source, the next one is used after so many. Linux has 28,232 ports towards one
/// server by default and goes through them in steps of up to 16, which every process shortens for the
/// others: soon it comes back to ports that the server still holds in TIME-WAIT, and that ends it.
const CONNECTIONS_PER_SOURCE: u32 = 500;
/// Files that a process has open besides.
const OTHER_DESCRIPTORS: u64 = 64;
