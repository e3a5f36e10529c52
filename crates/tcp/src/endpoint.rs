//! One end of one connection.
//!
//! | file | one idea |
//! | --- | --- |
//! | `arrive` | a segment arrives (RFC 9293, section 3.10.7) |
//! | `resume` | a connection whose SYN-ACK was a cookie |
//! | `closing` | how it ends, and which end waits in TIME-WAIT |
//! | `acknowledged` | what an ACK means for what we have sent |
//! | `early` | data that travels with the SYN (RFC 1644, 7413) |
//! | `recovery`, `scoreboard` | what is sent again (RFC 5681, 6582, 6675) |
//! | `flight` | the segments that are out, one by one |
//! | `rack`, `probe` | losses found by time, and probes for the tail of a flight (RFC 8985) |
//! | `model` | what BBR learns of the path from an ACK |
//! | `episode` | how the window comes down meanwhile, and whether that was right (RFC 9937, 5682, 3522) |
//! | `poll`, `output` | what may be sent now, and if nothing, why |
//! | `paced` | segments that leave at a rate |
//! | `measured` | what some policies measure |
//! | `usage` | how much of the congestion window was used |
//! | `sender` | the send sequence space |
//! | `heritage` | what connections to one host take over from each other (RFC 9040) |
//! | `timers` | what happens when time passes |
//! | `path_mtu` | what a router says about the size of packets (RFC 1191, 8201, 5927) |
//! | `settings` | what an application changes on an open connection |
//! | `inspect`, `counters` | what can be seen from outside, and what is counted for who asks |
//!
//! Inside, sequence numbers are *positions*: 64-bit and unwrapped, 0 for the SYN, 1 for the first
//! byte of the stream. Only `arrive` and `output` see the 32-bit circle.

mod acknowledged;
mod arrive;
mod closing;
mod counters;
mod deferred;
mod early;
mod episode;
mod flight;
mod heritage;
mod inspect;
mod measured;
mod model;
mod output;
mod paced;
mod path_mtu;
mod poll;
mod probe;
mod rack;
mod recovery;
mod resume;
mod scoreboard;
mod sender;
mod settings;
mod timers;
mod usage;

pub use crate::{
    config::Config,
    events::Event,
    received::{DropReason, Placement, Received},
    state::{Input, State},
};
pub use arrive::{ListenDecision, classify_for_listener, refuse};
pub use counters::Counters;
pub use inspect::{Negotiated, RecoveryPhase};
pub use output::Transmit;
pub use path_mtu::{PathMtuIgnored, PathMtuReport};

use alloc::{boxed::Box, sync::Arc};

use crate::{
    challenge::Challenges,
    congestion::{Controller, Windows},
    events::Events,
    receive::Receiver,
    round_trip::RoundTrip,
    segment::Segment,
    seq::SeqNumber,
    units::{Instant, IpVersion},
    wait::Deadline,
};
use closing::Closing;
use early::Early;
use flight::Flight;
use measured::Measured;
use output::PendingReset;
use paced::PacedSender;
use rack::Rack;
use recovery::Recovery;
use sender::Sender;
use timers::Timers;

/// One end of one connection. It owns no socket, no clock, no thread and no payload.
///
/// The driver's contract: after any `handle_*` call, or any call by the application, drain
/// [`poll_transmit`](Self::poll_transmit), then [`poll_event`](Self::poll_event), and sleep until
/// [`poll_timeout`](Self::poll_timeout). Calling more often than needed is harmless.
///
/// ```
/// use ackwise_tcp::{Config, Endpoint, Instant, Policies, SeqNumber, State};
///
/// let now = Instant::EPOCH;
/// let config = Config::new(Policies::RFC);
/// let mut client = Endpoint::connect(config, SeqNumber(1000), now);
/// let mut server = Endpoint::listen(config, SeqNumber(5000));
/// // SYN, SYN-ACK, ACK: each end's segments are handed to the other.
/// while let Some(transmit) = client.poll_transmit(now) {
///     server.handle_segment(&transmit.segment, now);
///     while let Some(transmit) = server.poll_transmit(now) {
///         client.handle_segment(&transmit.segment, now);
///     }
/// }
/// assert_eq!((client.state(), server.state()), (State::Established, State::Established));
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Arc<Config>,
    state: State,
    /// The connection came from LISTEN, so an RST before it is established returns it there.
    passive: bool,
    ip: IpVersion,
    sender: Sender,
    receiver: Receiver,
    round_trip: RoundTrip,
    congestion: Controller,
    recovery: Recovery,
    closing: Closing,
    timers: Timers,
    challenges: Challenges,
    events: Events,
    pending_reset: Option<PendingReset>,
    counters: Option<Box<Counters>>,
    /// While what is sent is paced.
    paced: Option<Box<PacedSender>>,
    /// If a policy has something measured.
    measured: Option<Box<Measured>>,
    /// If data may travel with the SYN.
    early: Option<Box<Early>>,
    /// The segments that are out, if a policy needs them.
    flight: Option<Box<Flight>>,
    rack: Rack,
}

