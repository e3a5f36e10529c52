//! Whose TCP carries the clients' connections: the kernel's, by sockets, or ours on a TUN device.
//!
//! Both have the same calls with the same results, those of a socket that does not block.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4},
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_linux::{
    ConnectionId, TunDevice, TunStack,
    device::TunOptions,
    ready::Ready,
    stack::{ConnectError, StackOptions, Tap},
};
use ackwise_tcp::{Config, Event, State, policy::HoldPolicy};
use socket2::{Domain, Socket, Type};

use super::write::write;
use crate::{
    groups::{self, Group},
    settings,
};

/// The TCP of a group's clients.
pub(super) enum Transport {
    Kernel,
    Ours(Box<OurTcp>),
}

/// A client's end of a connection.
#[derive(Debug)]
pub(super) enum Connection {
    Kernel(Socket),
    Ours(ConnectionId),
}

/// How a client stops using a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// By a FIN.
    Close,
    /// By an RST.
    Reset,
}

/// Our TCP for all hosts of a group.
pub(super) struct OurTcp {
    stack: TunStack,
    config: Arc<Config>,
    known: BTreeMap<ConnectionId, Known>,
    sampled: Instant,
    /// By address: the most in TIME-WAIT, and the most connections besides.
    most: BTreeMap<IpAddr, [u64; 2]>,
}

/// What events have told of a connection.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The program's name for it.
    name: u64,
    connected: bool,
    peer_closed: bool,
    broken: Option<io::ErrorKind>,
}

impl Transport {
    /// For a group of clients, in whose namespace the calling thread is. Times count from `start`.
    pub(super) fn new(group: &Group, ready: &Ready, start: Instant) -> io::Result<Self> {
        if !group.ours {
            return Ok(Self::Kernel);
        }
        let options = TunOptions { mtu: settings::mtu(&group.tcp), ..TunOptions::default() };
        let mut device = TunDevice::open(options).map_err(io::Error::other)?;
        for host in &group.hosts {
            device.add_host(groups::address(*host)).map_err(io::Error::other)?;
        }
        let options = StackOptions { start: Some(start), ..StackOptions::default() };
        let stack = TunStack::new(device, options)?;
        stack.wake_for(ready.bell())?;
        Ok(Self::Ours(Box::new(OurTcp {
            stack,
            config: Arc::new(group.tcp),
            known: BTreeMap::new(),
            sampled: start,
            most: BTreeMap::new(),
        })))
    }

    /// Begins to open a connection, whose own address is told before its server can have accepted it.
    pub(super) fn open(
        &mut self,
        (ready, name, tcp): (&Ready, u64, &Config),
        (from, to): (Ipv4Addr, SocketAddrV4),
        announce: impl FnOnce(SocketAddrV4),
    ) -> io::Result<Connection> {
        match self {
            Self::Kernel => open_socket((ready, name, tcp), (from, to), announce),
            Self::Ours(ours) => ours.open(name, (from, to), announce),
        }
    }

    /// Whether the handshake is over.
    pub(super) fn is_connected(&mut self, connection: &Connection) -> io::Result<bool> {
        match (self, connection) {
            (_, Connection::Kernel(socket)) => match socket.take_error()? {
                None => Ok(socket.peer_addr().is_ok()),
                Some(error) => Err(error),
            },
            (Self::Ours(ours), Connection::Ours(id)) => ours.look(*id).map(|known| known.connected),
            (Self::Kernel, Connection::Ours(_)) => unreachable!("{MIXED}"),
        }
    }

    /// Writes as much of `left` as there is room for.
    pub(super) fn write(&mut self, connection: &Connection, left: &mut u64) -> io::Result<()> {
        match (self, connection) {
            (_, Connection::Kernel(socket)) => {
                let mut socket = socket;
                write(left, |bytes| io::Write::write(&mut socket, bytes))
            }
            (Self::Ours(ours), Connection::Ours(id)) => {
                ours.look(*id)?;
                write(left, |bytes| match ours.stack.write(*id, bytes) {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    accepted => Ok(accepted),
                })
            }
            (Self::Kernel, Connection::Ours(_)) => unreachable!("{MIXED}"),
        }
    }

    /// Reads what has arrived; 0 is the end.
    pub(super) fn read(&mut self, connection: &Connection, buffer: &mut [u8]) -> io::Result<usize> {
        match (self, connection) {
            (_, Connection::Kernel(socket)) => (&*socket).read(buffer),
            (Self::Ours(ours), Connection::Ours(id)) => match ours.stack.read(*id, buffer) {
                0 if ours.look(*id)?.peer_closed => Ok(0),
                0 => Err(io::ErrorKind::WouldBlock.into()),
                bytes => Ok(bytes),
            },
            (Self::Kernel, Connection::Ours(_)) => unreachable!("{MIXED}"),
        }
    }

    /// Sends a FIN behind what was written.
    pub(super) fn half_close(&mut self, connection: &Connection) -> io::Result<()> {
        match (self, connection) {
            (_, Connection::Kernel(socket)) => socket.shutdown(Shutdown::Write),
            (Self::Ours(ours), Connection::Ours(id)) => {
                ours.look(*id)?;
                ours.stack.close(*id);
                Ok(())
            }
            (Self::Kernel, Connection::Ours(_)) => unreachable!("{MIXED}"),
        }
    }

