//! What is looked at of a packet whose connection is known.

use ackwise_tcp::{Instant, Segment};

use crate::decode::Seen;

/// A packet of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    /// As in [`Seen`].
    pub number: u64,
    pub at: Instant,
    pub interface: u32,
    pub identification: u16,
    pub hop_limit: u8,
    pub segment: &'a Segment,
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    pub(crate) const fn of(seen: &'a Seen<'a>) -> Self {
        let Seen { number, at, interface, identification, hop_limit, ref segment, payload, .. } =
            *seen;
        Self { number, at, interface, identification, hop_limit, segment, payload }
    }
}

/// A SYN without ACK.
pub(super) const fn begins(segment: &Segment) -> bool {
    segment.flags.syn && segment.ack.is_none()
}
