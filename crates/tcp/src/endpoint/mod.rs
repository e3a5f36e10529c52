//! One end of one connection.

use core::time::Duration;

use crate::{policy::Policies, segment::Segment, wait::Timer};

mod state;

pub use state::State;

/// What a connection is created with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Every choice the standards leave open.
    pub policies: Policies,
    /// The MSS that we announce, and the largest segment that we send (options not included).
    pub mss: u16,
    /// Receive buffer in octets: the largest window that we advertise.
    pub receive_buffer: u32,
    /// Send buffer in octets: what `write` takes before it is acknowledged.
    pub send_buffer: u32,
    /// 2 MSL, in TIME-WAIT.
    pub time_wait: Duration,
    /// How long unacknowledged data is retransmitted before the connection is given up.
    pub user_timeout: Duration,
}

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// The header, and how much data.
    pub segment: Segment,
    /// Where its data begins in our stream (offset 0 is the first octet after the SYN). The driver
    /// takes `segment.len` octets from there.
    pub offset: u64,
    /// Something in it was sent before.
    pub retransmission: bool,
}

/// Where the data of a received segment belongs in the peer's stream: the driver copies `len` octets
/// of the payload, from `skip` on, to `offset`. Ranges may arrive out of order, never twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placement {
    /// Octets of the payload to leave out: they are old.
    pub skip: u32,
    /// Offset in the peer's stream.
    pub offset: u64,
    /// Octets to keep.
    pub len: u32,
}

/// What the application should hear about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is over.
    Connected,
    /// In-order data is there up to [`Endpoint::received`].
    Readable,
    /// The send buffer has room again.
    Writable,
    /// The peer will send no more (FIN), and everything before it has arrived.
    PeerClosed,
    /// Both directions are closed in an orderly way; the endpoint may still be in TIME-WAIT.
    Closed,
    /// The peer reset the connection, or refused it.
    Reset,
    /// The connection was given up: which timer said so.
    TimedOut(Timer),
    /// The peer sent urgent data; it is delivered in line, the pointer is ignored.
    UrgentIgnored,
}
