//! Which listening sockets and connections belong to the server that is tuned.
//!
//! Anybody may listen on a port above 1023 on another address of the host, such as `[::1]` or 127.0.0.9, and connect to
//! it. What other users' sockets do must not decide what happens to the server's, so a run is for one user's
//! listening sockets, and a connection counts if it came to one of them.
//!
//! Places are counted for each server: the listening sockets of one address (`SO_REUSEPORT`), and those that one
//! process holds, such as `0.0.0.0` and `[::]`. Two programs of one user have their own places.

use std::collections::BTreeSet;

use ackwise_linux::{
    foreign::{Holders, Processes, users_of},
    sockets::{Family, Query, SocketTable, TcpSocket},
};
use ackwise_tcp::State;

use crate::TuneError;

/// The listening sockets of a port.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// Those of the server's user.
    pub(crate) own: Vec<TcpSocket>,
    /// Those of other users.
    pub(crate) others: Vec<TcpSocket>,
}

impl Listeners {
    /// Finds those of a port. Without `user`, all are of the user who has the first one.
    pub(crate) fn at_port(
        table: &mut SocketTable,
        port: u16,
        mut user: Option<u32>,
    ) -> Result<Self, TuneError> {
        let mut found = Self::default();
        let visit = |socket: &TcpSocket| {
            let is_own = *user.get_or_insert(socket.user) == socket.user;
            let list = if is_own { &mut found.own } else { &mut found.others };
            if list.len() < LISTENERS_LIMIT {
                list.push(*socket);
            }
        };
        table.each(Query::local_port(port).in_states(&LISTEN), visit).map_err(TuneError::Table)?;
        [&mut found.own, &mut found.others].into_iter().for_each(in_order);
        Ok(found)
    }

    /// Finds those that `processes` hold, of one port or of all.
    pub(crate) fn of(
        table: &mut SocketTable,
        port: Option<u16>,
        processes: &Processes,
    ) -> Result<(Self, Holders), TuneError> {
        let mut own = Vec::new();
        let visit = |socket: &TcpSocket| {
            if own.len() < LISTENERS_LIMIT {
                own.push(*socket);
            }
        };
        let query = port.map_or(Query::all(), Query::local_port);
        table.each(query.in_states(&LISTEN), visit).map_err(TuneError::Table)?;
        let inodes = own.iter().map(|it| it.inode).collect();
        let holders = Holders::among(&processes.members(), &inodes);
        own.retain(|it| !holders.of_inode(it.inode).is_empty());
        in_order(&mut own);
        Ok((Self { own, others: Vec::new() }, holders))
    }
}

fn in_order(list: &mut Vec<TcpSocket>) {
    list.sort_unstable_by_key(|socket| (socket.local, socket.cookie));
    list.dedup_by_key(|socket| socket.cookie);
}

/// The servers of a run, and how their connections are distinguished from others.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    servers: Vec<Server>,
    /// Who may have accepted a connection: the listening sockets' user, and those of the processes that hold them.
    users: BTreeSet<u32>,
}

/// One server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Server {
    pub(crate) listeners: Vec<TcpSocket>,
    pub(crate) processes: BTreeSet<u32>,
}

/// Whose a connection is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Whose {
    /// Of the server with this number.
    Server(usize),
    /// It came to a server's address, but no process that holds the listening socket has accepted it.
    OfUnknownUser,
    /// Of another user's listening socket, or of none.
    Another,
}

impl Servers {
    /// Takes the listening sockets, with the processes that hold them.
    pub(crate) fn of(listeners: &[TcpSocket], holders: &Holders) -> Self {
        let mut servers: Vec<Server> = Vec::new();
        for listener in listeners {
            let mut server = Server {
                listeners: vec![*listener],
                processes: holders.processes(listener.inode).into_iter().collect(),
            };
            // It may join several.
            servers.retain_mut(|other| {
                let is_one = server.shares_with(other);
                if is_one {
                    server.listeners.append(&mut other.listeners);
                    server.processes.append(&mut other.processes);
                }
                !is_one
            });
            servers.push(server);
        }
        let mut servers = Self { servers, users: BTreeSet::new() };
        servers.ask_users();
        servers
    }

    /// Looks again who may accept connections: a server may have started its workers meanwhile.
    pub(crate) fn look_again(&mut self, holders: &Holders) {
        for server in &mut self.servers {
            let inodes = server.listeners.iter().map(|it| it.inode);
            server.processes = inodes.flat_map(|inode| holders.processes(inode)).collect();
        }
        self.ask_users();
    }

    fn ask_users(&mut self) {
        for server in &self.servers {
            self.users.extend(server.listeners.iter().map(|it| it.user));
            let processes: Vec<_> = server.processes.iter().copied().collect();
            self.users.extend(users_of(&processes));
        }
    }

    pub(crate) fn all(&self) -> &[Server] {
        &self.servers
    }

    pub(crate) fn inodes(&self) -> BTreeSet<u32> {
        self.servers.iter().flat_map(|it| &it.listeners).map(|it| it.inode).collect()
    }

    /// Those of the listening sockets: a dump of each costs a walk through the kernel's table.
    pub(crate) fn families(&self) -> Vec<Family> {
        let has = |family: &Family| {
            self.servers.iter().flat_map(|it| &it.listeners).any(|it| it.family == *family)
        };
        [Family::V4, Family::V6].into_iter().filter(has).collect()
    }

    /// Whose `connection` is. The most specific listening socket has it, as in `inet_lookup_listener`; two users'
    /// listening sockets never fit the same connection (`inet_csk_bind_conflict`).
    pub(crate) fn whose(&self, connection: &TcpSocket) -> Whose {
        let fits = |(number, server): (usize, &Server)| {
            let all = server.listeners.iter();
            Some((all.filter_map(|it| precedence(it, connection)).max()?, number))
        };
        let Some((_, number)) = self.servers.iter().enumerate().filter_map(fits).max() else {
            return Whose::Another;
        };
        // Other users may have had the port before the server did, as a server or bound as a client.
        match connection.inode == 0 || self.users.contains(&connection.user) {
            true => Whose::Server(number),
            false => Whose::OfUnknownUser,
        }
    }
}

impl Server {
    fn shares_with(&self, other: &Self) -> bool {
        let addresses: BTreeSet<_> =
            self.listeners.iter().map(|it| (it.local, it.interface)).collect();
        !self.processes.is_disjoint(&other.processes)
            || other.listeners.iter().any(|it| addresses.contains(&(it.local, it.interface)))
    }
}

/// How well a listening socket fits a connection: the address first, then the interface. `None`: not at all.
fn precedence(listener: &TcpSocket, connection: &TcpSocket) -> Option<(bool, bool)> {
    let is_exact = listener.local == connection.local;
    let is_bound = listener.interface != 0;
    let fits = listener.family == connection.family
        && listener.local.port() == connection.local.port()
        && (is_exact || listener.local.ip().is_unspecified())
        && (!is_bound || listener.interface == connection.interface);
    fits.then_some((is_exact, is_bound))
}

const LISTEN: [State; 1] = [State::Listen];
/// Our choice: more than any host has processors.
const LISTENERS_LIMIT: usize = 4_096;
