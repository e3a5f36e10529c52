//! What a new connection takes over from earlier or concurrent ones to the same host (RFC 9040).

/// What a new connection takes over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sharing {
    /// Nothing.
    Off,
    /// The state that a closed connection left (temporal sharing, RFC 2140 and 9040).
    Temporal,
    /// A share of what the concurrent connections have (ensemble sharing).
    Ensemble,
}

/// What a host remembers of its connections to one peer.
#[derive(Clone, Debug, Default)]
pub struct ControlBlocks {}
