//! Which server a run is for: who listens on a port, or some processes.

use std::{fmt, io, path::PathBuf};

use ackwise_linux::{foreign::Processes, sockets::Query};

/// Which server a run is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// Who listens on this port.
    Port(u16),
    /// Processes where they listen, and their connections to servers behind them.
    Processes {
        /// Which.
        of: Of,
        /// Only the listening sockets of this port; `None`: all.
        port: Option<u16>,
    },
}

/// Which processes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Of {
    /// One, such as a server's master, with those that it has started.
    Process(u32),
    /// Those of the control group with this directory, such as a systemd unit or a container.
    ControlGroup(PathBuf),
}

impl Of {
    /// Those that are there.
    pub(crate) fn processes(&self) -> io::Result<Processes> {
        match self {
            Self::Process(process) => Processes::below(*process),
            Self::ControlGroup(directory) => Processes::of_group(directory),
        }
    }
}

impl Target {
    /// The only port that is tuned.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        match self {
            Self::Port(port) => Some(*port),
            Self::Processes { port, .. } => *port,
        }
    }

    /// Selects the sockets of the port.
    pub(crate) fn query(&self) -> Query {
        self.port().map_or(Query::all(), Query::local_port)
    }
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(process) => write!(f, "process {process}"),
            Self::ControlGroup(directory) => write!(f, "control group {}", directory.display()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "port {port}"),
            Self::Processes { of, port: None } => write!(f, "{of}"),
            Self::Processes { of, port: Some(port) } => write!(f, "port {port} of {of}"),
        }
    }
}
