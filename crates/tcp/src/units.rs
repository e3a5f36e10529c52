//! Quantities that must not be confused with one another: those of crate `units`, and the version of IP.

pub use ackwise_units::{ByteCount, Instant, Nanos};

/// Which IP carries a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IpVersion {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}
