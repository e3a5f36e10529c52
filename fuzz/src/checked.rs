//! An endpoint with its invariants: whatever is done to it, it is drained and looked at afterwards.

use ackwise_tcp::{Config, Endpoint, Event, Instant, Segment, SeqNumber, State, Transmit};

/// An endpoint that is checked after each step.
pub struct Checked {
    pub endpoint: Endpoint,
    config: Config,
    /// RCV.NXT + RCV.WND as last advertised.
    edge: Option<SeqNumber>,
    received: u64,
    acknowledged: u64,
    connected: bool,
    /// The connection was reset, given up, or closed before there was one.
    pub failed: bool,
}

impl Checked {
    pub fn connect(config: Config, iss: SeqNumber, now: Instant) -> Self {
        Self::new(Endpoint::connect(config, iss, now), config)
    }

    pub fn listen(config: Config, iss: SeqNumber) -> Self {
        Self::new(Endpoint::listen(config, iss), config)
    }

    fn new(endpoint: Endpoint, config: Config) -> Self {
        Self {
            endpoint,
            config,
            edge: None,
            received: 0,
            acknowledged: 0,
            connected: false,
            failed: false,
        }
    }

    /// Does what a driver owes the endpoint; what leaves goes to `transmit`.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub fn settle(&mut self, mut transmit: impl FnMut(Transmit), now: Instant) {
        for round in 0.. {
            let Some(leaving) = self.endpoint.poll_transmit(now) else { break };
            assert!(round < MOST_SEGMENTS, "sends for ever: {:?}", self.endpoint);
            self.check_segment(&leaving);
            transmit(leaving);
        }
        for round in 0.. {
            let Some(event) = self.endpoint.poll_event() else { break };
            assert!(round < MOST_EVENTS, "tells for ever: {:?}", self.endpoint);
            self.connected |= event == Event::Connected;
            self.failed |= match event {
                Event::Reset | Event::TimedOut(_) => true,
                Event::Closed => !self.connected,
                _ => false,
            };
        }
        self.check(now);
    }

    fn check(&mut self, now: Instant) {
        let endpoint = &self.endpoint;
        if let Some(deadline) = endpoint.poll_timeout() {
            assert!(deadline.at > now, "{deadline:?} at {now:?} asks for the past: {endpoint:?}");
        }
        if endpoint.state() == State::Listen {
            (self.edge, self.received, self.acknowledged) = (None, 0, 0);
        }
        let (received, acknowledged) = (endpoint.received(), endpoint.acknowledged());
        assert!(self.received <= received, "bytes received were taken back: {endpoint:?}");
        assert!(self.acknowledged <= acknowledged, "an ACK was taken back: {endpoint:?}");
        assert!(acknowledged <= endpoint.written(), "more acknowledged than written: {endpoint:?}");
        assert!(endpoint.readable() <= received, "more to read than received: {endpoint:?}");
        let buffer = u64::from(self.config.receive_buffer);
        assert!(endpoint.readable() <= buffer, "more to read than fits: {endpoint:?}");
        let held = endpoint.written() - acknowledged;
        assert!(held <= self.config.send_buffer.into(), "more held than fits: {endpoint:?}");
        (self.received, self.acknowledged) = (received, acknowledged);
        let _ = (endpoint.wait(), endpoint.ack_wait(), endpoint.windows());
    }

    fn check_segment(&mut self, leaving: &Transmit) {
        let Segment { ack, flags, window, len, .. } = leaving.segment;
        let endpoint = &self.endpoint;
        assert!(len <= self.config.mss.into(), "{len} bytes exceed the MSS: {endpoint:?}");
        let end = leaving.offset + u64::from(len);
        assert!(len == 0 || end <= endpoint.written(), "sends what was not written: {leaving:?}");
        if let Some(ack) = ack.filter(|_| !flags.rst) {
            self.check_window(ack + u32::from(window));
        }
    }

    /// RFC 9293, section 3.8.6: "a TCP receiver SHOULD NOT shrink the window, i.e., move the right
    /// window edge to the left (SHLD-14)". Only for buffers that need no scaling: from outside one
    /// cannot see whether the peer agreed to it.
    fn check_window(&mut self, edge: SeqNumber) {
        if self.config.receive_buffer > u16::MAX.into() {
            return;
        }
        if let Some(before) = self.edge {
            assert!(
                !edge.precedes(before),
                "the window shrank from {before:?} to {edge:?}: {:?}",
                self.endpoint
            );
        }
        self.edge = Some(edge);
    }
}

/// More than any window holds.
const MOST_SEGMENTS: u32 = 10_000;
/// More than there are events.
const MOST_EVENTS: u32 = 100;
