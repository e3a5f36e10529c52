//! One end of one connection: the state machine, and what its parts have decided, carried out.
//!
//! | module | one idea |
//! | --- | --- |
//! | `arrive` | a segment arrives (RFC 9293, section 3.10.7) |
//! | `transmit` | a driver asks for the next segment |
//! | `settings` | what an application changes on an open connection |
//! | `inspect` | what can be seen from outside |
//!
//! The parts are modules beside this one, with private fields:
//!
//! | module | one idea |
//! | --- | --- |
//! | `handshake` | how a connection opens, and data that travels with the SYN (RFC 1644, 7413) |
//! | `send` | what was sent, what became of it, and what may be sent now |
//! | `receive` | what has arrived and was read, and when it is acknowledged |
//! | `close`, `state` | which end waits in TIME-WAIT; the state machine, as a table |
//! | `challenge` | how many challenge ACKs may leave (RFC 5961) |
//! | `path_mtu` | what a router says about the size of packets (RFC 1191, 8201, 5927) |
//! | `config`, `events`, `received`, `transmit`, `counters` | what goes in, and what comes out |
//!
//! Inside, sequence numbers are *positions*: 64-bit and unwrapped, 0 for the SYN, 1 for the first
//! byte of the stream. The two sequence spaces, `send::sequence` and `receive::sequence`, convert them from and to the 32-bit
//! circle.

mod arrive;
mod inspect;
mod settings;
mod transmit;

pub use crate::{
    config::Config,
    counters::Counters,
    events::Event,
    handshake::{ListenDecision, classify_for_listener, refuse},
    path_mtu::{PathMtuIgnored, PathMtuReport},
    received::{DropReason, Placement, Received},
    state::{Input, State},
    transmit::Transmit,
};
pub use inspect::{Negotiated, RecoveryPhase};

use alloc::{boxed::Box, sync::Arc};

