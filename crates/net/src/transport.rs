//! The TCP that carries the connections: a polled trait, so that one thread drives them all.

mod kernel;
mod tls;
#[cfg(target_os = "linux")]
mod tun;

use std::{io, net::IpAddr, time::Duration};

use ackwise_tcp::TimeWaitReason;

pub use kernel::{KernelTransport, Sources, is_port_in_use, local_ports};
pub use tls::{TlsTransport, try_handshake};
#[cfg(target_os = "linux")]
pub use tun::TunTransport;

/// A place for one connection, reused after the connection is closed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Slot(pub usize);

/// A TCP whose connections are identified by their [`Slot`], with at most one in each.
///
/// After [`connect`](Self::connect), and whenever [`poll`](Self::poll) returns a slot, the caller
/// must write and read until neither makes progress. Spurious slots are harmless.
pub trait Transport {
    /// Time since an arbitrary start.
    fn now(&self) -> Duration;

    /// Starts opening a connection. The first bytes can be written once it is established.
    ///
    /// # Errors
    ///
    /// If the attempt could not be made.
    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError>;

    /// Writes as much as fits. 0 means later, perhaps because the handshake is incomplete.
    ///
    /// # Errors
    ///
    /// If the connection is broken, or was not established.
    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError>;

    /// Reads received bytes.
    ///
    /// # Errors
    ///
    /// If the connection is broken, or was not established.
    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError>;

    /// Whether a read of an idle connection might find that the server has closed it. `now` is that of [`now`](Self::now).
    fn may_have_ended(&mut self, slot: Slot, now: Duration) -> bool;

    /// How much of what was written on a connection, perhaps a broken one, the server has acknowledged; `None` if
    /// that is not known.
    fn heard(&mut self, slot: Slot) -> Option<Heard>;

    /// Sends a FIN after the written bytes; reading continues.
    fn half_close(&mut self, slot: Slot);

    /// Closes the connection normally, TIME-WAIT included. The slot is free.
    fn close(&mut self, slot: Slot);

    /// Aborts the connection with an RST. The slot is free.
    fn abort(&mut self, slot: Slot);

    /// Waits for events, but not beyond `until`, and adds their slots to `ready`.
    ///
    /// # Errors
    ///
    /// If the system cannot poll.
    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()>;

    /// Reasons for TIME-WAIT at this end, with counts. `None` if only the kernel's socket table has this end.
    fn time_wait_reasons(&mut self) -> Option<Vec<(TimeWaitReason, u64)>> {
        None
    }

    /// Whether a connection is still closing.
    fn is_closing(&self) -> bool {
        false
    }

    /// The single local address of all connections, if there is one.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// Outgoing packets that were lost.
    fn packets_lost(&self) -> u64 {
        0
    }
}

/// What follows the bytes of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AfterWrite {
    /// Unknown.
    Nothing,
    /// The client's FIN, immediately. It may be sent with the bytes, so that the server's FIN
    /// cannot arrive first.
    Close,
}

/// How much the server has acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// Not even the SYN.
    Nothing,
    /// Not everything that was written.
    Part,
    /// Everything that was written.
    All,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Read {
    /// Number of bytes, at least one.
    ByteCount(usize),
    /// No data yet.
    Nothing,
    /// The server has closed its half.
    End,
}

/// Why a connection ended unexpectedly.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConnectionError {
    /// No listener.
    #[error("connection refused")]
    Refused,
    /// The server reset it, or accepts no more bytes.
    #[error("connection reset")]
    Reset,
    /// TCP timed out before the generator did.
    #[error("connection timed out")]
    TimedOut,
    /// The network reported it as unreachable.
    #[error("host or network unreachable")]
    Unreachable,
    /// The TLS session failed: an alert, or bytes that are not TLS.
    #[error("TLS failed")]
    Tls,
    /// Another system error.
    #[error("{0}")]
    System(io::ErrorKind),
}

impl From<io::ErrorKind> for ConnectionError {
    fn from(kind: io::ErrorKind) -> Self {
        use io::ErrorKind;
        match kind {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                Self::Reset
            }
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Self::Unreachable,
            kind => Self::System(kind),
        }
    }
}

/// Why a connection could not be attempted. The first two end a run, because the next attempt would
/// fail too.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// All local ports are in use or in TIME-WAIT.
    #[error("no local port is free")]
    NoPort,
    /// A local error.
    #[error("cannot open a connection: {0}")]
    System(io::Error),
    /// The attempt failed immediately.
    #[error(transparent)]
    Failed(ConnectionError),
}
