//! In which network namespace the server is, and where else a port has a listener.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt};

use ackwise_linux::{
    Namespace,
    foreign::Holders,
    sockets::{Query, SocketTable, TcpSocket},
};
use ackwise_tcp::State;

use crate::{Place, TuneError};

impl Place {
    /// The kernel's table of its sockets.
    pub(crate) fn table(&self) -> Result<SocketTable, TuneError> {
        match self {
            Self::Here => SocketTable::here().map_err(TuneError::Table),
            Self::Process(process) => Ok(SocketTable::of_process(*process)?),
            Self::File(path) => Ok(SocketTable::of(&Namespace::of_file(path)?)?),
        }
    }

    /// For a message.
    fn words(&self) -> String {
        match self {
            Self::Here => "this network namespace".to_owned(),
            Self::Process(process) => format!("the network namespace of process {process}"),
            Self::File(path) => format!("the network namespace {}", path.display()),
        }
    }
}

/// Refuses a `/proc` in which processes have other ids than for the kernel's calls.
pub(crate) fn check_proc() -> Result<(), TuneError> {
    let own = fs::read_link("/proc/self").ok();
    let shown = own.and_then(|path| path.to_str()?.parse::<u32>().ok());
    match shown {
        Some(process) if process != std::process::id() => Err(TuneError::OtherProc),
        _ => Ok(()),
    }
}

/// The listening sockets of `port`: several with `SO_REUSEPORT`, or for several addresses.
pub(crate) fn listeners(table: &mut SocketTable, port: u16) -> Result<Vec<TcpSocket>, TuneError> {
    let mut found = Vec::new();
    let query = Query::local_port(port).in_states(&[State::Listen]);
    table.each(query, |socket| found.push(*socket)).map_err(TuneError::Table)?;
    found.sort_unstable_by_key(|socket| (socket.local, socket.cookie));
    found.dedup_by_key(|socket| socket.cookie);
    found.truncate(LISTENERS_LIMIT);
    Ok(found)
}

/// The error for a port without a listener. It names a process if the port has one elsewhere.
pub(crate) fn no_listener(place: &Place, port: u16) -> TuneError {
    TuneError::NoListener { port, place: place.words(), found_in: elsewhere(port) }
}

/// A process that listens on `port` in another namespace, if this one may look there.
fn elsewhere(port: u16) -> Option<u32> {
    let mut seen = BTreeSet::new();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for process in processes {
        let Ok(namespace) = fs::metadata(format!("/proc/{process}/ns/net")) else { continue };
        if seen.len() >= NAMESPACES_LIMIT || !seen.insert(namespace.ino()) {
            continue;
        }
        let Ok(mut table) = SocketTable::of_process(process) else { continue };
        let found = listeners(&mut table, port).unwrap_or_default();
        let inodes = found.iter().map(|listener| listener.inode).collect();
        if let Some(holder) = Holders::of(&inodes).all_processes().first() {
            return Some(*holder);
        }
    }
    None
}

/// Our choice: more than any host has processors.
const LISTENERS_LIMIT: usize = 4_096;
/// Our choice: each takes some 100 us to look into.
const NAMESPACES_LIMIT: usize = 1_000;
