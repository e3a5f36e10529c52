//! A connection of the driver: the endpoint, and the bytes, which the endpoint does not store.

use ackwise_tcp::{
    DropReason, Endpoint, Event, Instant, Segment, State, TimeWaitReason, Transmit, driver::Stream,
    wire::Packet,
};

use super::{Tap, Trace, Traced, Tuple, WireDirection, numbers::Numbers, orphans::Orphan};

/// A connection of the driver.
#[derive(Debug)]
pub(super) struct Connection {
    tuple: Tuple,
    /// `None` after a detach: packets are only traced.
    pub(super) stream: Option<Stream>,
    pub(super) owner: Owner,
    /// Whether it is in the list of connections with possible events.
    pub(super) listed: bool,
    numbers: Numbers,
    trace: Option<Trace>,
}

/// The holder of the connection's id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    /// The application.
    Application,
    /// The handshake for the listener of this port is in progress.
    Listener(u16),
    /// No longer held: released, or the handshake failed.
    Nobody,
}

impl Connection {
    pub(super) fn new(tuple: Tuple, endpoint: Endpoint, owner: Owner, tap: Tap) -> Self {
        let mut numbers = Numbers::default();
        numbers.update(&endpoint);
        Self {
            tuple,
            stream: Some(Stream::new(endpoint)),
            owner,
            listed: false,
            numbers,
            trace: Trace::new(tap),
        }
    }

    pub(super) const fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    pub(super) const fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Whether the endpoint has finished: no further events.
    pub(super) fn is_over(&self) -> bool {
        // A passive endpoint that is reset during the handshake returns to LISTEN; the driver does
        // not reuse endpoints.
        self.state().is_none_or(|state| matches!(state, State::Closed | State::Listen))
    }

    /// `None` when detached.
    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.stream.as_ref().map(Stream::endpoint)
    }

    /// `None` when detached.
    pub(super) fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        self.stream.as_mut().map(Stream::endpoint_mut)
    }

    /// `None` when detached.
    pub(super) fn state(&self) -> Option<State> {
        self.endpoint().map(Endpoint::state)
    }

    /// Leaves the connection to TCP: nobody writes or reads any more.
    pub(super) fn release(&mut self) {
        self.owner = Owner::Nobody;
        if let Some(endpoint) = self.endpoint_mut() {
            endpoint.close();
        }
    }

    /// What is seen of a released connection that is not over; it keeps no more memory than it needs.
    pub(super) fn orphan(&mut self, now: Instant) -> Option<Orphan> {
        if self.owner != Owner::Nobody || self.is_over() {
            return None;
        }
        let stream = self.stream.as_mut()?;
        stream.shrink();
        let endpoint = stream.endpoint();
        Some(Orphan {
            state: endpoint.state(),
            acknowledged: endpoint.acknowledged(),
            bytes: stream.memory(),
            is_relied_on: endpoint.time_wait_reason().is_some_and(TimeWaitReason::is_relied_on),
            since: now,
        })
    }

    /// The next event for the application, if it holds the connection.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self.owner {
            Owner::Application => self.endpoint_mut()?.poll_event(),
            Owner::Listener(_) | Owner::Nobody => None,
        }
    }

    /// Passes a segment to the stream.
    pub(super) fn handle(&mut self, packet: &Packet<'_>, now: Instant) {
        let Some(stream) = &mut self.stream else {
            return self.record_arrival(&packet.segment, None, now);
        };
        let received = stream.handle_segment(&packet.segment, packet.payload, now);
        if self.owner == Owner::Nobody && received.placement().is_some() {
            // RFC 1122, section 4.2.2.13: data for a closed application SHOULD be answered by an
            // RST, so that the peer detects the loss.
            stream.endpoint_mut().abort();
        }
        self.record_arrival(&packet.segment, received.dropped(), now);
    }

    /// The next segment to send; its bytes are written to `payload`.
    pub(super) fn next_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Segment> {
        let transmit = self.stream.as_mut()?.poll_transmit(payload, now)?;
        self.record_departure(&transmit, now);
        Some(transmit.segment)
    }

    /// Updates the trace's numbers from the endpoint.
    pub(super) fn update(&mut self) {
        if let Some(stream) = &self.stream {
            self.numbers.update(stream.endpoint());
        }
    }

    /// Writes as many of `bytes` as the send buffer accepts.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        self.stream.as_mut().map_or(0, |stream| stream.write(bytes))
    }

    /// Reads bytes that arrived in order into `out`.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
        self.stream.as_mut().map_or(0, |stream| stream.read(out))
    }

    pub(super) fn record_arrival(
        &mut self,
        segment: &Segment,
        dropped: Option<DropReason>,
        now: Instant,
    ) {
        let retransmission = self.numbers.arrived(segment);
        let Some(trace) = &mut self.trace else { return };
        trace.record(Traced {
            at: now,
            direction: WireDirection::In,
            segment: *segment,
            offset: self.numbers.theirs(segment.seq),
            acknowledges: segment.ack.and_then(|ack| self.numbers.ours(ack)),
            retransmission,
            dropped,
            ack_reason: None,
        });
    }

    pub(super) fn record_departure(&mut self, transmit: &Transmit, now: Instant) {
        let Transmit { segment, offset: _, retransmission, ack_reason } = *transmit;
        let Some(trace) = &mut self.trace else { return };
        trace.record(Traced {
            at: now,
            direction: WireDirection::Out,
            segment,
            offset: self.numbers.ours(segment.seq),
            acknowledges: segment.ack.and_then(|ack| self.numbers.theirs(ack)),
            retransmission,
            dropped: None,
            ack_reason,
        });
    }
}
