//! Whose sockets a run is for: those of one user, while others open and close theirs on the same port.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    time::{Duration, Instant},
};

use ackwise_linux::{
    foreign::{Holders, Processes},
    sockets::{Query, SocketTable, TcpSocket},
};

use super::{Run, processes};
use crate::{
    Act, Options, Target, TuneError,
    change::{FULL_LOOK_INTERVAL, Workers},
    journal,
    servers::{Listeners, Servers, Whose},
};

/// The listening sockets of a run, and those of others at its port.
pub(super) fn listeners(
    options: &Options,
    processes: Option<&Processes>,
    user: Option<u32>,
    table: &mut SocketTable,
) -> Result<Listeners, TuneError> {
    let target = &options.target;
    match (target, processes) {
        (Target::Processes { port, .. }, Some(processes)) => {
            let (listeners, holders) = Listeners::of(table, *port, processes)?;
            match (listeners.own.is_empty(), holders.closed()) {
                (true, closed @ 1..) => Err(TuneError::NoHolder { target: target.clone(), closed }),
                _ => Ok(listeners),
            }
        }
        (Target::Port(port), _) => Listeners::at_port(table, *port, user),
        (Target::Processes { .. }, None) => Ok(Listeners::default()),
    }
}

impl Run<'_> {
    /// Why nothing is left to tune, if the run is for processes.
    pub(super) fn server_gone(&mut self, now: Instant) -> Option<String> {
        let processes = self.processes.as_ref()?;
        if processes.have_ended() {
            let none_since = *self.none_since.get_or_insert(now);
            return match processes {
                Processes::Tree { .. } => Some("has ended".to_owned()),
                Processes::ControlGroup(_) => (now - none_since >= RESTARTS_WITHIN)
                    .then(|| format!("has had no process for {} s", RESTARTS_WITHIN.as_secs())),
            };
        }
        self.none_since = None;
        let members = processes.members();
        let networks = || members.iter().filter_map(|it| network_of(*it));
        let is_there = networks().any(|it| Some(it) == self.network);
        let has_moved = self.network.is_some() && !is_there && networks().next().is_some();
        has_moved.then(|| "is in another network namespace now".to_owned())
    }

    /// Looks for listening sockets again, and for processes.
    pub(super) fn listeners(&mut self) -> Result<Listeners, TuneError> {
        if let Some(processes) = &self.processes {
            self.workers.are(processes.members());
        }
        listeners(self.options, self.processes.as_ref(), self.user, &mut self.table)
    }

    /// Takes the server's listening sockets, and finds the processes that hold them. An error if none is visible at the
    /// beginning.
    pub(super) fn meet(&mut self, listeners: &[TcpSocket]) -> Result<Holders, TuneError> {
        let inodes = listeners.iter().map(|listener| listener.inode).collect();
        let holders = Holders::of(&inodes);
        let is_first = self.user.is_none();
        if is_first && listeners.iter().all(|it| holders.of_inode(it.inode).is_empty()) {
            return Err(TuneError::NoHolder {
                target: self.options.target.clone(),
                closed: holders.closed(),
            });
        }
        self.user = self.user.or_else(|| listeners.first().map(|it| it.user));
        self.servers = Servers::of(listeners, &holders);
        self.families = self.servers.families();
        self.workers = Workers::of(&holders);
        if let Some(processes) = &self.processes {
            self.workers.are(processes.members());
        }
        Ok(holders)
    }

    /// Dumps the table, and takes the server's sockets.
    pub(super) fn connected(&mut self, query: Query) -> Result<Vec<TcpSocket>, TuneError> {
        let mut sockets = Vec::new();
        // What a socket accepts is of its own family.
        for family in &self.families {
            let query = query.in_family(*family);
            let visit = |it: &TcpSocket| match self.servers.whose(it) {
                Whose::Another => {}
                Whose::Server(_) | Whose::OfUnknownUser => sockets.push(*it),
            };
            self.table.each(query, visit).map_err(TuneError::Table)?;
        }
        let is_unknown = |it: &TcpSocket| self.servers.whose(it) == Whose::OfUnknownUser;
        if sockets.iter().any(is_unknown) {
            self.ask_for_users(Instant::now());
            sockets.retain(|it| self.servers.whose(it) != Whose::OfUnknownUser);
        }
        Ok(sockets)
    }

    /// Looks again who accepts connections, now and then: a server may have started its workers since.
    fn ask_for_users(&mut self, now: Instant) {
        if self.asked_for_users.is_some_and(|last| now - last < FULL_LOOK_INTERVAL) {
            return;
        }
        self.asked_for_users = Some(now);
        let holders = Holders::of(&self.servers.inodes());
        self.servers.look_again(&holders);
    }

    /// Reports listening sockets that other users have opened, once for each of them.
    pub(super) fn say_others(&mut self, others: &[TcpSocket]) {
        for other in others {
            if self.other_users.len() >= OTHERS_LIMIT || !self.other_users.insert(other.user) {
                continue;
            }
            let reason = format!(
                "{} of user {} listens there: it is not tuned, and its connections are not counted",
                processes(&Holders::of(&BTreeSet::from([other.inode])), other.inode),
                other.user
            );
            self.say_of(other, Act::Left, None, reason);
        }
    }
}

/// The network namespace of a process.
pub(super) fn network_of(process: u32) -> Option<u64> {
    Some(fs::metadata(format!("/proc/{process}/ns/net")).ok()?.ino())
}

/// Refuses to tune sockets that another run tunes: it would take that run's values for the server's.
pub(super) fn refuse_second(
    options: &Options,
    listeners: &Listeners,
    table: &mut SocketTable,
) -> Result<(), TuneError> {
    let ports: BTreeSet<_> = listeners.own.iter().map(|it| it.local.port()).collect();
    let mut cookies = BTreeSet::new();
    let visit = |socket: &TcpSocket| {
        if ports.contains(&socket.local.port()) {
            cookies.insert(socket.cookie);
        }
    };
    table.each(options.target.query(), visit).map_err(TuneError::Table)?;
    let target = options.target.clone();
    let other = journal::other_run(&options.directory, &cookies);
    other.map_or(Ok(()), |process| Err(TuneError::Active { process, target }))
}

/// Who listens where, for an error: one socket of each of the first users.
pub(super) fn owners(listeners: &Listeners) -> String {
    let mut users = BTreeSet::new();
    let all = listeners.own.iter().chain(&listeners.others);
    let mut one_of_each: Vec<_> = all.filter(|it| users.insert(it.user)).collect();
    one_of_each.sort_by_key(|it| it.user);
    let shown = &one_of_each[..one_of_each.len().min(OWNERS_SHOWN)];
    let holders = Holders::of(&shown.iter().map(|it| it.inode).collect());
    let words = shown
        .iter()
        .map(|it| format!("user {} on {}, {}", it.user, it.local, processes(&holders, it.inode)));
    let more = match one_of_each.len() - shown.len() {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    words.collect::<Vec<_>>().join("; ") + &more
}

/// A control group without processes is that of a server that restarts, for so long (our choice).
const RESTARTS_WITHIN: Duration = Duration::from_secs(10);
/// At most this many other users are reported (our choice: they may come without end).
const OTHERS_LIMIT: usize = 16;
/// At most this many users are named in an error (our choice).
const OWNERS_SHOWN: usize = 4;
