//! Counts the sockets at both ends of the connections, in this network namespace or in another one
//! of this host.
//!
//! An end that cannot be inspected is reported as unknown with the reason, never as 0. A probe
//! connection without a request determines whether the server's end can be inspected. Only
//! connections of this run count: earlier sockets are excluded by their kernel cookies.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    Namespace, SocketTable,
    sockets::{Family, Query},
    wire::is_local,
};
use ackwise_net::is_port_in_use;
use ackwise_tcp::State;
use socket2::{Domain, Protocol, Socket, Type};

use super::time_wait::Held;

/// The sockets of one end.
pub(super) struct End {
    table: SocketTable,
    query: Query,
    /// Required address of the other end, if known.
    remote: Option<IpAddr>,
    /// Cookies of sockets that existed before the run, in order.
    before: Vec<u64>,
    /// Time that the first look took.
    cost: Duration,
    /// The probe, kept open until it is recorded in `before` at both ends.
    probe: Option<TcpStream>,
}

impl End {
    /// The server's end, if it is on this host. `starts` are local addresses for the probe, tried
    /// in turn until one has a free port; `None` lets the kernel choose.
    ///
    /// # Errors
    ///
    /// If it cannot be inspected.
    pub(super) fn of_server(
        server: SocketAddr,
        process: Option<u32>,
        clients: Option<IpAddr>,
        starts: &[Option<IpAddr>],
    ) -> Result<Self, String> {
        let mut table = match process {
            Some(process) => SocketTable::of_process(process).map_err(|error| error.to_string())?,
            None if is_local(server) => SocketTable::here().map_err(unreadable)?,
            None => return Err(format!("{} is not an address of this host", server.ip())),
        };
        let query = Query::local_port(server.port());
        let probe = knock(server, starts)?;
        let probe_address = probe.local_addr().map_err(|error| error.to_string())?;
        let Some(family) = other_end(&mut table, query, probe_address)? else {
            let place = match process {
                None => "this network namespace (--server-pid selects another one)".to_owned(),
                Some(process) => format!("the network namespace of process {process}"),
            };
            return Err(format!("connections to {server} do not end in {place}"));
        };
        let end = Self::new(table, query.in_family(family), clients)?;
        Ok(Self { probe: Some(probe), ..end })
    }

    /// The clients' end, if the kernel holds it. Create it after the server's.
    ///
    /// # Errors
    ///
    /// If it cannot be inspected.
    pub(super) fn of_clients(server: SocketAddr) -> Result<Self, String> {
        let table = SocketTable::here().map_err(unreadable)?;
        let family = if server.is_ipv4() { Family::V4 } else { Family::V6 };
        let query = Query::remote_port(server.port()).in_family(family);
        Self::new(table, query, Some(server.ip()))
    }

    fn new(mut table: SocketTable, query: Query, remote: Option<IpAddr>) -> Result<Self, String> {
        let began = Instant::now();
        let mut before = Vec::new();
        let looked = table.each(query, |socket| before.push(socket.cookie));
        looked.map_err(unreadable)?;
        before.sort_unstable();
        let query = query.in_states(&[
            State::TimeWait,
            State::FinWait1,
            State::FinWait2,
            State::Closing,
            State::LastAck,
        ]);
        Ok(Self { table, query, remote, before, cost: began.elapsed(), probe: None })
    }

    /// About how long a count takes.
    pub(super) const fn cost(&self) -> Duration {
        self.cost
    }

    /// This run's connections at this end.
    pub(super) fn count(&mut self) -> Result<Held, String> {
        let Self { table, query, remote, before, probe, .. } = self;
        *probe = None;
        let mut held = Held::default();
        let looked = table.each(*query, |socket| {
            let from_there = remote.is_none_or(|remote| socket.remote.ip() == remote);
            if from_there && before.binary_search(&socket.cookie).is_err() {
                match socket.state {
                    State::TimeWait => held.time_wait += 1,
                    _ => held.closing += 1,
                }
            }
        });
        looked.map(|()| held).map_err(unreadable)
    }
}

/// Opens a probe connection, which sends no request.
fn knock(server: SocketAddr, starts: &[Option<IpAddr>]) -> Result<TcpStream, String> {
    for start in starts {
        match connect(server, *start) {
            Ok(probe) => return Ok(probe),
            Err(error) if is_port_in_use(&error) => {}
            Err(error) => return Err(format!("cannot connect to it by the kernel's TCP: {error}")),
        }
    }
    Err("cannot locate it: no free local port for the probe connection".to_owned())
}

fn connect(server: SocketAddr, start: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(start) = start {
        // Its ports may be in TIME-WAIT towards other servers.
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::new(start, 0).into())?;
    }
    socket.connect_timeout(&server.into(), PROBE_LIMIT)?;
    Ok(socket.into())
}

/// Checks that the sockets of `process` can be inspected.
///
/// # Errors
///
/// If they cannot.
pub(super) fn check_process(process: u32) -> Result<(), String> {
    let opened = SocketTable::of_process(process);
    opened.map(drop).map_err(|error| error.to_string())
}

/// The family of the socket connected to `probe_address`, if it is in `table`. It is identified by
/// its port, because addresses may have been translated.
fn other_end(
    table: &mut SocketTable,
    query: Query,
    probe_address: SocketAddr,
) -> Result<Option<Family>, String> {
    let deadline = Instant::now() + PROBE_LIMIT;
    loop {
        let mut family = None;
        let looked = table.each(query, |socket| {
            if socket.remote.port() == probe_address.port() && socket.state != State::TimeWait {
                family = Some(socket.family);
            }
        });
        looked.map_err(unreadable)?;
        if family.is_some() || Instant::now() >= deadline {
            return Ok(family);
        }
        thread::sleep(PROBE_INTERVAL);
    }
}

/// Whether the server's kernel ignores an RST in TIME-WAIT (RFC 1337); `None` if that cannot be
/// read.
pub(super) fn ignores_resets(process: Option<u32>) -> Option<bool> {
    let read = || fs::read_to_string("/proc/sys/net/ipv4/tcp_rfc1337").ok();
    let value = match process {
        None => read(),
        Some(process) => Namespace::of_process(process).ok()?.run(read).ok()?,
    };
    Some(value?.trim() != "0")
}

fn unreadable(error: io::Error) -> String {
    format!("cannot list the kernel's sockets: {error}")
}

/// Maximum time for the handshake of the probe on one host (our choice).
const PROBE_LIMIT: Duration = Duration::from_millis(500);
const PROBE_INTERVAL: Duration = Duration::from_millis(10);
