//! Looks at both ends of the connections: sockets of this host, in this namespace or another one's.
//!
//! An end that cannot be looked at is unknown, with the reason, and never 0. Only connections of this run
//! count: what was there before it began is remembered by the kernel's own name for each socket.

use std::{
    collections::BTreeSet,
    fs, io,
    net::{IpAddr, SocketAddr},
};

use ackwise_linux::{
    Namespace, SocketTable,
    sockets::{Query, TcpSocket},
};
use ackwise_tcp::State;

use super::Held;
use crate::wire::is_local;

/// Where the sockets of one end are.
pub(super) struct End {
    table: SocketTable,
    query: Query,
    /// What the address of the other end must be, where it is known.
    remote: Option<IpAddr>,
    /// Sockets that were there before.
    before: BTreeSet<u64>,
    /// Whether any socket of this run was seen, in whichever state.
    seen: bool,
}

impl End {
    /// The server's end, if it is on this host.
    ///
    /// # Errors
    ///
    /// Why it cannot be looked at.
    pub(super) fn of_server(
        server: SocketAddr,
        process: Option<u32>,
        clients: Option<IpAddr>,
    ) -> Result<Self, String> {
        let table = match process {
            Some(process) => SocketTable::of_process(process).map_err(|error| error.to_string())?,
            None if is_local(server) => SocketTable::here().map_err(unreadable)?,
            None => return Err(format!("{} is not an address of this host", server.ip())),
        };
        let mut end = Self::new(table, Query::local_port(server.port()), clients)?;
        let listening = Query::local_port(server.port()).in_states(&[State::Listen]);
        let mut listeners = 0;
        end.table.each(listening, |_| listeners += 1).map_err(unreadable)?;
        match (listeners, process) {
            (0, None) => Err(format!(
                "nothing listens on port {} in this network namespace; --server-pid names a process \
                 of the server",
                server.port()
            )),
            (0, Some(process)) => Err(format!(
                "nothing listens on port {} in the network namespace of process {process}",
                server.port()
            )),
            _ => Ok(end),
        }
    }

    /// The clients' end, where that is the kernel's.
    ///
    /// # Errors
    ///
    /// Why it cannot be looked at.
    pub(super) fn of_clients(server: SocketAddr) -> Result<Self, String> {
        let table = SocketTable::here().map_err(unreadable)?;
        Self::new(table, Query::remote_port(server.port()), Some(server.ip()))
    }

    fn new(mut table: SocketTable, query: Query, remote: Option<IpAddr>) -> Result<Self, String> {
        let mut before = BTreeSet::new();
        let looked = table.each(query, |socket| {
            before.insert(socket.cookie);
        });
        looked.map_err(unreadable)?;
        Ok(Self { table, query, remote, before, seen: false })
    }

    /// How many connections of this run it holds in TIME-WAIT now.
    pub(super) fn count(&mut self) -> Result<u64, String> {
        let Self { table, query, remote, before, seen } = self;
        let mut held = 0;
        let is_ours = |socket: &TcpSocket| {
            socket.state != State::Listen
                && remote.is_none_or(|remote| socket.remote.ip() == remote)
                && !before.contains(&socket.cookie)
        };
        let looked = table.each(*query, |socket| {
            if is_ours(socket) {
                *seen = true;
                held += u64::from(socket.state == State::TimeWait);
            }
        });
        looked.map(|()| held).map_err(unreadable)
    }

    /// What is held at the end of a run, if it can be said: an end of which nothing was ever seen is
    /// somewhere else, behind a translation of addresses for example.
    pub(super) fn held(&mut self) -> Held {
        match self.count() {
            Err(why) => Held::Unknown(why),
            Ok(held) if self.seen => Held::Known(held),
            Ok(_) => Held::Unknown(
                "none of the connections was seen in its socket table: they end elsewhere, or were too \
                 few and too short"
                    .to_owned(),
            ),
        }
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
    format!("the kernel does not show its sockets: {error}")
}
