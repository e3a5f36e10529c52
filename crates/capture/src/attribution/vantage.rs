//! Where a capture was taken.

use ackwise_cause::Party;

use super::Nanos;

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Vantage {
    /// At one of the two ends.
    At(Party),
    /// Somewhere between them.
    Between,
    /// At both ends: two captures were joined.
    Both,
    /// The ends are so near to each other that it does not matter.
    OneHost,
    /// No round trip was seen.
    Unknown,
}

impl Vantage {
    /// An end is near if the whole round trip is this many times its own. Our choice.
    pub(crate) const NEAR: u64 = 8;
    /// Shorter round trips are within one host. Our choice.
    pub(crate) const ONE_HOST: Nanos = Nanos::from_micros(60);

    /// Whether what the server sends is seen when it leaves.
    pub(crate) const fn is_at_server(self) -> bool {
        matches!(self, Self::At(Party::Server) | Self::Both | Self::OneHost)
    }

    /// Whether what the server sends may be lost, or held, after it was seen.
    pub(crate) const fn is_before_client(self) -> bool {
        matches!(self, Self::At(Party::Server) | Self::Between)
    }

    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::At(party) => party.name(),
            Self::Between => "between",
            Self::Both => "both",
            Self::OneHost => "one-host",
            Self::Unknown => "unknown",
        }
    }
}
