//! The kernel's table of TCP sockets with their states, including those of no process.
//!
//! No process has a descriptor of a socket in TIME-WAIT, and the kernel removes it after a minute.
//! `NETLINK_SOCK_DIAG` lists these sockets too. The kernel filters by state and port, so a query
//! among 100,000 sockets takes a few milliseconds.
//!
//! ```
//! use ackwise_linux::sockets::{Query, SocketTable};
//! use ackwise_tcp::State;
//!
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let mut table = SocketTable::here()?;
//! let query = Query::local_port(listener.local_addr()?.port()).in_states(&[State::Listen]);
//! let mut listening = 0;
//! table.each(query, |_| listening += 1)?;
//! assert_eq!(listening, 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod dump;
mod info;

use std::{io, net::SocketAddr};

use ackwise_tcp::State;
pub use info::{CongestionName, Memory, TcpInfo};
use netlink_sys::{Socket, protocols::NETLINK_SOCK_DIAG};

use crate::{Namespace, NamespaceError};

/// The sockets of one network namespace.
///
/// The table stays in the namespace in which it was opened, even if the thread moves.
#[derive(Debug)]
pub struct SocketTable {
    socket: Socket,
    buffer: Vec<u8>,
}

/// Selects sockets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Query {
    /// 0 matches any.
    local_port: u16,
    /// 0 matches any.
    remote_port: u16,
    /// A bit for each state, in the kernel's numbering.
    states: u32,
    /// `None` matches both.
    family: Option<Family>,
    /// Whether `TCP_INFO` is wanted too.
    info: bool,
    /// Whether the memory of the buffers is wanted too.
    memory: bool,
    /// Whether the congestion control is wanted too.
    congestion: bool,
}

/// The family of a socket. An IPv6 socket may have IPv4 connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// `AF_INET`.
    V4,
    /// `AF_INET6`.
    V6,
}

/// One end of a connection, or a listener.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TcpSocket {
    /// The local address. IPv4 addresses are shown as such, even on an IPv6 socket.
    pub local: SocketAddr,
    /// The remote address; unspecified for a listener.
    pub remote: SocketAddr,
    /// The socket's family.
    pub family: Family,
    /// The TCP state.
    pub state: State,
    /// The kernel's cookie of the socket: unique since boot, and kept in TIME-WAIT.
    pub cookie: u64,
    /// The inode, which names the socket in `/proc/PID/fd`. 0 if no process has a descriptor of it.
    pub inode: u32,
    /// The user who opened it, or whose process accepted it (`fsuid`, credentials(7)). Not of a connection without an
    /// inode.
    pub user: u32,
    /// The interface that it is bound to; 0 for any.
    pub interface: u32,
    /// Bytes that the process has not read. Of a listener: connections that it has not accepted.
    pub receive_queue: u32,
    /// Bytes that the peer has not acknowledged, sent or not. Of a listener: the limit of its queue.
    pub send_queue: u32,
    /// `TCP_INFO`, if the query asked for it and the socket is not in TIME-WAIT.
    pub info: Option<TcpInfo>,
    /// The memory of the buffers, if the query asked for it and the socket is not in TIME-WAIT.
    pub memory: Option<Memory>,
    /// The congestion control, if the query asked for it and the socket is not in TIME-WAIT. Of a listener: that of the
    /// connections that it accepts, unless a route has another.
    pub congestion: Option<CongestionName>,
}

impl Query {
    const ALL: Self = Self {
        local_port: 0,
        remote_port: 0,
        states: ALL_STATES,
        family: None,
        info: false,
        memory: false,
        congestion: false,
    };

    /// Selects all sockets.
    #[must_use]
    pub const fn all() -> Self {
        Self::ALL
    }

    /// Selects sockets with this local port: a server's.
    #[must_use]
    pub const fn local_port(port: u16) -> Self {
        Self { local_port: port, ..Self::ALL }
    }

    /// Selects sockets with this remote port: its clients'.
    #[must_use]
    pub const fn remote_port(port: u16) -> Self {
        Self { remote_port: port, ..Self::ALL }
    }

    /// Restricts the query to this family, which halves its time.
    #[must_use]
    pub const fn in_family(self, family: Family) -> Self {
        Self { family: Some(family), ..self }
    }

    /// Asks for [`TcpSocket::info`] too, which doubles the time.
    #[must_use]
    pub const fn with_info(self) -> Self {
        Self { info: true, ..self }
    }