impl Endpoint {
    /// Opens a connection actively; the SYN comes out of [`poll_transmit`](Self::poll_transmit).
    ///
    /// `iss` is the initial send sequence number; choosing it is the driver's duty (RFC 9293,
    /// section 3.4.1). Endpoints that are given the same [`Arc`] share their configuration.
    #[must_use]
    pub fn connect(config: impl Into<Arc<Config>>, iss: SeqNumber, now: Instant) -> Self {
        let mut endpoint = Self::closed(config.into(), iss);
        endpoint.step(Input::ActiveOpen);
        endpoint.timers.last_send = now;
        endpoint
    }

    /// Waits for a connection. A driver that serves many creates one for each SYN.
    #[must_use]
    pub fn listen(config: impl Into<Arc<Config>>, iss: SeqNumber) -> Self {
        let mut endpoint = Self::closed(config.into(), iss);
        endpoint.step(Input::PassiveOpen);
        endpoint.passive = true;
        endpoint
    }

    /// Back in LISTEN, nothing of the peer is left.
    fn forget_peer(&mut self) {
        let Self { state, passive, ip, .. } = *self;
        let config = Arc::clone(&self.config);
        let counters = self.counters.take();
        *self = Self { state, passive, ip, counters, ..Self::closed(config, self.sender.iss) };
    }

    fn closed(config: Arc<Config>, iss: SeqNumber) -> Self {
        let mss = u32::from(config.mss);
        let start = Windows { congestion: mss, threshold: u32::MAX };
        Self {
            state: State::Closed,
            passive: false,
            ip: IpVersion::V4,
            sender: Sender::new(iss, mss),
            receiver: Receiver::new(&config),
            round_trip: RoundTrip::new(config.policies.timers),
            congestion: config.policies.control(start, mss),
            recovery: Recovery::default(),
            closing: Closing::NONE,
            timers: Timers::default(),
            challenges: Challenges::NONE,
            events: Events::default(),
            pending_reset: None,
            counters: None,
            paced: None,
            measured: None,
            early: None,
            flight: None,
            rack: Rack::default(),
            config,
        }
    }

    /// Takes one segment off the wire; says where its data belongs, or why the segment was dropped.
    ///
    /// In CLOSED nothing is taken: see [`refuse`].
    pub fn handle_segment(&mut self, segment: &Segment, now: Instant) -> Received {
        self.begin_call();
        if self.counters.is_some() {
            return self.arrive_and_count(segment, now);
        }
        self.arrive(segment, now)
    }

    #[cold]
    fn arrive_and_count(&mut self, segment: &Segment, now: Instant) -> Received {
        let received = self.arrive(segment, now);
        self.count_received(segment, received);
        received
    }

