//! The server's TCP in a check of a client: several connections, ACKs that can be withheld, and everything that
//! arrives in the order of our own ACKs.

mod kernel;
#[cfg(target_os = "linux")]
mod ours;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

pub(crate) use kernel::KernelWire;
#[cfg(target_os = "linux")]
pub(crate) use ours::OwnWire;

use crate::stack::{StackName, distance::Distance};

/// A listening TCP.
pub(crate) trait Wire {
    fn name(&self) -> StackName;

    fn address(&self) -> SocketAddr;

    /// When the times of its happenings begin.
    fn begun(&self) -> Instant;

    /// The longest ACK delay that it can keep.
    fn longest_delay(&self) -> Duration;

    /// Whether it decides when the first bytes of a connection are acknowledged.
    fn rules_first_ack(&self) -> bool;

    /// Waits until something happens or `deadline`, and appends what happened, in order.
    fn poll(&mut self, deadline: Instant, into: &mut Vec<Happening>) -> io::Result<()>;

    /// Delays the ACKs of a connection by this from now on.
    fn delay_acks(&mut self, connection: u64, delay: Duration);

    /// From now on, reads at most [`SLOW_READ`] bytes of it in a millisecond.
    fn read_slowly(&mut self, connection: u64);

    /// Sends bytes, as fast as TCP takes them.
    fn send(&mut self, connection: u64, bytes: &[u8]);

    /// Sends a FIN, and reads on.
    fn half_close(&mut self, connection: u64);

    /// Forgets a connection that the client has ended.
    fn forget(&mut self, connection: u64);

    /// Sends an RST.
    fn abort(&mut self, connection: u64);

    /// Puts this path between the server and the clients of the next run, or none. Whether that can be done.
    fn set_distance(&mut self, distance: Option<Distance>) -> bool {
        distance.is_none()
    }

    /// How far the client's TCP is with what was sent, if that can be seen.
    fn sending(&self, connection: u64) -> Option<Sending> {
        let _ = connection;
        None
    }

    /// When SYNs came to the address that does not answer, if it has one, since the last call.
    fn take_unanswered_syns(&mut self) -> Vec<Duration> {
        Vec::new()
    }
}

/// What the client's TCP says of what it gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    /// Its receive window, in bytes.
    pub(crate) window: u64,
    /// Bytes that it has acknowledged, and those that it has not, or that were not sent yet.
    pub(crate) acknowledged: u64,
    pub(crate) pending: u64,
}

/// What is to be sent on a connection, and was not given to TCP yet.
#[derive(Debug, Default)]
struct Outgoing {
    bytes: VecDeque<u8>,
    closes: bool,
}

impl Outgoing {
    /// Gives TCP what it takes by `write`. Whether a FIN is to follow now.
    fn flush(&mut self, mut write: impl FnMut(&[u8]) -> usize) -> bool {
        while !self.bytes.is_empty() {
            let taken = write(self.bytes.as_slices().0);
            if taken == 0 {
                return false;
            }
            self.bytes.drain(..taken);
        }
        std::mem::take(&mut self.closes)
    }
}

/// What happened to a connection, and when.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) connection: u64,
    pub(crate) at: Duration,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Opened,
    Arrived(Vec<u8>),
    /// Our ACK of all that has arrived, after a delay.
    Acknowledged,
    Fin,
    Reset,
}

/// 16 MB/s: an upload of a few megabytes lasts long enough for the client to read a response meanwhile. Our choice.
const SLOW_READ: usize = 16 << 10;

/// How often a slow reader reads.
const SLOW_PAUSE: Duration = Duration::from_millis(1);

/// What the client's TCP may send before it is read: little, so that an upload waits for its reader. Our choice.
const RECEIVE_BUFFER: u32 = 64 << 10;

/// More connections at a time are refused. Our choice.
const MOST_CONNECTIONS: usize = 256;