    /// Asks for [`TcpSocket::memory`] too.
    #[must_use]
    pub const fn with_memory(self) -> Self {
        Self { memory: true, ..self }
    }

    /// Asks for [`TcpSocket::congestion`] too.
    #[must_use]
    pub const fn with_congestion(self) -> Self {
        Self { congestion: true, ..self }
    }

    /// Restricts the query to these states.
    #[must_use]
    pub fn in_states(self, states: &[State]) -> Self {
        let bits = dump::STATES.iter().filter(|(_, state)| states.contains(state));
        Self { states: bits.fold(0, |bits, (number, _)| bits | 1 << number), ..self }
    }
}

impl SocketTable {
    /// The table of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the kernel does not support `NETLINK_SOCK_DIAG`.
    pub fn here() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        Ok(Self { socket, buffer: vec![0; DUMP_SIZE] })
    }

    /// The table of a process's namespace.
    ///
    /// # Errors
    ///
    /// If there is no such process, or its namespace cannot be entered.
    pub fn of_process(process: u32) -> Result<Self, NamespaceError> {
        Self::of(&Namespace::of_process(process)?)
    }

    /// The table of a namespace.
    ///
    /// # Errors
    ///
    /// If it cannot be entered, or the kernel does not support `NETLINK_SOCK_DIAG`.
    pub fn of(namespace: &Namespace) -> Result<Self, NamespaceError> {
        let opened = namespace.run(Self::here)?;
        opened.map_err(NamespaceError::Handle)
    }

    /// Calls `visit` for every socket selected by `query`, in no particular order.
    ///
    /// Not a snapshot: a socket that changes during the dump may be visited twice, or not at all.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn each(&mut self, query: Query, mut visit: impl FnMut(&TcpSocket)) -> io::Result<()> {
        let wanted = |family: &Family| query.family.is_none_or(|wanted| wanted == *family);
        for family in [Family::V4, Family::V6].into_iter().filter(wanted) {
            dump::run(&self.socket, &mut self.buffer, family, query, &mut visit)?;
        }
        Ok(())
    }

    /// Looks up one socket that was visited before, with what `query` asks for: a hash look-up instead of a
    /// walk through the table. `None` if it is gone. Its state is not compared with the query's.
    ///
    /// A listening socket is found only if no other one listens on its address (`SO_REUSEPORT`).
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn one(&mut self, known: &TcpSocket, query: Query) -> io::Result<Option<TcpSocket>> {
        dump::one(&self.socket, &mut self.buffer, known, query)
    }
}

/// Maximum size of one datagram of a dump.
const DUMP_SIZE: usize = 64 * 1024;
const ALL_STATES: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// States and cookies of the sockets selected by `query`.
    fn found(table: &mut SocketTable, query: Query) -> Vec<(State, u64)> {
        let mut found = Vec::new();
        table.each(query, |socket| found.push((socket.state, socket.cookie))).unwrap();
        found
    }

    #[test]
    fn both_ends_are_told_apart_and_a_socket_keeps_its_name_in_time_wait() {
        // An IPv6 socket with IPv4 clients, as in Apache.
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut table = SocketTable::here().unwrap();
        let listening = Query::local_port(port).in_states(&[State::Listen]);
        assert_eq!(found(&mut table, listening).len(), 1);
        let here = Query::local_port(port).in_states(&[State::Established]);
        let [(_, cookie)] = found(&mut table, here)[..] else { panic!("one connection") };
        let there = Query::remote_port(port).in_states(&[State::Established, State::TimeWait]);
        let mut clients = Vec::new();
        table.each(there, |socket| clients.push(*socket)).unwrap();
        assert_eq!(clients.len(), 1);
        assert_eq!(clients[0].remote, ([127, 0, 0, 1], port).into());

        drop(server); // The server closes first.
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        drop(client);
        let waiting = Query::local_port(port).in_states(&[State::TimeWait]);
        assert_eq!(found(&mut table, waiting), [(State::TimeWait, cookie)]);
        assert_eq!(found(&mut table, there), []);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_table() {
        assert!(SocketTable::of_process(u32::MAX).is_err());
        assert!(
            SocketTable::of_process(std::process::id())
                .is_ok_and(|mut table| { table.each(Query::local_port(1), |_| {}).is_ok() })
                || !nix::unistd::geteuid().is_root()
        );
    }
}
