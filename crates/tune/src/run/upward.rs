//! The connections of a process to servers behind it: a proxy's pools.
//!
//! The kernel does not say who opened a connection. One whose local port is none of those on which the process listens
//! was not accepted by it.

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

impl Run<'_> {
    /// Those of `process`, if the run is for processes.
    pub(super) fn upward_of(&mut self, process: u32) -> Result<Vec<TcpSocket>, TuneError> {
        if self.processes.is_none() {
            return Ok(Vec::new());
        }
        let held = Holders::all_of(process);
        let mut listening = BTreeSet::new();
        let mut visit = |it: &TcpSocket| {
            if !held.of_inode(it.inode).is_empty() {
                listening.insert(it.local.port());
            }
        };
        let query = Query::all();
        self.table.each(query.in_states(&[State::Listen]), &mut visit).map_err(TuneError::Table)?;
        let mut upward = Vec::new();
        let visit = |it: &TcpSocket| {
            let is_held = it.inode != 0 && !held.of_inode(it.inode).is_empty();
            if is_held && !listening.contains(&it.local.port()) {
                upward.push(*it);
            }
        };
        let query = query.in_states(&[State::Established]).with_info().with_memory();
        self.table.each(query, visit).map_err(TuneError::Table)?;
        Ok(upward)
    }

    /// Those of all processes.
    pub(super) fn upward_of_all(&mut self) -> Result<Vec<TcpSocket>, TuneError> {
        let members = self.processes.as_ref().map(|it| it.members()).unwrap_or_default();
        let mut all = BTreeMap::new();
        for process in members {
            all.extend(self.upward_of(process)?.into_iter().map(|it| (it.cookie, it)));
        }
        Ok(all.into_values().collect())
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
