//! Many endpoints over one TUN device: a host's TCP in one thread, without an async runtime.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//! use ackwise_linux::{device::{TunDevice, TunOptions}, stack::{Tap, TunStack, StackOptions}};
//! use ackwise_tcp::{Config, Event, Policies};
//!
//! let device = TunDevice::open(TunOptions::default())?;
//! let server = (device.v4().host, 80).into();
//! let mut stack = TunStack::new(device, StackOptions::default())?;
//! let connection = stack.connect(server, Config::new(Policies::RFC), Tap::Off)?;
//! let deadline = Instant::now() + Duration::from_secs(5);
//! while Instant::now() < deadline {
//!     stack.poll(deadline)?;
//!     while let Some((_, event)) = stack.poll_event() {
//!         if event == Event::Connected {
//!             stack.write(connection, b"GET / HTTP/1.0\r\n\r\n");
//!         }
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | purpose |
//! | --- | --- |
//! | `arrive` | assigns packets to connections and listeners |
//! | `connection` | an endpoint with its bytes, its holder and its trace |
//! | `table` | all connections, by id and by addresses |
//! | `path_mtu` | path MTUs reported by routers |
//! | `deadlines` | the next deadline of each connection |
//! | `orphans` | how long released connections are kept, and how many |
//! | `secrets` | initial sequence numbers, ports, and the secret of SYN cookies |
//! | `trace`, `numbers` | segments on the wire, with offsets in the two streams |
//! | `path` | an emulated path to the peers |
//! | `listener`, `echo`, `counters`, `link` | the rest of a host |
//!
//! The clock is read once per wake-up and once per call of the application. Limitations: ICMP
//! errors other than path MTU reports are counted and ignored; fragments count as malformed.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    sync::Arc,
    time::{self, Duration},
};

use ackwise_link::LinkConfig;
use ackwise_tcp::{
    Config, Endpoint, Event, Instant, IpVersion, Segment, State, Transmit,
    driver::Stream,
    policy::{AckPolicy, ClosePolicy, HoldPolicy},
    wire::WriteError,
};

mod arrive;
mod connection;
mod counters;
mod deadlines;
mod echo;
mod link;
mod listener;
mod numbers;
mod orphans;
mod path;
mod path_mtu;
mod secrets;
mod table;
mod trace;
mod tuple;

pub use counters::Counters;
pub use listener::Listen;
pub use table::ConnectionId;
pub use trace::{Tap, Trace, Traced, WireDirection};
pub use tuple::Tuple;

use connection::{Connection, Owner};
use deadlines::Deadlines;
use link::Link;
use listener::Port;
use orphans::{Fate, Orphans};
use path::Path;
use path_mtu::PathMtus;
use secrets::Secrets;
use table::Table;

use crate::{TunDevice, clock::Clock, wake::Wake};

/// Options of a stack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StackOptions {
    /// Seed of initial sequence numbers and ports; `None` for the system's randomness.
    pub seed: Option<u64>,
    /// Maximum number of connections, those in TIME-WAIT included. Of those that are released, at most half may be in
    /// TIME-WAIT, and a quarter in other states.
    pub connections: usize,
    /// When the clock of events and traces, and of the timers of the whole host, starts; `None` for now.
    pub start: Option<time::Instant>,
}

impl Default for StackOptions {
    /// The connection limit is our choice: about 60 MB of idle connections.
    fn default() -> Self {
        Self { seed: None, connections: 65_536, start: None }
    }
}

/// A host's TCP on a TUN device.
///
/// Call [`poll`](Self::poll) in a loop, and drain [`poll_event`](Self::poll_event) after it and
/// after each other call. A connection that is gone or released behaves like a closed one: it
/// accepts and returns no data.
pub struct TunStack {
    link: Link,
    table: Table,
    listeners: BTreeMap<u16, Port>,
    deadlines: Deadlines,
    orphans: Orphans,
    /// Connections with possible events, each at most once.
    listed: VecDeque<u32>,
    secrets: Secrets,
    paths: PathMtus,
    limit: usize,
    clock: Clock,
    wake: Wake,
    inbound: Vec<u8>,
    payload: Vec<u8>,
}

