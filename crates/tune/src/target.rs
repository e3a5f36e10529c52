//! Which server a run is for: who listens on a port, or a process.

use std::fmt;

use ackwise_linux::sockets::Query;

/// Which server a run is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// Who listens on this port.
    Port(u16),
    /// A process with those that it has started, where they listen, and their connections to servers behind them.
    Process {
        /// The first one: a server's master.
        process: u32,
        /// Only the listening sockets of this port; `None`: all.
        port: Option<u16>,
    },
}

impl Target {
    /// The only port that is tuned.
    #[must_use]
    pub const fn port(self) -> Option<u16> {
        match self {
            Self::Port(port) => Some(port),
            Self::Process { port, .. } => port,
        }
    }

    /// Selects the sockets of the port.
    pub(crate) fn query(self) -> Query {
        self.port().map_or(Query::all(), Query::local_port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "port {port}"),
            Self::Process { process, port: None } => write!(f, "process {process}"),
            Self::Process { process, port: Some(port) } => {
                write!(f, "port {port} of process {process}")
            }
        }
    }
}
