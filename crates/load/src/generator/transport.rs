//! Whose TCP carries the connections: a trait that is polled, so that one thread drives them all.

use std::{io, time::Duration};

/// A place for one connection; it is used again when that has been closed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Slot(pub usize);

/// A TCP whose connections are named by their [`Slot`], with at most one in each.
///
/// The contract: after [`connect`](Self::connect) and whenever [`poll`](Self::poll) names a slot, write and
/// read until both have nothing more to do. A slot that is named without need does no harm.
pub trait Transport {
    /// The time since a beginning of its own.
    fn now(&self) -> Duration;

    /// Begins to open a connection; the first bytes can be written when it is there.
    ///
    /// # Errors
    ///
    /// If it could not even be tried.
    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError>;

    /// Writes what there is room for; 0: later, perhaps because the handshake is not over.
    ///
    /// # Errors
    ///
    /// If the connection is broken, or never came to be.
    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError>;

    /// Reads what has arrived.
    ///
    /// # Errors
    ///
    /// If the connection is broken, or never came to be.
    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError>;

    /// Sends a FIN after what was written; reading goes on.
    fn half_close(&mut self, slot: Slot);

    /// Gives the connection up in an orderly way, TIME-WAIT included. The slot is free.
    fn close(&mut self, slot: Slot);

    /// Gives it up with an RST. The slot is free.
    fn abort(&mut self, slot: Slot);

    /// Waits until something may have happened, but not beyond `until`; adds where to `ready`.
    ///
    /// # Errors
    ///
    /// If the system does not let us wait.
    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()>;
}

/// What follows the bytes of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AfterWrite {
    /// Who knows.
    Nothing,
    /// Our FIN, at once: it may travel with them, so that the server cannot be faster with its own.
    Close,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Read {
    /// So many bytes, at least one.
    ByteCount(usize),
    /// Nothing, yet.
    Nothing,
    /// The server has closed its half.
    End,
}

/// How a connection ended that should not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The server reset it, or does not take bytes any more.
    #[error("connection reset")]
    Reset,
    /// TCP gave up, before we did.
    #[error("connection timed out")]
    TimedOut,
    /// The network says that it does not get there.
    #[error("host or network unreachable")]
    Unreachable,
    /// Something else.
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

/// Why a connection could not be tried. The first two end a run: the next one would not do better.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Every local port is taken, by connections or by TIME-WAIT.
    #[error("no local port is free")]
    NoPort,
    /// The system has something against it.
    #[error("cannot open a connection: {0}")]
    System(io::Error),
    /// It failed at once.
    #[error(transparent)]
    Failed(ConnectionError),
}