impl TunStack {
    /// Creates a host on `device`.
    ///
    /// # Errors
    ///
    /// If no descriptors are left for an epoll set and a timer, or the system has no randomness.
    pub fn new(device: TunDevice, options: StackOptions) -> io::Result<Self> {
        Ok(Self {
            wake: Wake::new(&[device.as_fd()])?,
            link: Link::new(device),
            table: Table::default(),
            listeners: BTreeMap::new(),
            deadlines: Deadlines::default(),
            orphans: Orphans::of_table(options.connections),
            listed: VecDeque::new(),
            secrets: Secrets::new(options.seed)?,
            paths: PathMtus::default(),
            limit: options.connections,
            clock: options.start.map_or_else(Clock::new, Clock::from),
            inbound: vec![0; LARGEST_PACKET],
            payload: Vec::new(),
        })
    }

    /// Opens a connection to `peer`; [`Event::Connected`], `Reset` or `TimedOut` reports the
    /// result.
    ///
    /// # Errors
    ///
    /// If the limit is reached, or addresses or ports run out.
    pub fn connect(
        &mut self,
        peer: SocketAddr,
        config: impl Into<Arc<Config>>,
        tap: Tap,
    ) -> Result<ConnectionId, ConnectError> {
        let ours = self.link.device.address_towards(peer.ip());
        self.connect_from(ours.ok_or(ConnectError::NoAddress(peer))?, peer, config, tap)
    }

    /// The same from `ours`, one of the device's addresses.
    ///
    /// # Errors
    ///
    /// If the limit is reached, `ours` is not the stack's or of another IP version than `peer`, or ports
    /// run out.
    pub fn connect_from(
        &mut self,
        ours: IpAddr,
        peer: SocketAddr,
        config: impl Into<Arc<Config>>,
        tap: Tap,
    ) -> Result<ConnectionId, ConnectError> {
        if !self.link.device.is_ours(ours) || ours.is_ipv4() != peer.is_ipv4() {
            return Err(ConnectError::NoAddress(peer));
        }
        if self.table.len() >= self.limit {
            return Err(ConnectError::Full(self.limit));
        }
        let tuple = self.free_tuple(ours, peer)?;
        let now = self.clock.now();
        let iss = self.secrets.initial_sequence(&tuple, now);
        let mut endpoint = Endpoint::connect(config, iss, now);
        self.prepare(&mut endpoint, &tuple, now);
        let connection = Connection::new(tuple, endpoint, Owner::Application, tap);
        let id = self.table.insert(connection);
        self.settle(self.table.slot(id).expect("it was inserted just now"), now);
        Ok(id)
    }

    /// Starts accepting connections to `port`.
    ///
    /// # Errors
    ///
    /// If the port already has a listener.
    pub fn listen(&mut self, port: u16, listen: Listen) -> Result<(), PortTaken> {
        if self.listeners.contains_key(&port) {
            return Err(PortTaken(port));
        }
        self.listeners.insert(port, Port::new(listen, self.secrets.cookies()));
        Ok(())
    }

    /// The next established connection to `port`, oldest first.
    pub fn accept(&mut self, port: u16) -> Option<ConnectionId> {
        self.listeners.get_mut(&port)?.listener.accept()
    }

    /// Sleeps until a packet arrives, a timer is due or `deadline` has passed, then handles at most
    /// [`PACKETS_PER_WAKE_UP`] packets, and the timers.
    ///
    /// # Errors
    ///
    /// If the device was removed.
    pub fn poll(&mut self, deadline: time::Instant) -> io::Result<()> {
        let timer = self.deadlines.earliest().and_then(|at| self.clock.outside(at));
        let due = timer.into_iter().chain(self.link.due()).min();
        self.wake.sleep(due.map_or(deadline, |at| at.min(deadline)))?;
        let now = self.clock.now();
        let mut inbound = std::mem::take(&mut self.inbound);
        let received = self.receive(&mut inbound, now);
        self.inbound = inbound;
        self.fire_timers(now);
        received
    }

