//! Sets options of sockets: first reads the old values, then writes them to the journal, then sets.
//!
//! Copies of descriptors are not kept meanwhile, because they would keep the sockets open.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use ackwise_linux::{
    foreign::{CopyError, ForeignSocket, Holders, SocketOption},
    sockets::TcpSocket,
};

use crate::{
    TuneError,
    journal::{Journal, Record},
};

/// An option that has another value than the wanted one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) socket: TcpSocket,
    pub(crate) option: SocketOption,
    pub(crate) old: u32,
    pub(crate) new: u32,
}

/// What a look at some sockets has found.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) planned: Vec<Planned>,
    /// Cookies of the sockets that could be read.
    pub(crate) reached: Vec<u64>,
    /// Why the last of the others could not be, except those that are gone.
    pub(crate) refused: Option<CopyError>,
}

/// Reads the wanted options of `sockets`.
pub(crate) fn look(
    sockets: &[TcpSocket],
    wanted: &[(SocketOption, u32)],
    holders: &Holders,
) -> Looked {
    let mut looked = Looked::default();
    for socket in sockets {
        let held = holders.of_inode(socket.inode);
        let copy = match ForeignSocket::copy(held, socket.cookie) {
            Ok(copy) => copy,
            Err(CopyError::Gone) => continue,
            Err(error) => {
                looked.refused = Some(error);
                continue;
            }
        };
        for (option, new) in wanted {
            if let Ok(old) = copy.option(*option)
                && old != *new
            {
                let planned = Planned { socket: *socket, option: *option, old, new: *new };
                looked.planned.push(planned);
            }
        }
        looked.reached.push(socket.cookie);
    }
    looked
}

/// The changes that give buffers these sizes, each after one that notes which buffers had a size that was set.
///
/// With Nagle's algorithm, the rest of less than a segment waits at the end of the queue, and the kernel appends to it
/// without a look at the buffer's limit (`tcp_sendmsg_locked` asks `sk_stream_memory_free` only for a new packet). The
/// full segments leave, a rest stays, and so on: 3.3 MB of memory with a limit of 64 KB. So a send buffer that
/// is to have a limit needs `TCP_NODELAY`.
pub(crate) fn plan_sizes(
    sizes: impl Iterator<Item = (TcpSocket, SocketOption, u32)>,
    holders: &Holders,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (socket, option, new) in sizes {
        let copy = ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie);
        let read = |option| copy.as_ref().ok().and_then(|it| it.option(option).ok());
        let (Some(old), Some(lock)) = (read(option), read(SocketOption::BufferLock)) else {
            continue;
        };
        let sends = option == SocketOption::SendBuffer;
        let bit = if sends { 1 } else { 2 };
        if sends && read(SocketOption::NoDelay) == Some(0) {
            planned.push(Planned { socket, option: SocketOption::NoDelay, old: 0, new: 1 });
        }
        let locked =
            Planned { socket, option: SocketOption::BufferLock, old: lock, new: lock | bit };
        planned.extend([locked, Planned { socket, option, old, new }]);
    }
    planned
}

/// Writes the old values to the journal, then sets the new ones. Returns what was set.
pub(crate) fn carry_out(
    mut planned: Vec<Planned>,
    holders: &Holders,
    journal: &mut Journal,
) -> Result<Vec<Planned>, TuneError> {
    planned.truncate(journal.room());
    if planned.is_empty() {
        return Ok(planned);
    }
    // A second change of the same option must not make the first one's value the old value.
    let known: BTreeSet<_> =
        journal.records().iter().map(|record| (record.cookie, record.option())).collect();
    let is_known = |it: &Planned| known.contains(&(it.socket.cookie, Some(it.option)));
    let records: Vec<_> = planned.iter().filter(|it| !is_known(it)).map(Planned::record).collect();
    if !records.is_empty() {
        journal.add(records)?;
    }
    planned.retain(|it| it.set(holders));
    Ok(planned)
}

impl Planned {
    fn record(&self) -> Record {
        let Self { socket, option, old, new } = *self;
        let remote = (!socket.remote.ip().is_unspecified()).then_some(socket.remote);
        let name = (socket.inode, socket.cookie);
        Record::new(name, option, (old, new), (socket.local, remote))
    }

    fn set(&self, holders: &Holders) -> bool {
        let held = holders.of_inode(self.socket.inode);
        let copy = ForeignSocket::copy(held, self.socket.cookie);
        copy.is_ok_and(|copy| copy.set_option(self.option, self.new).is_ok())
    }
}

/// Finds the processes that hold sockets: first among those that hold the listening ones, then among all.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    processes: Vec<u32>,
    last_full_look: Option<Instant>,
}

impl Workers {
    /// The processes that hold the listening sockets.
    pub(crate) fn of(holders: &Holders) -> Self {
        Self { processes: holders.all_processes(), last_full_look: None }
    }

    /// Takes those that are known to belong to the server.
    pub(crate) fn are(&mut self, processes: Vec<u32>) {
        self.processes = processes;
    }

    /// Those that hold sockets of the server, as far as they are known.
    pub(crate) fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// The holders of these sockets, as far as they are known.
    pub(crate) fn find(&mut self, sockets: &[TcpSocket], now: Instant) -> Holders {
        let mut inodes: BTreeSet<u32> = sockets.iter().map(|socket| socket.inode).collect();
        let mut holders = Holders::among(&self.processes, &inodes);
        inodes.retain(|inode| holders.of_inode(*inode).is_empty());
        let may_look = self.last_full_look.is_none_or(|last| now - last >= FULL_LOOK_INTERVAL);
        if !inodes.is_empty() && may_look {
            self.last_full_look = Some(now);
            let others = Holders::of(&inodes);
            self.processes.extend(others.all_processes());
            self.processes.sort_unstable();
            self.processes.dedup();
            self.processes.truncate(PROCESSES_LIMIT);
            holders.add(others);
        }
        holders
    }
}

/// All processes are looked through at most so often (our choice: with 1,000 processes it takes some 20 ms).
pub(crate) const FULL_LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Our choice: more workers than any server needs.
const PROCESSES_LIMIT: usize = 4_096;
