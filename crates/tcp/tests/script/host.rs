//! The driver of a script's endpoint: a host with one connection and a clock that the script sets.

use std::{collections::VecDeque, net::SocketAddr};

use ackwise_tcp::{
    Endpoint, Event, Flags, Instant, IpVersion, Received, Segment, SeqNumber, State,
    driver::{CookieSecret, ListenOutcome, Listener, SynCookies},
    endpoint::{PathMtuReport, refuse},
    notation::{Call, Isns, Pattern, Relative, Trace, TraceEvent},
    policy::{AckReason, HoldPolicy},
    wire::{OptionList, Packet},
};

use super::settings::Settings;

/// A host with one connection.
pub(super) struct Host {
    settings: Settings,
    pub(super) endpoint: Option<Endpoint>,
    /// One without room, if the script wants it.
    listener: Option<Listener<()>>,
    isns: Isns,
    pub(super) now: Instant,
    /// What has left and the script has not yet spoken of.
    pub(super) sent: VecDeque<Sent>,
    /// What the application was told and the script has not yet spoken of.
    pub(super) told: VecDeque<Event>,
    pub(super) trace: Trace,
    /// What became of the segment that arrived last.
    pub(super) received: Option<Received>,
    /// Why the ACK left that the script spoke of last.
    pub(super) reason: Option<AckReason>,
    /// Where the peer's stream goes on, and the window it gave last.
    peer_next: SeqNumber,
    peer_window: u16,
}

/// A segment that has left.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) segment: Relative,
    pub(super) reason: Option<AckReason>,
    /// Its line in the trace.
    pub(super) line: usize,
}

