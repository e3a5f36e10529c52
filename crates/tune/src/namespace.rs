//! In which network namespace the server is, and where else a port has a listener.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt};

use ackwise_linux::{Namespace, foreign::Holders, sockets::SocketTable};

use crate::{NetworkNamespace, Options, Target, TuneError, servers::Listeners};

impl NetworkNamespace {
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

/// The ID of the user with this name.
#[must_use]
pub fn user_named(name: &str) -> Option<u32> {
    nix::unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
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

/// The error for a server that does not listen. It names a process if one listens on the port elsewhere.
pub(crate) fn no_listener(options: &Options) -> TuneError {
    let Options { target, user, namespace, .. } = options;
    match target {
        Target::Processes { of, port } => TuneError::NoServer { of: of.clone(), port: *port },
        Target::Port(port) => {
            let found_in = elsewhere(*port, *user);
            TuneError::NoListener { port: *port, user: *user, place: namespace.words(), found_in }
        }
    }
}

/// A process that listens on `port` in another namespace, if this one may look there.
fn elsewhere(port: u16, user: Option<u32>) -> Option<u32> {
    let mut seen = BTreeSet::new();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for process in processes {
        let Ok(namespace) = fs::metadata(format!("/proc/{process}/ns/net")) else { continue };
        if seen.len() >= NAMESPACES_LIMIT || !seen.insert(namespace.ino()) {
            continue;
        }
        let Ok(mut table) = SocketTable::of_process(process) else { continue };
        let found = Listeners::at_port(&mut table, port, user).unwrap_or_default();
        let inodes = found.own.iter().map(|listener| listener.inode).collect();
        if let Some(holder) = Holders::of(&inodes).all_processes().first() {
            return Some(*holder);
        }
    }
    None
}

/// Our choice: each takes some 100 us to look into.
const NAMESPACES_LIMIT: usize = 1_000;
