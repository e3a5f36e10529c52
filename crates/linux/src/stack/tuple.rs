//! The addresses of a connection.

use std::net::SocketAddr;

/// The two addresses that identify a connection on the wire.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Tuple {
    /// The local address.
    pub ours: SocketAddr,
    /// The peer's address.
    pub peer: SocketAddr,
}
