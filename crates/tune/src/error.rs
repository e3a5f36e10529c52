//! Why a run cannot begin, or go on.

use std::{io, path::PathBuf};

use ackwise_bpf::BpfError;
use ackwise_linux::{NamespaceError, foreign::CopyError};

use crate::{Of, Target};

/// Why a run ended early. What it had changed is given back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// Nothing was asked for.
    #[error(
        "nothing to do (expected --nodelay, --unsent, --buffer-memory, --pace, --max-connections, --keep-free, --of or --undo)"
    )]
    NothingToDo,
    /// The user is not root.
    #[error(
        "cannot change other programs' sockets: not root (expected effective user ID 0; capabilities of the \
         program's file are not enough, because any user could then change any program)"
    )]
    NotRoot,
    /// No socket listens on the port.
    #[error("no socket{} listens on port {port} in {place}{}", of_user(*user), elsewhere(*found_in))]
    NoListener {
        /// The port.
        port: u16,
        /// Whose.
        user: Option<u32>,
        /// Where.
        place: String,
        /// A process in whose namespace one does.
        found_in: Option<u32>,
    },
    /// Several users listen on the port: what one does there would decide what happens to the others' connections.
    #[error(
        "several users listen on port {port}: {owners} (expected one user: choose with --user)"
    )]
    Users {
        /// The port.
        port: u16,
        /// Who listens where.
        owners: String,
    },
    /// Processes were named that are not there.
    #[error("no {of}: {source}{}", expected(of))]
    NoProcess {
        /// Which.
        of: Of,
        /// What the kernel says.
        source: io::Error,
    },
    /// Processes were named that have no listening socket.
    #[error("the processes of {of} do not listen on {} (expected a server)", any(*port))]
    NoServer {
        /// Which.
        of: Of,
        /// Where.
        port: Option<u16>,
    },
    /// Another run has changed sockets of the server: its values would be given back as the server's.
    #[error("process {process} tunes {target} already (expected one run at a time: stop it first)")]
    Active {
        /// The other run.
        process: u32,
        /// The server.
        target: Target,
    },
    /// The server's namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The kernel's table cannot be read.
    #[error("cannot list the kernel's sockets: {0}")]
    Table(#[source] io::Error),
    /// The process that holds a listening socket is not visible.
    #[error(
        "cannot find the process that listens on {target}: {} (expected root, and the /proc of the host \
         or of the server's container)",
        hidden(*closed)
    )]
    NoHolder {
        /// The server.
        target: Target,
        /// Processes that could not be looked into.
        closed: usize,
    },
    /// `/proc` shows the processes of another PID namespace, under other ids.
    #[error(
        "cannot inspect processes: /proc belongs to another PID namespace (expected this program's own: \
         unshare --mount-proc, or --pid from outside of the container)"
    )]
    OtherProc,
    /// A descriptor cannot be copied.
    #[error("cannot reach the sockets of {target}: {source}")]
    Copy {
        /// The server.
        target: Target,
        /// Why.
        source: CopyError,
    },
    /// The journal cannot be written: nothing is changed without it.
    #[error("cannot write {}: {source} (old values are written there before each change)", path.display())]
    Journal {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A journal cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The congestion control that paces cannot be registered.
    #[error("cannot pace after idle: {0}")]
    Pace(#[source] BpfError),
    /// The process that undoes a killed run could not be started.
    #[error("cannot start the process that restores options after a kill: {0}")]
    Keeper(#[source] io::Error),
}

fn expected(of: &Of) -> &'static str {
    match of {
        Of::Process(_) => "",
        Of::ControlGroup(_) => {
            " (expected a directory with cgroup.procs, such as /sys/fs/cgroup/system.slice/nginx.service)"
        }
    }
}

fn any(port: Option<u16>) -> String {
    port.map_or_else(|| "any TCP port".to_owned(), |port| format!("port {port}"))
}

fn of_user(user: Option<u32>) -> String {
    user.map_or_else(String::new, |user| format!(" of user {user}"))
}

fn elsewhere(found_in: Option<u32>) -> String {
    found_in.map_or_else(String::new, |process| {
        format!("; one does in the network namespace of process {process} (--pid {process})")
    })
}

fn hidden(closed: usize) -> String {
    match closed {
        0 => "no process has its socket".to_owned(),
        _ => format!("{closed} processes cannot be inspected"),
    }
}
