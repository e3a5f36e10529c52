//! How large a socket buffer a connection can use, and why. What it gets is decided by
//! [`Division`](crate::Division).

use core::fmt;

use ackwise_tcp::ByteCount;

use crate::ratio::Gain;

/// A buffer size that a connection can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The size.
    pub bytes: ByteCount,
    /// Why not more, and not less.
    pub reason: DemandReason,
}

/// The reason for a [`Demand`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DemandReason {
    /// Every connection gets this size.
    Fixed,
    /// Nothing has been sent, so nothing is measured.
    NothingSent,
    /// No loss has been seen, and the estimate is below the initial size.
    NoLossYet {
        /// Segments sent without a loss.
        segments: u64,
    },
    /// The window that the estimated throughput needs.
    Estimated {
        /// In segments.
        window: f64,
    },
    /// The estimate is below the minimum of two segments.
    TwoSegments,
    /// The peer's receive window is the limit.
    PeerWindow,
    /// The limit for a single connection.
    Most,
    /// The document arrives from the server more slowly than the client could take it.
    SlowUpward {
        /// In segments.
        window: f64,
    },
    /// The client takes less than the estimate: its link has a queue, or it reads slowly.
    SlowClient {
        /// In segments.
        window: f64,
    },
    /// The buffer was full.
    Full {
        /// Its size.
        assigned: ByteCount,
    },
    /// Much of the buffer stayed empty.
    Unused {
        /// The most that was in it.
        peak: ByteCount,
    },
    /// The buffer was used well, and stays as it is.
    WellUsed {
        /// The most that was in it.
        peak: ByteCount,
    },
    /// On the way from an earlier size to what is needed.
    Smoothed {
        /// What is needed.
        needed: ByteCount,
    },
}

impl Demand {
    /// The next step from the previous size towards this demand.
    ///
    /// Demands are smoothed, and not shares: a mixture of old and new shares may exceed the pool if
    /// a connection was added in between.
    #[must_use]
    pub fn smoothed(self, previous: ByteCount, gain: Gain) -> Self {
        let bytes = gain.approach(previous, self.bytes);
        if bytes == self.bytes {
            return self;
        }
        Self { bytes, reason: DemandReason::Smoothed { needed: self.bytes } }
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B: {}", self.bytes.0, self.reason)
    }
}

impl fmt::Display for DemandReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed => f.write_str("the fixed size"),
            Self::NothingSent => f.write_str("the initial size, because nothing has been sent"),
            Self::NoLossYet { segments } => {
                write!(f, "the initial size, with no loss among {segments} segments")
            }
            Self::Estimated { window } => {
                write!(f, "the estimated throughput needs a window of {window:.1} segments")
            }
            Self::TwoSegments => f.write_str("the minimum of two segments"),
            Self::PeerWindow => f.write_str("the peer's window allows no more"),
            Self::Most => f.write_str("the most that a connection gets"),
            Self::SlowUpward { window } => write!(
                f,
                "the server's connection is slower and needs a window of {window:.1} segments"
            ),
            Self::SlowClient { window } => {
                write!(f, "the client is slower and needs a window of {window:.1} segments")
            }
            Self::Full { assigned } => write!(f, "all {} B were used", assigned.0),
            Self::Unused { peak } => write!(f, "at most {} B were used", peak.0),
            Self::WellUsed { peak } => {
                write!(f, "unchanged, because {} B were used", peak.0)
            }
            Self::Smoothed { needed } => write!(f, "on the way to {} B", needed.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_reason_is_a_sentence() {
        use DemandReason as R;
        let (peak, segments) = (ByteCount(600), 9);
        let table = [
            (R::Fixed, "the fixed size"),
            (R::NothingSent, "the initial size, because nothing has been sent"),
            (R::NoLossYet { segments }, "the initial size, with no loss among 9 segments"),
            (
                R::Estimated { window: 6.95 },
                "the estimated throughput needs a window of 7.0 segments",
            ),
            (R::TwoSegments, "the minimum of two segments"),
            (R::PeerWindow, "the peer's window allows no more"),
            (R::Most, "the most that a connection gets"),
            (
                R::SlowUpward { window: 1.25 },
                "the server's connection is slower and needs a window of 1.2 segments",
            ),
            (
                R::SlowClient { window: 1.25 },
                "the client is slower and needs a window of 1.2 segments",
            ),
            (R::Full { assigned: ByteCount(500) }, "all 500 B were used"),
            (R::Unused { peak }, "at most 600 B were used"),
            (R::WellUsed { peak }, "unchanged, because 600 B were used"),
            (R::Smoothed { needed: ByteCount(800) }, "on the way to 800 B"),
        ];
        for (reason, text) in table {
            let demand = Demand { bytes: ByteCount(700), reason };
            assert_eq!(demand.to_string(), ["700 B: ", text].concat());
        }
    }

    #[test]
    fn a_smoothed_demand_says_where_it_goes_until_it_is_there() {
        let needed = Demand { bytes: ByteCount(1_600), reason: DemandReason::PeerWindow };
        let step = needed.smoothed(ByteCount(800), Gain::EIGHTH);
        let reason = DemandReason::Smoothed { needed: ByteCount(1_600) };
        assert_eq!(step, Demand { bytes: ByteCount(900), reason });
        assert_eq!(needed.smoothed(ByteCount(1_599), Gain::EIGHTH), needed);
    }
}
