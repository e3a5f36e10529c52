//! An endpoint with its invariants: whatever is done to it, it is drained and looked at afterwards.

use ackwise_tcp::{
    Config, Endpoint, Event, Instant, Policies, Segment, SeqNumber, State, Transmit, WindowShift,
    policy::BufferTuning,
};

use crate::operation::receive_buffer;

/// An endpoint that is checked after each step.
pub struct Checked {
    pub endpoint: Endpoint,
    config: Config,
    /// The largest receive buffer so far: what was advertised once is not taken back.
    largest_buffer: u32,
    /// Window and shift of our first SYN.
    syn: Option<(u16, Option<WindowShift>)>,
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
            largest_buffer: config.receive_buffer,
            syn: None,
            edge: None,
            received: 0,
            acknowledged: 0,
            connected: false,
            failed: false,
        }
    }

    /// Changes the receive buffer to a size that `bytes` chooses.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        let bytes = receive_buffer(bytes);
        self.largest_buffer = self.largest_buffer.max(bytes);
        self.endpoint.set_receive_buffer(bytes);
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
            (self.syn, self.edge, self.received, self.acknowledged) = (None, None, 0, 0);
        }
        let (received, acknowledged) = (endpoint.received(), endpoint.acknowledged());
        assert!(self.received <= received, "bytes received were taken back: {endpoint:?}");
        assert!(self.acknowledged <= acknowledged, "an ACK was taken back: {endpoint:?}");
        assert!(acknowledged <= endpoint.written(), "more acknowledged than written: {endpoint:?}");
        assert!(endpoint.readable() <= received, "more to read than received: {endpoint:?}");
        let buffer = u64::from(
            self.largest_buffer
                .max(self.tuned(|of| of.receive_tuning, BufferTuning::LINUX_MAX_WINDOW)),
        );
        assert!(endpoint.readable() <= buffer, "more to read than fits: {endpoint:?}");
        let held = endpoint.written() - acknowledged;
        let buffer = self.config.send_buffer;
        let buffer = buffer.max(self.tuned(|of| of.send_tuning, BufferTuning::LINUX_MAX_SEND));
        assert!(held <= buffer.into(), "more held than fits: {endpoint:?}");
        (self.received, self.acknowledged) = (received, acknowledged);
        let _ = (endpoint.wait(), endpoint.ack_wait(), endpoint.windows());
    }

    /// The `largest` that a buffer may become by itself; nothing if it keeps its size.
    fn tuned(&self, tuning: impl Fn(&Policies) -> BufferTuning, largest: u32) -> u32 {
        if tuning(&self.config.policies) == BufferTuning::Linux { largest } else { 0 }
    }

    fn check_segment(&mut self, leaving: &Transmit) {
        let Segment { ack, flags, window, len, .. } = leaving.segment;
        let endpoint = &self.endpoint;
        assert!(len <= self.config.mss.into(), "{len} bytes exceed the MSS: {endpoint:?}");
        let end = leaving.offset + u64::from(len);
        assert!(len == 0 || end <= endpoint.written(), "sends what was not written: {leaving:?}");
        if flags.syn {
            self.check_syn(&leaving.segment);
        }
        // A SYN that is sent again repeats its first offer, whatever a challenge ACK has said meanwhile.
        let repeats = flags.syn && self.edge.is_some();
        if let Some(ack) = ack.filter(|_| !flags.rst && !repeats) {
            self.check_window(ack + u32::from(window));
        }
    }

    /// Every SYN says the same: the peer may take any of them. A SYN-ACK may have no shift after a SYN
    /// that had one.
    fn check_syn(&mut self, segment: &Segment) {
        let Segment { window, options, .. } = segment;
        let (first_window, first_shift) = *self.syn.get_or_insert((*window, options.window_scale));
        assert_eq!(*window, first_window, "another window in a SYN: {:?}", self.endpoint);
        let shift = options.window_scale.or(first_shift);
        assert_eq!(shift, first_shift, "another shift in a SYN: {:?}", self.endpoint);
    }

    /// RFC 9293, section 3.8.6: "a TCP receiver SHOULD NOT shrink the window, i.e., move the right
    /// window edge to the left (SHLD-14)". Only if our SYN has no shift: from outside one cannot see
    /// whether the peer agreed to it.
    fn check_window(&mut self, edge: SeqNumber) {
        let shift = self.syn.and_then(|(_, shift)| shift);
        if shift.is_some_and(|shift| shift != WindowShift::NONE) {
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
