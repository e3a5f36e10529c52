//! An endpoint with its bytes.

use alloc::vec::Vec;

use super::{Reassembly, SendBuffer};
use crate::{
    endpoint::{Endpoint, Received, State, Transmit},
    segment::Segment,
    units::Instant,
};

/// An endpoint with the bytes that it does not have: what was written and may be sent again, and what
/// has arrived and was not read.
///
/// The contract is the [`Endpoint`]'s, with payloads: after each call, [`poll_transmit`](Self::poll_transmit)
/// is drained, then the endpoint's events.
#[derive(Clone, Debug)]
pub struct Stream {
    endpoint: Endpoint,
    sending: SendBuffer,
    receiving: Reassembly,
}

impl Stream {
    /// An endpoint to which nothing was written yet.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, sending: SendBuffer::default(), receiving: Reassembly::default() }
    }

    /// The endpoint, to look at.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The endpoint, for all but what has a payload: its `handle_segment`, `poll_transmit`, `write` and
    /// `read` are called by the methods of the same names here.
    pub const fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The endpoint without its bytes.
    #[must_use]
    pub fn into_endpoint(self) -> Endpoint {
        self.endpoint
    }

    /// Takes one segment off the wire, and what is new of its payload.
    ///
    /// # Panics
    ///
    /// If the payload is shorter than the segment says.
    pub fn handle_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) -> Received {
        let received = self.endpoint.handle_segment(segment, now);
        if let Some(placement) = received.placement() {
            let from = placement.skip as usize;
            let bytes = payload.get(from..from + placement.len as usize);
            let bytes = bytes.expect("a payload is as long as its segment says");
            self.receiving.place(placement.offset, bytes, self.endpoint.receivable());
        }
        self.sending.forget_before(self.endpoint.acknowledged());
        if self.endpoint.state() == State::Listen {
            *self = Self::new(self.endpoint.clone()); // An RST has undone the handshake.
        }
        received
    }

    /// The next segment to put on the wire; its bytes replace what is in `payload`.
    pub fn poll_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Transmit> {
        let transmit = self.endpoint.poll_transmit(now)?;
        payload.clear();
        self.sending.copy(transmit.offset, transmit.segment.len, payload);
        Some(transmit)
    }

    /// Takes as many of `bytes` as the send buffer has room for; returns how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let offered = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let accepted = self.endpoint.write(offered) as usize;
        self.sending.push(&bytes[..accepted]);
        accepted
    }

    /// Fills `out` with bytes that have arrived in order; returns how many.
    ///
    /// # Panics
    ///
    /// If the endpoint's own `read` was called: then the bytes are not where it says.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let len = self.receiving.take(out, self.endpoint.readable());
        let taken = self.endpoint.read(u32::try_from(len).expect("a window has 30 bits"));
        assert_eq!(taken as usize, len, "endpoint and reassembly disagree on what is readable");
        len
    }

    /// Gives back the memory that a stream does not need to which nothing more is written, and of which nothing more
    /// is read. What was not read is lost.
    pub fn shrink(&mut self) {
        self.receiving = Reassembly::default();
        self.sending.shrink();
    }

    /// Bytes of memory for what was written and is not acknowledged.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.sending.memory()
    }
}