    /// Leaves a connection to its TCP.
    pub(super) fn end(&mut self, connection: Connection, ending: Ending) {
        match (self, connection) {
            (_, Connection::Kernel(socket)) => {
                if ending == Ending::Reset {
                    // Without it, the connection is closed by a FIN.
                    let _ = socket.set_linger(Some(Duration::ZERO));
                }
            }
            (Self::Ours(ours), Connection::Ours(id)) => {
                ours.known.remove(&id);
                if ending == Ending::Reset {
                    ours.stack.abort(id);
                }
                ours.stack.release(id);
            }
            (Self::Kernel, Connection::Ours(_)) => unreachable!("{MIXED}"),
        }
    }

    /// Waits until `until` at most, and adds the names of connections that changed to `names`.
    pub(super) fn wait(
        &mut self,
        ready: &mut Ready,
        until: Instant,
        names: &mut Vec<u64>,
    ) -> io::Result<()> {
        match self {
            Self::Kernel => ready.wait(until, names),
            Self::Ours(ours) => ours.wait(until, names),
        }
    }

    /// What our TCP counted, and packets that the kernel did not take from it; nothing of the kernel's.
    pub(super) fn finish(mut self) -> (BTreeMap<IpAddr, [u64; 2]>, u64) {
        match &mut self {
            Self::Kernel => (BTreeMap::new(), 0),
            Self::Ours(ours) => {
                ours.sample();
                (std::mem::take(&mut ours.most), ours.stack.counters().send_failures)
            }
        }
    }
}

fn open_socket(
    (ready, name, tcp): (&Ready, u64, &Config),
    (from, to): (Ipv4Addr, SocketAddrV4),
    announce: impl FnOnce(SocketAddrV4),
) -> io::Result<Connection> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    settings::configure_socket(&socket, tcp)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(tcp.policies.hold == HoldPolicy::Off)?;
    // Ports whose last connection is in TIME-WAIT may be used again.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddrV4::new(from, 0).into())?;
    let own = socket.local_addr()?.as_socket_ipv4();
    announce(own.ok_or_else(|| io::Error::other("a socket without an IPv4 address"))?);
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(IN_PROGRESS) => return Err(error),
        _ => {}
    }
    ready.add(&socket, name)?;
    Ok(Connection::Kernel(socket))
}

impl OurTcp {
    fn open(
        &mut self,
        name: u64,
        (from, to): (Ipv4Addr, SocketAddrV4),
        announce: impl FnOnce(SocketAddrV4),
    ) -> io::Result<Connection> {
        let config = Arc::clone(&self.config);
        let id = self.stack.connect_from(from.into(), to.into(), config, Tap::Off);
        let id = id.map_err(|error| match error {
            ConnectError::NoPort(_) | ConnectError::Full(_) => {
                io::Error::new(io::ErrorKind::AddrNotAvailable, error)
            }
            error => io::Error::other(error),
        })?;
        // The server accepts it after the ACK of its SYN, which this thread has yet to send.
        if let Some(SocketAddr::V4(own)) = self.stack.tuple(id).map(|tuple| tuple.ours) {
            announce(own);
        }
        let known = Known { name, connected: false, peer_closed: false, broken: None };
        self.known.insert(id, known);
        Ok(Connection::Ours(id))
    }

    /// What is known of a connection; an error if it is broken.
    fn look(&self, id: ConnectionId) -> io::Result<&Known> {
        let known = self.known.get(&id).ok_or(io::ErrorKind::NotConnected)?;
        known.broken.map_or(Ok(known), |kind| Err(kind.into()))
    }

    fn wait(&mut self, until: Instant, names: &mut Vec<u64>) -> io::Result<()> {
        self.hear(names);
        let until = if names.is_empty() { until } else { Instant::now() };
        self.stack.poll(until)?;
        self.hear(names);
        if self.sampled.elapsed() >= SAMPLE_EVERY {
            self.sample();
        }
        Ok(())
    }

    fn hear(&mut self, names: &mut Vec<u64>) {
        while let Some((id, event)) = self.stack.poll_event() {
            let Some(known) = self.known.get_mut(&id) else { continue };
            match event {
                Event::Connected => known.connected = true,
                Event::PeerClosed => known.peer_closed = true,
                Event::Reset => known.broken = Some(io::ErrorKind::ConnectionReset),
                Event::TimedOut(_) => known.broken = Some(io::ErrorKind::TimedOut),
                _ => {}
            }
            if names.last() != Some(&known.name) {
                names.push(known.name);
            }
        }
    }

    fn sample(&mut self) {
        self.sampled = Instant::now();
        let mut now: BTreeMap<IpAddr, [u64; 2]> = BTreeMap::new();
        for (tuple, state) in self.stack.states() {
            let counts = now.entry(tuple.ours.ip()).or_default();
            match state {
                State::TimeWait => counts[0] += 1,
                State::Listen | State::Closed => {}
                _ => counts[1] += 1,
            }
        }
        for (address, counts) in now {
            let most = self.most.entry(address).or_default();
            *most = [most[0].max(counts[0]), most[1].max(counts[1])];
        }
    }
}

/// A group has one TCP.
const MIXED: &str = "a connection of our TCP in a group with the kernel's";
/// `EINPROGRESS`.
const IN_PROGRESS: i32 = 115;
/// As the kernel's socket tables.
const SAMPLE_EVERY: Duration = crate::sampler::EVERY;