    /// The next event with its connection. Simultaneous events are returned together.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        while let Some(slot) = self.listed.front().copied() {
            if let Some(connection) = self.table.at_mut(slot) {
                if let Some(event) = connection.poll_event() {
                    return Some((self.table.id(slot), event));
                }
                connection.listed = false;
            }
            self.listed.pop_front();
        }
        None
    }

    /// Writes `bytes`. Returns how many the send buffer accepts; [`Event::Writable`] reports new
    /// space.
    pub fn write(&mut self, id: ConnectionId, bytes: &[u8]) -> usize {
        self.act(id, |connection, _| connection.write(bytes)).unwrap_or(0)
    }

    /// Reads bytes that arrived in order into `out`. Returns their number.
    pub fn read(&mut self, id: ConnectionId, out: &mut [u8]) -> usize {
        self.act(id, |connection, _| connection.read(out)).unwrap_or(0)
    }

    /// Closes the sending direction: a FIN follows the written data. Reading continues.
    pub fn close(&mut self, id: ConnectionId) {
        self.with_endpoint(id, |endpoint, _| endpoint.close());
    }

    /// Aborts the connection with an RST.
    pub fn abort(&mut self, id: ConnectionId) {
        self.with_endpoint(id, |endpoint, _| endpoint.abort());
    }

    /// Changes when small segments are held (`TCP_NODELAY`, `TCP_CORK`).
    pub fn set_hold(&mut self, id: ConnectionId, hold: HoldPolicy) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_hold(hold));
    }

    /// Changes when data is acknowledged, from the next segment on.
    pub fn set_ack(&mut self, id: ConnectionId, ack: AckPolicy) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_ack(ack));
    }

    /// Changes how this connection is closed, independent of the host's default: which end holds
    /// TIME-WAIT.
    pub fn set_close(&mut self, id: ConnectionId, close: ClosePolicy) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_close(close));
    }

    /// Changes how long the peer may be silent before the connection is aborted
    /// (`TCP_USER_TIMEOUT`).
    pub fn set_user_timeout(&mut self, id: ConnectionId, user_timeout: Duration) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_user_timeout(user_timeout));
    }

    /// Changes how many unacknowledged bytes [`write`](Self::write) accepts (`SO_SNDBUF`).
    pub fn set_send_buffer(&mut self, id: ConnectionId, bytes: u32) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_send_buffer(bytes));
    }

    /// Changes the maximum advertised window (`SO_RCVBUF`).
    pub fn set_receive_buffer(&mut self, id: ConnectionId, bytes: u32) {
        self.with_endpoint(id, |endpoint, _| endpoint.set_receive_buffer(bytes));
    }

    /// Enables the connection's counters: [`Endpoint::counters`] of [`endpoint`](Self::endpoint).
    pub fn count(&mut self, id: ConnectionId) {
        self.with_endpoint(id, |endpoint, _| endpoint.count());
    }

    /// Acknowledges received data immediately.
    pub fn acknowledge_now(&mut self, id: ConnectionId) {
        self.with_endpoint(id, |endpoint, _| endpoint.acknowledge_now());
    }

    /// Releases the connection: it is closed if necessary, continues to its end, TIME-WAIT
    /// included, and is then removed. Data that still arrives is answered by an RST. A peer that does not close within
    /// 60 s, or takes nothing for 100 s, is given up; earlier if too many are released.
    pub fn release(&mut self, id: ConnectionId) {
        self.act(id, |connection, _| connection.release());
    }

    /// Removes the endpoint without sending anything, and keeps the addresses in use: arriving
    /// packets are traced but not answered. With [`send_crafted`](Self::send_crafted) this allows
    /// probing a peer's TIME-WAIT.
    pub fn detach(&mut self, id: ConnectionId) -> Option<Endpoint> {
        let slot = self.table.slot(id)?;
        self.deadlines.disarm(slot);
        self.table.at_mut(slot)?.stream.take().map(Stream::into_endpoint)
    }

    /// Sends a crafted segment on the connection to the peer. The endpoint's state does not change.
    ///
    /// # Errors
    ///
    /// If `segment.len` is not the length of `payload`, or they do not fit into a packet.
    pub fn send_crafted(
        &mut self,
        id: ConnectionId,
        segment: &Segment,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        let now = self.clock.now();
        let Some(slot) = self.table.slot(id) else { return Ok(()) };
        let Some(connection) = self.table.at_mut(slot) else { return Ok(()) };
        self.link.send(connection.tuple(), segment, payload)?;
        let transmit =
            Transmit { segment: *segment, offset: 0, retransmission: false, ack_reason: None };
        connection.record_departure(&transmit, now);
        Ok(())
    }

    /// The endpoint, for inspection of its state, windows and waits.
    #[must_use]
    pub fn endpoint(&self, id: ConnectionId) -> Option<&Endpoint> {
        self.table.at(self.table.slot(id)?)?.endpoint()
    }

    /// The connection's addresses.
    #[must_use]
    pub fn tuple(&self, id: ConnectionId) -> Option<Tuple> {
        Some(*self.table.at(self.table.slot(id)?)?.tuple())
    }

    /// The connection's trace, if it was opened with a tap.
    #[must_use]
    pub fn trace(&self, id: ConnectionId) -> Option<&Trace> {
        self.table.at(self.table.slot(id)?)?.trace()
    }

    /// Addresses and state of all connections, those in TIME-WAIT included.
    pub fn states(&self) -> impl Iterator<Item = (Tuple, State)> {
        self.table.all().filter_map(|it| Some((*it.tuple(), it.endpoint()?.state())))
    }

    /// Number of connections, those in TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The counters so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.link.counters
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &TunDevice {
        &self.link.device
    }

    /// Puts an emulated path between this host and its peers, to them and from them, or removes it. Packets
    /// that are under way are lost: change it while no connection is in use.
    pub fn set_path(&mut self, links: Option<[LinkConfig; 2]>) {
        self.link.path = links.map(|links| Path::new(links, self.clock));
    }

    /// Wakes [`poll`](Self::poll) whenever `bell` becomes readable again. It is not read.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory for it.
    pub fn wake_for(&self, bell: impl AsFd) -> io::Result<()> {
        self.wake.add_bell(bell.as_fd())
    }

    /// The current time on the clock of events and traces.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Converts `at` to the system's time. `None` if it is out of range.
    #[must_use]
    pub fn outside(&self, at: Instant) -> Option<time::Instant> {
        self.clock.outside(at)
    }

    /// Passes the known path MTU to a new endpoint.
    fn prepare(&mut self, endpoint: &mut Endpoint, tuple: &Tuple, now: Instant) {
        let peer = tuple.peer.ip();
        endpoint.set_ip_version(if peer.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 });
        if let Some(mtu) = self.paths.known(peer, now) {
            // An MTU that is not smaller changes nothing.
            let _ = endpoint.limit_path_mtu(mtu);
        }
    }

    fn free_tuple(&mut self, ours: IpAddr, peer: SocketAddr) -> Result<Tuple, ConnectError> {
        // An IPv6 address's flow label and scope do not identify a connection.
        let peer = SocketAddr::new(peer.ip(), peer.port());
        self.secrets
            .ports(ours, peer)
            .filter(|port| !self.listeners.contains_key(port))
            .map(|port| Tuple { ours: SocketAddr::new(ours, port), peer })
            .find(|tuple| self.table.find(tuple).is_none())
            .ok_or(ConnectError::NoPort(peer))
    }

    fn receive(&mut self, inbound: &mut [u8], now: Instant) -> io::Result<()> {
        for _ in 0..PACKETS_PER_WAKE_UP {
            let Some(len) = self.link.receive(inbound)? else { break };
            self.handle_packet(&mut inbound[..len], now);
        }
        Ok(())
    }

    fn fire_timers(&mut self, now: Instant) {
        // Each at most once: an endpoint with the same deadline again waits for the next turn.
        for _ in 0..self.deadlines.len() {
            let Some(slot) = self.deadlines.pop_due(now) else { break };
            if let Some(endpoint) = self.table.at_mut(slot).and_then(Connection::endpoint_mut) {
                endpoint.handle_timeout(now);
            }
            self.settle(slot, now);
        }
    }

    fn with_endpoint(&mut self, id: ConnectionId, verb: impl FnOnce(&mut Endpoint, Instant)) {
        self.act(id, |connection, now| {
            if let Some(endpoint) = connection.endpoint_mut() {
                verb(endpoint, now);
            }
        });
    }

    /// Applies a call of the application to a connection that it holds.
    fn act<T>(
        &mut self,
        id: ConnectionId,
        verb: impl FnOnce(&mut Connection, Instant) -> T,
    ) -> Option<T> {
        let now = self.clock.now();
        let slot = self.table.slot(id)?;
        let connection = self.table.at_mut(slot)?;
        if connection.owner != Owner::Application {
            return None;
        }
        let result = verb(connection, now);
        self.settle(slot, now);
        Some(result)
    }

    /// Brings everything else up to date with a changed connection.
    fn settle(&mut self, slot: u32, now: Instant) {
        self.send_pending(slot, now);
        let Some(connection) = self.table.at_mut(slot) else { return };
        let mut due = connection.endpoint().and_then(Endpoint::poll_timeout).map(|it| it.at);
        if let Some(orphan) = connection.orphan(now) {
            match self.orphans.watch(slot, orphan) {
                Fate::Stays(until) => due = due.into_iter().chain(until).min(),
                fate => {
                    let counters = &mut self.link.counters;
                    match orphan.state {
                        State::TimeWait => counters.time_waits_cut += 1,
                        _ => counters.orphans_timed_out += 1,
                    }
                    return self.give_up(slot, fate, now);
                }
            }
        }
        match due {
            Some(at) => self.deadlines.arm(slot, at),
            None => self.deadlines.disarm(slot),
        }
        if !std::mem::replace(&mut connection.listed, true) {
            self.listed.push_back(slot);
        }
        self.graduate(slot);
        if self.table.at(slot).is_some_and(|it| it.owner == Owner::Nobody && it.is_over()) {
            self.remove(slot);
        }
        while let Some((slot, fate)) = self.orphans.excess() {
            self.link.counters.orphans_evicted += 1;
            self.give_up(slot, fate, now);
        }
    }

    /// Sends all pending segments of a connection.
    fn send_pending(&mut self, slot: u32, now: Instant) {
        let Some(connection) = self.table.at_mut(slot) else { return };
        while let Some(segment) = connection.next_transmit(&mut self.payload, now) {
            let sent = self.link.send(connection.tuple(), &segment, &self.payload);
            sent.expect("an endpoint's segments fit into a packet");
        }
        connection.update();
    }

    /// Removes a released connection before its end.
    fn give_up(&mut self, slot: u32, fate: Fate, now: Instant) {
        let connection = self.table.at_mut(slot);
        if let Some(endpoint) = connection.and_then(Connection::endpoint_mut)
            && fate == Fate::Reset
        {
            endpoint.abort();
            self.send_pending(slot, now);
        }
        self.remove(slot);
    }

    fn remove(&mut self, slot: u32) {
        self.deadlines.disarm(slot);
        self.orphans.forget(slot);
        self.table.remove(slot);
    }
}

impl Drop for TunStack {
    /// Resets open connections, so that remote peers do not keep half-open ones.
    fn drop(&mut self) {
        let now = self.clock.now();
        for slot in self.table.occupied() {
            let Some(connection) = self.table.at_mut(slot) else { continue };
            if let Some(endpoint) = connection.endpoint_mut() {
                endpoint.abort();
            }
            self.settle(slot, now);
        }
    }
}

/// Why a connection could not be attempted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host has no address in the peer's family.
    #[error("cannot connect to {0}: the TUN device has no address of this IP version")]
    NoAddress(SocketAddr),
    /// Every ephemeral port is in use towards this peer.
    #[error("cannot connect to {0}: no free local port")]
    NoPort(SocketAddr),
    /// The limit [`StackOptions::connections`] is reached.
    #[error("cannot open a connection: the stack already has its maximum of {0}")]
    Full(usize),
}

/// The port already has a listener.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("cannot listen on port {0}: it already has a listener")]
pub struct PortTaken(pub u16);

/// Packets read before the timers are handled (our choice): about a millisecond of work.
pub const PACKETS_PER_WAKE_UP: usize = 256;
/// The length field of an IP packet has 16 bits.
const LARGEST_PACKET: usize = 65_535;
