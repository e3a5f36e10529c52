//! What is known of a connection that was idle, when it sends again.

use core::time::Duration;

use crate::congestion::Windows;

/// All that the decision may depend on. Nothing is outstanding when it is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Idle {
    /// Time since data was last sent.
    pub since_send: Duration,
    /// Time since a segment last arrived.
    pub since_receive: Duration,
    /// The current RTO.
    pub rto: Duration,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// What was counted in the last round trip, if the policy has it counted.
    pub counted: Option<Counted>,
    /// The windows before.
    pub windows: Windows,
    /// The initial window of this connection, in bytes.
    pub initial_window: u32,
    /// The peer's window, in bytes.
    pub peer_window: u32,
    /// The size of a full segment.
    pub mss: u32,
}

/// What was counted in a round trip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Counted {
    /// New segments that left in it, the timed one included.
    pub segments: u32,
    /// From the departure of the timed segment to its acknowledgement.
    pub time: Duration,
}
