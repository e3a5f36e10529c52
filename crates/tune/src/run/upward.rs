//! The connections of processes to servers behind them: a proxy's pools.
//!
//! The kernel does not say who opened a connection. One whose local port is none of those on which any of the processes
//! listens was not accepted by them. The process that holds it need not listen any more: an old worker that serves its last
//! clients does not.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ackwise_linux::{
    foreign::Holders,
    sockets::{Query, TcpSocket},
};
use ackwise_tcp::State;
use ackwise_text::words::{counted, grouped};

use super::Run;
use crate::{Act, Target, TuneError, servers::Whose};

/// Connections upward, with the processes that hold them.
#[derive(Default)]
pub(super) struct Upward {
    sockets: Vec<TcpSocket>,
    holders: Holders,
}

impl Upward {
    pub(super) fn all(self) -> Vec<TcpSocket> {
        self.sockets
    }

    /// Those of one process.
    pub(super) fn of(&self, process: u32) -> impl Iterator<Item = &TcpSocket> {
        let is_its = move |it: &&TcpSocket| {
            self.holders.of_inode(it.inode).iter().any(|holder| holder.process == process)
        };
        self.sockets.iter().filter(is_its)
    }
}

impl Run<'_> {
    /// Finds them, if the run is for processes.
    pub(super) fn upward(&mut self) -> Result<Upward, TuneError> {
        let Some(processes) = &self.processes else { return Ok(Upward::default()) };
        let holders = Holders::all_of(&processes.members());
        let is_held = |it: &TcpSocket| !holders.of_inode(it.inode).is_empty();
        let mut listening = BTreeSet::new();
        let mut visit = |it: &TcpSocket| {
            if is_held(it) {
                listening.insert(it.local.port());
            }
        };
        let query = Query::all();
        self.table.each(query.in_states(&[State::Listen]), &mut visit).map_err(TuneError::Table)?;
        let mut sockets = Vec::new();
        let visit = |it: &TcpSocket| {
            if it.inode != 0 && is_held(it) && !listening.contains(&it.local.port()) {
                sockets.push(*it);
            }
        };
        let query = query.in_states(&[State::Established]).with_info().with_memory();
        self.table.each(query, visit).map_err(TuneError::Table)?;
        Ok(Upward { sockets, holders })
    }

    /// Whether a connection is one of them: no listening socket of the processes can have accepted it.
    pub(super) fn is_upward(&self, socket: &TcpSocket) -> bool {
        let is_connection = socket.remote.port() != 0;
        self.processes.is_some() && is_connection && self.servers.whose(socket) == Whose::Another
    }

    /// Reports where they lead, those with most connections first.
    pub(super) fn say_upward(&mut self, upward: &[TcpSocket]) {
        let mut number_to: BTreeMap<SocketAddr, u64> = BTreeMap::new();
        for socket in upward {
            *number_to.entry(socket.remote).or_default() += 1;
        }
        let mut by_number: Vec<_> = number_to.into_iter().collect();
        by_number.sort_by_key(|(remote, number)| (std::cmp::Reverse(*number), *remote));
        let more = by_number.len().saturating_sub(SHOWN);
        let shown = by_number.iter().take(SHOWN);
        let mut to: Vec<_> =
            shown.map(|(remote, number)| format!("{} to {remote}", grouped(*number))).collect();
        if more > 0 {
            to.push(counted(more as u64, "further address"));
        }
        if !to.is_empty() {
            let what = counted(upward.len() as u64, "connection");
            self.say(Act::Note, format!("{what} upward: {}", to.join(", ")));
        }
    }

    /// Where order is to be seen: of all ports if upward connections count.
    pub(super) const fn witnessed_port(&self) -> Option<u16> {
        match self.options.target {
            Target::Port(port) => Some(port),
            Target::Processes { .. } => None,
        }
    }
}

/// At most this many addresses are named (our choice).
const SHOWN: usize = 8;