use crate::{
    alarm::Alarm,
    challenge::Challenges,
    close::Closing,
    congestion::Inherited,
    events::Events,
    handshake::FastOpen,
    path_mtu,
    receive::Receiver,
    segment::{Segment, Timestamps},
    send::{AfterTimeout, Sender},
    seq::SeqNumber,
    transmit::PendingReset,
    units::{Instant, IpVersion},
    wait::{Deadline, Timer},
};

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
    ip: IpVersion,
    sender: Sender,
    receiver: Receiver,
    closing: Closing,
    challenges: Challenges,
    events: Events,
    pending_reset: Option<PendingReset>,
    counters: Option<Box<Counters>>,
    /// If data may travel with the SYN.
    fast_open: Option<Box<FastOpen>>,
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
        endpoint.sender.timers_mut().note_sent(now);
        endpoint
    }

    /// Waits for a connection. A driver that serves many creates one for each SYN.
    #[must_use]
    pub fn listen(config: impl Into<Arc<Config>>, iss: SeqNumber) -> Self {
        let mut endpoint = Self::closed(config.into(), iss);
        endpoint.step(Input::PassiveOpen);
        endpoint.sender.sequence_mut().listen();
        endpoint
    }

    /// Back in LISTEN, nothing of the peer is left.
    fn forget_peer(&mut self) {
        let Self { state, ip, .. } = *self;
        let iss = self.initial_sequence();
        let counters = self.counters.take();
        *self = Self { state, ip, counters, ..Self::closed(Arc::clone(&self.config), iss) };
        self.sender.sequence_mut().listen();
    }

    fn closed(config: Arc<Config>, iss: SeqNumber) -> Self {
        Self {
            state: State::Closed,
            ip: IpVersion::V4,
            sender: Sender::new(iss, &config),
            receiver: Receiver::new(&config),
            closing: Closing::NONE,
            challenges: Challenges::NONE,
            events: Events::default(),
            pending_reset: None,
            counters: None,
            fast_open: None,
            config,
        }
    }

    /// Lets data travel with the SYN, if the policy has it: the driver says that this end and its peer
    /// know each other, as the TAO test (RFC 1644, section 2.3) or a cookie (RFC 7413, section 4.1)
    /// would show. Only before anything was sent or received.
    ///
    /// The SYN of the end that opens then leaves with the first data that is written, and not before.
    pub fn allow_data_with_syn(&mut self) {
        let unused = self.sender.sequence().max() == 0
            && matches!(self.state, State::SynSent | State::Listen);
        if unused && self.config.policies.open.sends_data_with_syn(true) {
            let since = self.sender.timers().last_send();
            self.fast_open = Some(Box::new(FastOpen::new(since)));
        }
    }

    /// Takes over what a host remembers of its other connections (RFC 9040), instead of the initial
    /// window and the initial RTO. Only before the handshake.
    pub fn inherit(&mut self, inherited: &Inherited) {
        self.sender.inherit(inherited, &self.config);
    }

    /// Brings an endpoint from LISTEN to where it was when another one had answered `syn`: one whose sequence number
    /// was a cookie ([`driver::SynCookies`](crate::driver::SynCookies)).
    ///
    /// When that was, nobody knows, so the SYN-ACK's round trip is not measured (Linux `cookie_v4_check`:
    /// `snt_synack` is 0).
    pub(crate) fn resume(&mut self, syn: &Segment, now: Instant) {
        let _ = self.handle_segment(syn, now);
        let _ = self.poll_transmit(now);
        self.sender.sequence_mut().stop_timing();
    }

    /// Takes one segment off the wire; says where its data belongs, or why the segment was dropped.
    ///
    /// In CLOSED nothing is taken: see [`refuse`].
    pub fn handle_segment(&mut self, segment: &Segment, now: Instant) -> Received {
        self.sender.sequence_mut().begin_call();
        if self.counters.is_some() {
            return self.arrive_and_count(segment, now);
        }
        self.arrive(segment, now)
    }

    #[cold]
    fn arrive_and_count(&mut self, segment: &Segment, now: Instant) -> Received {
        let received = self.arrive(segment, now);
        if let Some(counters) = &mut self.counters {
            counters.received(segment, received);
            counters.lost(self.sender.take_loss_events());
        }
        received
    }

    /// Lets timers fire. `now` may be late, never early; an idle call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sender.sequence_mut().begin_call();
        match self.sender.handle_timeout(self.state, &self.config, now) {
            AfterTimeout::GoesOn => {}
            // No RST: RFC 9293, section 3.10.8: "delete the TCB, enter the CLOSED state, and return", and so does Linux.
            AfterTimeout::GivesUp => {
                self.step(Input::Expired);
                self.finish(Event::TimedOut(Timer::UserTimeout));
            }
            AfterTimeout::EndsTimeWait => self.step(Input::Expired),
        }
        if let Some(counters) = &mut self.counters {
            counters.lost(self.sender.take_loss_events());
        }
    }

    /// Takes a router's report. If it is believed, segments become smaller, and what is in flight is
    /// sent again, one segment first: RFC 1191, section 6.4: such a retransmission "should not change
    /// the congestion window" but "should, however, trigger the slow-start mechanism".
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn handle_path_mtu(&mut self, report: PathMtuReport) -> Result<(), PathMtuIgnored> {
        self.sender.sequence_mut().begin_call();
        let sequence = self.sender.sequence();
        let in_flight = u64::try_from(sequence.position(report.sequence))
            .is_ok_and(|position| (sequence.una()..sequence.max()).contains(&position));
        if !in_flight {
            return Err(PathMtuIgnored::NotInFlight);
        }
        self.limit_path_mtu(report.mtu)
    }

    /// Limits segments to packets of `mtu` bytes, IP header included: what a driver remembers of the
    /// path. On an open connection, what is in flight is sent again, as after a report. A limit never
    /// grows.
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn limit_path_mtu(&mut self, mtu: u32) -> Result<(), PathMtuIgnored> {
        self.sender.sequence_mut().begin_call();
        let mss = path_mtu::mss(mtu, self.ip)?;
        match self.sender.limit_mss(mss, self.overhead()) {
            true => Ok(()),
            false => Err(PathMtuIgnored::NotSmaller),
        }
    }

    /// Bytes of options that each segment has.
    const fn overhead(&self) -> u16 {
        match self.receiver.sequence().uses_timestamps() {
            true => Timestamps::WIRE_BYTES,
            false => 0,
        }
    }

    /// Gives `bytes` to send; returns how many the send buffer takes.
    pub fn write(&mut self, bytes: u32) -> u32 {
        self.sender.sequence_mut().begin_call();
        let open = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        self.sender.note_gap();
        if open { self.sender.write(bytes, &self.config) } else { 0 }
    }

    /// Takes `bytes` of the received stream; returns how many there were.
    pub fn read(&mut self, bytes: u32) -> u32 {
        self.sender.sequence_mut().begin_call();
        let taken = self.receiver.sequence_mut().read(bytes);
        if taken > 0 && self.state.receives() {
            self.receiver.on_read(self.config.policies.ack, self.segment_size());
        }
        taken
    }

    /// Closes the sending direction: a FIN after all that is written. Receiving goes on.
    pub fn close(&mut self) {
        self.sender.sequence_mut().begin_call();
        let input = self.closing.input(self.config.policies.close);
        if self.state.after(input).is_none() {
            return;
        }
        self.step(input);
        if self.state == State::Closed {
            self.finish(Event::Closed);
        } else {
            self.sender.sequence_mut().close();
        }
    }

    /// Gives the connection up, with an RST where one end may still send (RFC 9293, section 3.10.5). A
    /// reader who is gone before the peer has finished is such a case (section 3.6.1, SHLD-3).
    pub fn abort(&mut self) {
        self.sender.sequence_mut().begin_call();
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
        self.sender.sequence_mut().begin_call();
        self.receiver.acks_mut().ask_if_pending();
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
        self.sender.timers().earliest(self.receiver.acks().due())
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
        newer.then(|| self.next_sequence())
    }

    /// Follows the arrow of the state machine: the only place where the state changes.
    ///
    /// An input that has no arrow from here is our mistake; without debug assertions the state stays.
    fn step(&mut self, input: Input) {
        let next = self.closing.next_state(self.state, input);
        debug_assert!(next.is_some(), "no arrow from {} on {input:?}", self.state.name());
        self.state = next.unwrap_or(self.state);
    }

    /// An RST with the next sequence number, or with the last one that the peer's window allows (Linux
    /// `tcp_acceptable_seq`): a probe of a closed window goes beyond it.
    fn reset_in_sequence(&self) -> PendingReset {
        let sequence = self.sender.sequence();
        // A window does not count the SYN.
        let seq = sequence.number(sequence.max().min(sequence.window_end()));
        PendingReset::in_sequence(seq, self.next_expected())
    }

    /// If nothing more can arrive or leave, 2 MSL begin here, or it is over.
    fn closed_both_ways(&mut self, from: State, now: Instant) {
        match self.state {
            State::TimeWait => self.enter_time_wait(from, Event::Closed, now),
            State::Closed => {
                // The FIN of a peer that waits in our place wants its ACK: it is our last segment.
                let last = self.receiver.acks().asked().filter(|_| from != State::LastAck);
                self.finish(Event::Closed);
                if let Some(reason) = last {
                    self.receiver.acks_mut().ask(reason);
                }
            }
            _ => {}
        }
    }

    /// 2 MSL begin; nothing else remains to be done.
    fn enter_time_wait(&mut self, from: State, event: Event, now: Instant) {
        self.closing.enter_time_wait(from);
        self.sender.timers_mut().stop_retransmission();
        self.restart_time_wait(now);
        self.events.push(event);
    }

    fn restart_time_wait(&mut self, now: Instant) {
        let span = match &self.fast_open {
            None => self.config.time_wait,
            Some(open) => open.time_wait(&self.config, self.rto(), now),
        };
        self.sender.timers_mut().wait_for(Timer::TimeWait, Alarm::at(now + span));
    }

    /// The connection is over for the application.
    fn finish(&mut self, event: Event) {
        self.events.push(event);
        if self.state == State::Closed {
            self.sender.stop();
            self.receiver.acks_mut().clear();
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
    #[cfg_attr(debug_assertions, should_panic(expected = "no arrow from LISTEN on Fin"))]
    fn an_input_without_an_arrow_is_our_mistake_and_changes_nothing() {
        let mut endpoint = Endpoint::listen(Config::new(Policies::RFC), SeqNumber(1));
        endpoint.step(Input::Fin);
        assert_eq!(endpoint.state(), State::Listen);
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
