//! Looks at both ends of the connections: sockets of this host, in this namespace or another one's.
//!
//! An end that cannot be looked at is unknown, with the reason, and never 0: whether the server's end can
//! be is found out with a connection that asks for nothing. Only connections of this run count: what was
//! there before it began is remembered by the kernel's own name for each socket.

use std::{
    collections::BTreeSet,
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
use ackwise_tcp::State;
use socket2::{Domain, Protocol, Socket, Type};

use crate::generator::is_port_in_use;

/// Where the sockets of one end are.
pub(super) struct End {
    table: SocketTable,
    query: Query,
    /// What the address of the other end must be, where it is known.
    remote: Option<IpAddr>,
    /// Sockets that were there before.
    before: BTreeSet<u64>,
    /// Open until it is among those that were there before, at both ends.
    probe: Option<TcpStream>,
}

impl End {
    /// The server's end, if it is on this host. `starts` are where the connection that finds out may start
    /// from, one after the other if there is no port; `None`: where the kernel chooses.
    ///
    /// # Errors
    ///
    /// Why it cannot be looked at.
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

    /// The clients' end, where that is the kernel's. To be opened after the server's.
    ///
    /// # Errors
    ///
    /// Why it cannot be looked at.
    pub(super) fn of_clients(server: SocketAddr) -> Result<Self, String> {
        let table = SocketTable::here().map_err(unreadable)?;
        let family = if server.is_ipv4() { Family::V4 } else { Family::V6 };
        let query = Query::remote_port(server.port()).in_family(family);
        Self::new(table, query, Some(server.ip()))
    }

    fn new(mut table: SocketTable, query: Query, remote: Option<IpAddr>) -> Result<Self, String> {
        let mut before = BTreeSet::new();
        let looked = table.each(query, |socket| {
            before.insert(socket.cookie);
        });
        looked.map_err(unreadable)?;
        let query = query.in_states(&[State::TimeWait]);
        Ok(Self { table, query, remote, before, probe: None })
    }

    /// How many connections of this run it holds in TIME-WAIT now.
    pub(super) fn count(&mut self) -> Result<u64, String> {
        let Self { table, query, remote, before, probe } = self;
        *probe = None;
        let mut held = 0;
        let looked = table.each(*query, |socket| {
            let from_there = remote.is_none_or(|remote| socket.remote.ip() == remote);
            held += u64::from(from_there && !before.contains(&socket.cookie));
        });
        looked.map(|()| held).map_err(unreadable)
    }
}

/// A connection that asks for nothing.
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

/// Whether the sockets of `process` can be looked at.
///
/// # Errors
///
/// Why not.
pub(super) fn check_process(process: u32) -> Result<(), String> {
    let opened = SocketTable::of_process(process);
    opened.map(drop).map_err(|error| error.to_string())
}

/// The family of the socket that is connected to `probe_address`, if it is in `table`. Its port tells: addresses may
/// have been translated on the way.
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

/// Whether the server's kernel ignores an RST in TIME-WAIT (RFC 1337), as far as that can be read.
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

/// For the handshake of one connection on one host.
const PROBE_LIMIT: Duration = Duration::from_millis(500);
const PROBE_INTERVAL: Duration = Duration::from_millis(10);
