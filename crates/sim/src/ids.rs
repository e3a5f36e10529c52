//! Names of connections and their ends, which whoever watches a run and whoever steers it use.

/// Which connection: counted from 0 in the order of opening, never used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u64);

/// Which end of a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Side {
    /// The end that opened it.
    Client,
    /// The end that was listening.
    Server,
}

impl Side {
    /// The end that a segment from here goes to.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}
