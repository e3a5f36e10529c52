//! A connection as the driver keeps it: the endpoint, and the bytes that it does not have.

use ackwise_tcp::{
    Config, DropReason, Endpoint, Event, Instant, Segment, State, Transmit, wire::Packet,
};

use super::{
    Direction, Tap, Trace, Traced, Tuple, numbers::Numbers, reassembly::Reassembly,
    send_buffer::SendBuffer,
};

/// A connection as the driver keeps it.
#[derive(Debug)]
pub(super) struct Connection {
    tuple: Tuple,
    /// `None` when it was detached: only the wire is watched.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) owner: Owner,
    /// It is in the list of those that may have events.
    pub(super) listed: bool,
    receive_buffer: u32,
    sending: SendBuffer,
    receiving: Reassembly,
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
    pub(super) fn new(
        tuple: Tuple,
        endpoint: Endpoint,
        owner: Owner,
        config: &Config,
        tap: Tap,
    ) -> Self {
        let mut numbers = Numbers::default();
        numbers.update(&endpoint);
        Self {
            tuple,
            endpoint: Some(endpoint),
            owner,
            listed: false,
            receive_buffer: config.receive_buffer,
            sending: SendBuffer::default(),
            receiving: Reassembly::default(),
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
    pub(super) fn state(&self) -> Option<State> {
        self.endpoint.as_ref().map(Endpoint::state)
    }

    /// What the application should hear about, if there is one.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self.owner {
            Owner::Application => self.endpoint.as_mut()?.poll_event(),
            Owner::Listener(_) | Owner::Nobody => None,
        }
    }

    /// Hands a segment to the endpoint, and its bytes to the reassembly.
    pub(super) fn handle(&mut self, packet: &Packet<'_>, now: Instant) {
        let Some(endpoint) = &mut self.endpoint else {
            return self.record_arrival(&packet.segment, None, now);
        };
        let received = endpoint.handle_segment(&packet.segment, now);
        self.record_arrival(&packet.segment, received.dropped(), now);
        let (Some(placement), Some(endpoint)) = (received.placement(), &mut self.endpoint) else {
            return;
        };
        if self.owner == Owner::Nobody {
            // RFC 1122, section 4.2.2.13: data that arrives for a closed application SHOULD be
            // answered by an RST, so that the peer learns that it was lost.
            endpoint.abort();
            return;
        }
        let from = placement.skip as usize;
        let bytes = packet.payload.get(from..from + placement.len as usize);
        let bytes = bytes.expect("an endpoint places what the segment has");
        self.receiving.place(placement.offset, bytes, self.receive_buffer);
    }

    /// The next segment that the endpoint wants to send; its bytes are put into `payload`.
    pub(super) fn next_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Segment> {
        let transmit = self.endpoint.as_mut()?.poll_transmit(now)?;
        payload.clear();
        self.sending.copy(transmit.offset, transmit.segment.len, payload);
        self.record_departure(&transmit, now);
        Some(transmit.segment)
    }

    /// Catches up with what the endpoint did.
    pub(super) fn update(&mut self) {
        let Some(endpoint) = &self.endpoint else { return };
        self.numbers.update(endpoint);
        self.sending.forget_before(endpoint.acknowledged());
    }

    /// Takes as many of `bytes` as the send buffer has room for.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(endpoint) = &mut self.endpoint else { return 0 };
        let offered = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let accepted = endpoint.write(offered) as usize;
        self.sending.push(&bytes[..accepted]);
        accepted
    }

    /// Fills `out` with the bytes that arrived in order.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
        let Some(endpoint) = &mut self.endpoint else { return 0 };
        let len = self.receiving.take(out, endpoint.readable());
        let taken = endpoint.read(u32::try_from(len).expect("a window has 30 bits"));
        assert_eq!(taken as usize, len, "endpoint and reassembly disagree on what is readable");
        len
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