    /// Lets timers fire. `now` may be late, never early; an idle call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.begin_call();
        self.fire_timers(now);
    }

    /// Gives `bytes` to send; returns how many the send buffer takes.
    pub fn write(&mut self, bytes: u32) -> u32 {
        self.begin_call();
        let open = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        self.note_gap();
        if open { self.sender.write(bytes, self.send_buffer()) } else { 0 }
    }

    /// Takes `bytes` of the received stream; returns how many there were.
    pub fn read(&mut self, bytes: u32) -> u32 {
        self.begin_call();
        let taken = self.receiver.read(bytes);
        if taken > 0 && self.state.receives() {
            self.receiver.on_read(self.config.policies.ack, self.sender.mss);
        }
        taken
    }

    /// Gives the connection up, with an RST where one end may still send (RFC 9293, section 3.10.5). A
    /// reader who is gone before the peer has finished is such a case (section 3.6.1, SHLD-3).
    pub fn abort(&mut self) {
        self.begin_call();
        if self.state == State::Closed {
            return;
        }
        if self.state.receives() || self.state == State::CloseWait {
            self.pending_reset = Some(self.reset_in_sequence());
        }
        self.step(Input::Abort);
        self.finish(Event::Closed);
    }

    /// Acknowledges at once what was received and not yet acknowledged (`TCP_QUICKACK`).
    pub fn acknowledge_now(&mut self) {
        self.begin_call();
        self.receiver.acknowledge_now();
    }

    /// What the application should hear about, each kind at most once until it is taken.
    #[must_use]
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.take()
    }

    /// When to come back if nothing else happens, and which timer asks.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        self.timers.earliest(self.receiver.ack_due())
    }

    /// Whether a SYN may reopen this connection out of TIME-WAIT: then the new connection's initial
    /// send sequence number must lie after the number returned.
    ///
    /// RFC 9293, section 3.6.1 (MAY-2), and RFC 6191, section 2: the SYN's timestamp is newer, or
    /// without timestamps its sequence number is beyond all that was received. The rest of MAY-2 is the
    /// driver's: it "returns to TIME-WAIT state if the SYN turns out to be an old duplicate", which is to
    /// say, if the new endpoint returns to LISTEN.
    #[must_use]
    pub fn reopens(&self, segment: &Segment) -> Option<SeqNumber> {
        let syn_alone = segment.flags.syn && segment.ack.is_none() && !segment.flags.rst;
        if self.state != State::TimeWait || !syn_alone {
            return None;
        }
        let newer = match (self.receiver.sequence().timestamp(), segment.options.timestamps) {
            (Some(recent), Some(offered)) if offered.value != recent => {
                SeqNumber(recent).precedes(SeqNumber(offered.value))
            }
            _ => self.next_expected().precedes(segment.seq),
        };
        newer.then(|| self.sender.number(self.sender.max))
    }

    /// Every verb begins here: BSD finds out once per call whether the connection is idle.
    const fn begin_call(&mut self) {
        self.sender.outstanding_at_call = None;
    }

    /// The connection is over for the application.
    fn finish(&mut self, event: Event) {
        self.events.push(event);
        if self.state == State::Closed {
            (self.paced, self.measured, self.flight) = (None, None, None);
            self.timers.stop();
            self.receiver.forget_acks();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Policies, policy::Offer};

    #[test]
    fn an_idle_endpoint_takes_at_most_512_bytes() {
        let size = size_of::<Endpoint>();
        assert!(size <= 512, "an endpoint takes {size} bytes");
    }

    #[test]
    fn the_state_of_bbr_takes_at_most_188_bytes_more() {
        assert!(size_of::<crate::congestion::Bbr>() <= 188);
    }

    #[test]
    fn data_behind_a_gap_is_not_readable() {
        let now = Instant::EPOCH;
        let config = Config::new(Policies { offer: Offer::NONE, ..Policies::RFC });
        let mut endpoint = Endpoint::listen(config, SeqNumber(5_000));
        let syn = Segment { seq: SeqNumber(0), flags: Flags::SYN, ..Segment::default() };
        assert_eq!(endpoint.handle_segment(&syn, now), Received::Taken(None));
        assert!(endpoint.poll_transmit(now).is_some_and(|transmit| transmit.segment.flags.syn));
        let data = |seq, len| Segment {
            seq: SeqNumber(seq),
            ack: Some(SeqNumber(5_001)),
            len,
            ..Segment::default()
        };
        for (segment, events) in [
            (data(1, 0), [Some(Event::Connected), None]),
            (data(101, 100), [None, None]),
            (data(1, 100), [Some(Event::Readable), None]),
        ] {
            let _ = endpoint.handle_segment(&segment, now);
            assert_eq!([endpoint.poll_event(), endpoint.poll_event()], events, "{segment:?}");
        }
    }
}
