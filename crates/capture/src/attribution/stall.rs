//! A path that delivers nothing for a while.

use ackwise_tcp::Instant;

use super::{Confidence, Nanos};

/// What shows that the path delivered nothing after what was sent before had arrived.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Stall {
    /// Nothing does.
    #[default]
    None,
    /// A segment came late; if its first copy was lost before the vantage point, it looks the same.
    OrTimeout,
    /// Only a timer let new data go (a tail-loss probe, RFC 8985, section 7.2); if what was sent before was
    /// lost, it looks the same.
    OrLoss,
    /// An ACK came late; if its receiver delayed it, it looks the same.
    OrDelayedAck,
    /// The receiver had the data, and sent its acknowledgement late: its program did not read.
    Unread,
    /// The acknowledgement came late and shrinks the receive window: the program did not read, or the path held it.
    OrUnread,
    /// The receiver had the data and took none of it: its program had not accepted the connection.
    Refused,
    /// What had been in transit came in one go, and nothing of it was lost.
    Shown,
    /// By its timestamp, the path has held the ACK that was waited for since then.
    Since(Instant),
}

impl Stall {
    /// How sure it is at most: what else it may be looks nearly the same, or is rare.
    pub(crate) const fn most(self) -> Confidence {
        match self {
            Self::None => Confidence::High,
            Self::OrTimeout => Confidence::Low,
            _ => Confidence::Medium,
        }
    }

    /// A path that delivers nothing for more than this many round trips stalls. Our choice.
    const ROUND_TRIPS: u64 = 2;
    /// A shorter silence is that of a busy host. Our choice.
    pub(crate) const LEAST: Nanos = Nanos::from_millis(5);

    /// A longer silence is a stall of the path, if nothing else explains it.
    pub(crate) fn least(round_trip: Nanos) -> Nanos {
        Self::LEAST.max(round_trip * Self::ROUND_TRIPS)
    }
}

/// The path held a segment longer than usual.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Held {
    /// When it would have arrived.
    pub from: Instant,
    /// So long that the path stalled.
    pub stalls: bool,
}

impl Held {
    pub(crate) fn by_path(from: Instant, arrives: Instant, round_trip: Nanos) -> Self {
        Self { from, stalls: Nanos::between(from, arrives) > Stall::least(round_trip) }
    }
}
