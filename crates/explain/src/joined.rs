//! What two captures of the same connections have in common, and how their clocks differ.

use std::{fmt, time::Duration};

use ackwise_tcp::Instant;
use ackwise_text::words::millis;

/// What two captures have in common.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Joined {
    /// How the clocks differ.
    pub clocks: Clocks,
    /// What could be joined.
    pub counts: Counts,
}

/// What could be joined, of what the client's capture has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections that are in both captures.
    pub connections: u64,
    /// Exchanges that are in both, and on whose length both agree.
    pub exchanges: u64,
    /// Those that the client's capture alone explains.
    pub alone: u64,
}

/// How two clocks differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Clocks {
    /// Offset of the server's clock in nanoseconds (positive: ahead), in the most certain minute.
    pub ahead: i64,
    /// That is not more wrong than this.
    pub uncertainty: Duration,
    /// Drift of the offset from the first minute to the last, in nanoseconds, if it is certain.
    pub drift: i64,
    /// Packets that are in both captures, by direction: to the server, to the client.
    pub packets: [u64; 2],
    /// By the server's clock, in order; at least one.
    minutes: Vec<Minute>,
}

/// How they differ in a part of the captures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Minute {
    begins: Instant,
    ahead: i64,
    uncertainty: Duration,
}

impl Minute {
    pub(crate) const NANOS: u64 = 60_000_000_000;

    /// Of the least differences in both directions; `None` if packets seem to arrive before they left.
    pub(crate) fn of(begins: Instant, there: i128, back: i128) -> Option<Self> {
        let ahead = i64::try_from((there - back) / 2).ok()?;
        let uncertainty = u64::try_from(there + back).ok()? / 2;
        Some(Self { begins, ahead, uncertainty: Duration::from_nanos(uncertainty) })
    }
}

impl Clocks {
    /// Of at least one minute.
    pub(crate) fn of(minutes: Vec<Minute>, packets: [u64; 2]) -> Option<Self> {
        let surest = minutes.iter().min_by_key(|it| it.uncertainty)?;
        let (first, last) = (minutes.first()?, minutes.last()?);
        let drift = last.ahead - first.ahead;
        let uncertainty = first.uncertainty + last.uncertainty;
        let certain = Duration::from_nanos(drift.unsigned_abs()) > uncertainty;
        Some(Self {
            ahead: surest.ahead,
            uncertainty: surest.uncertainty,
            drift: if certain { drift } else { 0 },
            packets,
            minutes,
        })
    }

    /// What the client's clock says when the server's says that.
    pub(crate) fn at_client(&self, at_server: Instant) -> Instant {
        let after = self.minutes.partition_point(|it| it.begins <= at_server);
        let ahead = self.minutes[after.saturating_sub(1)].ahead;
        Instant::from_nanos(at_server.as_nanos().saturating_add_signed(-ahead))
    }

    /// How wrong that is at most.
    pub(crate) fn max_error(&self) -> Duration {
        self.minutes.iter().map(|it| it.uncertainty).max().unwrap_or_default()
    }
}

impl fmt::Display for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ahead, uncertainty, drift, packets: [to_server, to_client], minutes: _ } = self;
        let span = |nanos: i64| millis(Duration::from_nanos(nanos.unsigned_abs()));
        let where_to = if *ahead < 0 { "behind" } else { "ahead of" };
        write!(f, "the server's clock is {} {where_to} the client's, ", span(*ahead))?;
        write!(f, "±{}", millis(*uncertainty))?;
        if *drift != 0 {
            let way = if *drift < 0 { "lost" } else { "gained" };
            write!(f, ", and {way} {} during the capture", span(*drift))?;
        }
        write!(f, " ({to_server} and {to_client} packets in common)")
    }
}
