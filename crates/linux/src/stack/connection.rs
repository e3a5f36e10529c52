//! A connection as the driver keeps it: the endpoint, and the bytes that it does not have.

use ackwise_tcp::{
    DropReason, Endpoint, Event, Instant, Segment, State, Transmit, driver::Stream, wire::Packet,
};

use super::{Direction, Tap, Trace, Traced, Tuple, numbers::Numbers};

/// A connection as the driver keeps it.
#[derive(Debug)]
pub(super) struct Connection {
    tuple: Tuple,
    /// `None` when it was detached: only the wire is watched.
    pub(super) stream: Option<Stream>,
    pub(super) owner: Owner,
    /// It is in the list of those that may have events.
    pub(super) listed: bool,
    numbers: Numbers,
    trace: Option<Trace>,
}

/// Who holds the id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    /// The application.
    Application,
    /// Nobody yet: the handshake for the listener of this port goes on.
    Listener(u16),
    /// Nobody any more.
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

    /// Whether the endpoint has come to its end: nothing happens any more.
    pub(super) fn is_over(&self) -> bool {
        // A passive endpoint that is reset during the handshake returns to LISTEN; ours are never
        // used twice.
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

    /// What the application should hear about, if there is one.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self.owner {
            Owner::Application => self.endpoint_mut()?.poll_event(),
            Owner::Listener(_) | Owner::Nobody => None,
        }
    }

    /// Hands a segment to the stream.
    pub(super) fn handle(&mut self, packet: &Packet<'_>, now: Instant) {
        let Some(stream) = &mut self.stream else {
            return self.record_arrival(&packet.segment, None, now);
        };
        let received = stream.handle_segment(&packet.segment, packet.payload, now);
        if self.owner == Owner::Nobody && received.placement().is_some() {
            // RFC 1122, section 4.2.2.13: data that arrives for a closed application SHOULD be
            // answered by an RST, so that the peer learns that it was lost.
            stream.endpoint_mut().abort();
        }
        self.record_arrival(&packet.segment, received.dropped(), now);
    }

    /// The next segment to send; its bytes are put into `payload`.
    pub(super) fn next_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Segment> {
        let transmit = self.stream.as_mut()?.poll_transmit(payload, now)?;
        self.record_departure(&transmit, now);
        Some(transmit.segment)
    }

    /// Catches up with what the endpoint did.
    pub(super) fn update(&mut self) {
        if let Some(stream) = &self.stream {
            self.numbers.update(stream.endpoint());
        }
    }

    /// Takes as many of `bytes` as the send buffer has room for.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        self.stream.as_mut().map_or(0, |stream| stream.write(bytes))
    }

    /// Fills `out` with the bytes that arrived in order.
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
            direction: Direction::In,
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
            direction: Direction::Out,
            segment,
            offset: self.numbers.ours(segment.seq),
            acknowledges: segment.ack.and_then(|ack| self.numbers.theirs(ack)),
            retransmission,
            dropped: None,
            ack_reason,
        });
    }
}
