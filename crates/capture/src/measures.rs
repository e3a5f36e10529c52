//! Figures of a connection that explain nothing, and that every engineer asks for: round trips, windows,
//! reordering. They are small, because a capture can have a million connections.

use std::{num::NonZeroU32, time::Duration};

/// What is measured of a connection, beside what its time went to. Arrays are by the direction of the
/// segments: to the server, to the client.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConnectionMeasures {
    /// From the capture point to the server and back, and to the client and back; `None` without a
    /// sample.
    pub round_trips: [Option<RoundTripTimes>; 2],
    /// Segments that came after later ones, and too soon to have been sent again.
    pub reordered: [u32; 2],
    /// The receive windows that the segments advertise, SYNs and RSTs aside; `None` if their scale is
    /// unknown.
    pub windows: [Option<AdvertisedWindows>; 2],
}

/// A distribution of round trips.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundTripTimes {
    samples: NonZeroU32,
    /// Microseconds.
    least: u32,
    median: u32,
    p95: u32,
}

impl RoundTripTimes {
    pub(crate) const fn new(samples: NonZeroU32, [least, median, p95]: [u32; 3]) -> Self {
        Self { samples, least, median, p95 }
    }

    /// How many were measured.
    #[must_use]
    pub const fn samples(&self) -> u32 {
        self.samples.get()
    }

    /// The shortest.
    #[must_use]
    pub const fn least(&self) -> Duration {
        Duration::from_micros(self.least as u64)
    }

    /// Half of them are shorter; with more than 8 samples, within 6 %.
    #[must_use]
    pub const fn median(&self) -> Duration {
        Duration::from_micros(self.median as u64)
    }

    /// 95 % of them are shorter, as exactly.
    #[must_use]
    pub const fn p95(&self) -> Duration {
        Duration::from_micros(self.p95 as u64)
    }
}

/// Receive windows that one end has advertised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AdvertisedWindows {
    /// The smallest, in bytes.
    pub smallest: u32,
    /// The largest, in bytes.
    pub largest: u32,
    /// How often it became zero.
    pub closed: u32,
}
