//! A connection by its addresses.

use std::net::SocketAddr;

/// The two addresses that identify a connection on the wire.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Tuple {
    /// Our end.
    pub ours: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
}