impl Host {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            endpoint: None,
            listener: None,
            isns: settings.isns,
            now: Instant::EPOCH,
            sent: VecDeque::new(),
            told: VecDeque::new(),
            trace: Trace::with_limit(TRACE_LINES),
            received: None,
            reason: None,
            peer_next: settings.isns.receiver,
            peer_window: u16::MAX,
        }
    }

    /// Lets time pass up to `until`, that point included, or up to the next segment that leaves.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(super) fn advance(&mut self, until: Instant, stop_at_segment: bool) {
        for _ in 0..TIMERS_IN_A_STEP {
            if stop_at_segment && !self.sent.is_empty() {
                return;
            }
            let deadline = self.endpoint.as_ref().and_then(Endpoint::poll_timeout);
            let Some(due) = deadline.map(|deadline| deadline.at).filter(|at| *at <= until) else {
                self.now = self.now.max(until);
                return;
            };
            self.now = self.now.max(due);
            let now = self.now;
            self.with_endpoint(|endpoint| endpoint.handle_timeout(now));
        }
        panic!("{TIMERS_IN_A_STEP} timers fired before {until}\n{}", self.trace);
    }

    /// A segment arrives.
    pub(super) fn inject(&mut self, pattern: &Pattern) {
        let inbound = self.isns.reversed();
        let segment = pattern.segment(inbound, self.peer_next, self.peer_window);
        self.peer_window = segment.window;
        self.peer_next = self.peer_next.later(segment.end());
        self.trace.record(TraceEvent::Received(inbound.relative(&segment)), self.now);
        self.reopen(&segment);
        match self.endpoint.as_ref().map(Endpoint::state) {
            None if self.listener.is_some() => self.arrive_at_listener(&segment),
            None | Some(State::Closed) => {
                if let Some(reset) = refuse(&segment) {
                    self.note_sent(&reset, None);
                }
            }
            Some(_) => {
                let now = self.now;
                self.received =
                    self.with_endpoint(|endpoint| Some(endpoint.handle_segment(&segment, now)));
            }
        }
    }

    /// A SYN may end TIME-WAIT: then a new connection listens, and numbers count afresh.
    fn reopen(&mut self, segment: &Segment) {
        let endpoint = self.endpoint.as_ref();
        let Some(after) = endpoint.and_then(|endpoint| endpoint.reopens(segment)) else { return };
        self.isns = Isns { sender: after + ISS_INCREMENT, receiver: segment.seq };
        self.peer_next = segment.end();
        self.begin(Endpoint::listen(self.settings.config, self.isns.sender));
    }

    /// A segment arrives at a listener without room.
    fn arrive_at_listener(&mut self, segment: &Segment) {
        let now = self.now;
        let packet = self.packet(PEER_PORT, segment);
        let Some(listener) = &mut self.listener else { return };
        match listener.handle_packet(&packet, now) {
            ListenOutcome::Open => panic!("a full listener has room\n{}", self.trace),
            ListenOutcome::Answer(cookie) => {
                self.isns = Isns { sender: cookie.initial_sequence(), receiver: segment.seq };
                let endpoint = Endpoint::listen(self.settings.config, self.isns.sender);
                self.note_sent(&cookie.syn_ack(endpoint, now), None);
            }
            ListenOutcome::Resume(cookie) => {
                self.begin(Endpoint::listen(self.settings.config, cookie.initial_sequence()));
                self.received = self.with_endpoint(|endpoint| {
                    cookie.resume(endpoint, now);
                    Some(endpoint.handle_segment(segment, now))
                });
            }
            ListenOutcome::Reset(reset) => self.note_sent(&reset, None),
            ListenOutcome::Drop(reason) => self.received = Some(Received::Dropped(reason)),
        }
    }

    /// A listener with one connection in the handshake, and room for no other.
    fn full_listener(&self) -> Listener<()> {
        let cookies =
            SynCookies::new(CookieSecret::new([7; 16]), self.settings.config.policies.offer);
        let mut listener = Listener::new(1).with_cookies(cookies);
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let first = listener.handle_packet(&self.packet(PEER_PORT + 1, &syn), self.now);
        assert_eq!(first, ListenOutcome::Open);
        listener
    }

    /// `segment` from a port of the peer.
    fn packet(&self, port: u16, segment: &Segment) -> Packet<'static> {
        let [source, destination] = match self.settings.ip {
            IpVersion::V4 => [([192, 0, 2, 1], port).into(), ([192, 0, 2, 2], 80).into()],
            IpVersion::V6 => [1, 2].map(|end| {
                SocketAddr::from((
                    [0x2001, 0xDB8, 0, 0, 0, 0, 0, end],
                    if end == 1 { port } else { 80 },
                ))
            }),
        };
        let options = OptionList::new(&[]);
        Packet { source, destination, segment: *segment, options, payload: &[] }
    }

    /// The application calls. Returns how many bytes were taken, for calls that take some.
    pub(super) fn call(&mut self, call: Call) -> u32 {
        self.trace.record(TraceEvent::Called(call), self.now);
        let (config, iss, now) = (self.settings.config, self.isns.sender, self.now);
        match call {
            Call::Listen if self.settings.full => self.listener = Some(self.full_listener()),
            Call::Listen => self.begin(Endpoint::listen(config, iss)),
            Call::Connect => self.begin(Endpoint::connect(config, iss, now)),
            _ => {}
        }
        self.with_endpoint(|endpoint| {
            match call {
                Call::Write(bytes) => return endpoint.write(bytes),
                Call::Read(bytes) => return endpoint.read(bytes),
                Call::Close => endpoint.close(),
                Call::Abort => endpoint.abort(),
                Call::NoDelay => endpoint.set_hold(HoldPolicy::Off),
                Call::Cork => endpoint.set_hold(HoldPolicy::LINUX_CORK),
                Call::Uncork => endpoint.set_hold(config.policies.hold),
                _ => {}
            }
            0
        })
    }

    fn begin(&mut self, mut endpoint: Endpoint) {
        endpoint.set_ip_version(self.settings.ip);
        self.endpoint = Some(endpoint);
    }

    /// A router reports that it dropped the packet that began at `sequence`; whether that is believed.
    pub(super) fn report_path_mtu(&mut self, mtu: u32, sequence: u32) -> bool {
        let report = PathMtuReport { mtu, sequence: self.isns.sender + sequence };
        self.with_endpoint(|endpoint| endpoint.handle_path_mtu(report).is_ok())
    }

    /// Does something with the endpoint, and then what a driver owes it.
    pub(super) fn with_endpoint<T: Default>(&mut self, act: impl FnOnce(&mut Endpoint) -> T) -> T {
        let Some(mut endpoint) = self.endpoint.take() else { return T::default() };
        let result = act(&mut endpoint);
        for _ in 0..SEGMENTS_IN_A_STEP {
            let Some(transmit) = endpoint.poll_transmit(self.now) else { break };
            self.note_sent(&transmit.segment, transmit.ack_reason);
        }
        assert!(endpoint.poll_transmit(self.now).is_none(), "sends for ever\n{}", self.trace);
        while let Some(event) = endpoint.poll_event() {
            self.trace.record(TraceEvent::Told(event), self.now);
            self.told.push_back(event);
        }
        self.endpoint = Some(endpoint);
        result
    }

    fn note_sent(&mut self, segment: &Segment, reason: Option<AckReason>) {
        let segment = self.isns.relative(segment);
        let line = self.trace.lines().count();
        self.trace.record(TraceEvent::Sent(segment), self.now);
        self.sent.push_back(Sent { at: self.now, segment, reason, line });
    }
}

/// How far the new initial sequence number lies behind the old connection's numbers (ours).
const ISS_INCREMENT: u32 = 64_000;
/// More than any script needs; what exceeds it runs for ever.
const TIMERS_IN_A_STEP: usize = 10_000;
const SEGMENTS_IN_A_STEP: usize = 10_000;
const TRACE_LINES: usize = 100_000;
/// The peer's port; the one above has the handshake that fills the listener.
const PEER_PORT: u16 = 40_000;
