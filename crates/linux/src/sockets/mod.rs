//! The kernel's table of TCP sockets: which there are, in which state, those of no process included.
//!
//! A socket in TIME-WAIT belongs to nobody: no process has a descriptor of it, and it is gone after a
//! minute. `NETLINK_SOCK_DIAG` lists them; the kernel leaves out by itself what is in another state or has
//! another port, so that a question costs a few milliseconds beside 100,000 of them.
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

use std::{io, net::SocketAddr};

use ackwise_tcp::State;
use netlink_sys::{Socket, protocols::NETLINK_SOCK_DIAG};

use crate::{Namespace, NamespaceError};

/// The sockets of one network namespace.
///
/// It stays with the namespace in which it was opened, whichever the thread moves to.
#[derive(Debug)]
pub struct SocketTable {
    socket: Socket,
    buffer: Vec<u8>,
}

/// Which sockets are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Query {
    /// 0: any.
    local_port: u16,
    /// 0: any.
    remote_port: u16,
    /// As the kernel numbers them, a bit each.
    states: u32,
    /// `None`: both.
    family: Option<Family>,
}

/// What a socket was made for. One for IPv6 may have connections of IPv4.
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
    /// The address here. IPv4 addresses are such, also where the socket is one of IPv6.
    pub local: SocketAddr,
    /// The address there; unspecified for a listener.
    pub remote: SocketAddr,
    /// What it was made for.
    pub family: Family,
    /// Its state.
    pub state: State,
    /// The kernel's name for it: no other socket of this boot has the same, and it keeps it in TIME-WAIT.
    pub cookie: u64,
}

impl Query {
    /// Sockets whose own port is this one: a server's.
    #[must_use]
    pub const fn local_port(port: u16) -> Self {
        Self { local_port: port, remote_port: 0, states: ALL_STATES, family: None }
    }

    /// Sockets that are connected to this port: its clients'.
    #[must_use]
    pub const fn remote_port(port: u16) -> Self {
        Self { local_port: 0, remote_port: port, states: ALL_STATES, family: None }
    }

    /// Only those of this family, which takes half the time.
    #[must_use]
    pub const fn in_family(self, family: Family) -> Self {
        Self { family: Some(family), ..self }
    }

    /// Only those in one of these states.
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
    /// If the kernel has no `NETLINK_SOCK_DIAG`.
    pub fn here() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        Ok(Self { socket, buffer: vec![0; DUMP_SIZE] })
    }

    /// The table of the namespace in which a process is.
    ///
    /// # Errors
    ///
    /// If there is no such process, or its namespace may not be entered.
    pub fn of_process(process: u32) -> Result<Self, NamespaceError> {
        let opened = Namespace::of_process(process)?.run(Self::here)?;
        opened.map_err(NamespaceError::Handle)
    }

    /// Shows every socket that `query` asks for, in no order.
    ///
    /// It is no snapshot: a socket that changes meanwhile may be shown twice, or not at all.
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
}

/// What the kernel puts into one datagram of a dump, at most.
const DUMP_SIZE: usize = 64 * 1024;
const ALL_STATES: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// The states of the sockets that a query finds, with their cookies.
    fn found(table: &mut SocketTable, query: Query) -> Vec<(State, u64)> {
        let mut found = Vec::new();
        table.each(query, |socket| found.push((socket.state, socket.cookie))).unwrap();
        found
    }

    #[test]
    fn both_ends_are_told_apart_and_a_socket_keeps_its_name_in_time_wait() {
        // An IPv6 socket with IPv4 clients, as Apache has.
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

        drop(server); // It closes first.
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
