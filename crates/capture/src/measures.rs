//! Figures of a connection that explain nothing, and that every engineer asks for: round trips, windows,
//! reordering.

use std::time::Duration;

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
#[non_exhaustive]
pub struct RoundTripTimes {
    /// How many were measured.
    pub samples: u32,
    /// The shortest.
    pub least: Duration,
    /// Half of them are shorter; with more than 8 samples, within 6 %.
    pub median: Duration,
    /// 95 % of them are shorter, as exactly.
    pub p95: Duration,
}

/// Receive windows that one end has advertised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AdvertisedWindows {
    /// The smallest, in bytes.
    pub smallest: u64,
    /// The largest, in bytes.
    pub largest: u64,
    /// How often it became zero.
    pub closed: u32,
}
