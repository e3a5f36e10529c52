//! One end of one connection: the state machine, and what its parts have decided, carried out.
//!
//! | module | one idea |
//! | --- | --- |
//! | `arrive` | a segment arrives (RFC 9293, section 3.10.7) |
//! | `transmit` | the next segment is asked for |
//!
//! Inside, sequence numbers are *positions*: 64-bit and unwrapped, 0 for the SYN, 1 for the first
//! byte of the stream. The two sequence spaces, `send::sequence` and `receive::sequence`, convert them from and to the 32-bit
//! circle.
//!
//! Not here: what is counted, which is the endpoint's.

mod arrive;
mod transmit;

use alloc::{boxed::Box, sync::Arc};

use crate::{
    alarm::Alarm,
    arrival,
    challenge::Challenges,
    close::Closing,
    config::Config,
    congestion::{CongestionEvent, Inherited, Windows},
    events::{Event, Events},
    handshake::FastOpen,
    path_mtu::{self, PathMtuIgnored, PathMtuReport},
    policy::BufferTuning,
    receive::Receiver,
    segment::{Segment, Timestamps},
    send::{AfterTimeout, Sender},
    seq::SeqNumber,
    state::{Input, State},
    transmit::PendingReset,
    units::{Instant, IpVersion},
    wait::{Deadline, Timer},
};

/// One end of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    config: Arc<Config>,
    state: State,
    ip: IpVersion,
    sender: Sender,
    receiver: Receiver,
    closing: Closing,
    challenges: Challenges,
    events: Events,
    pending_reset: Option<PendingReset>,
    /// A duplicate ACK has arrived since the counters have asked.
    duplicate: bool,
    /// If data may travel with the SYN.
    fast_open: Option<Box<FastOpen>>,
}

impl Connection {
    /// In CLOSED.
    #[inline]
    pub(crate) fn new(config: Arc<Config>, iss: SeqNumber) -> Self {
        Self {
            state: State::Closed,
            ip: IpVersion::V4,
            sender: Sender::new(iss, &config),
            receiver: Receiver::new(&config),
            closing: Closing::NONE,
            challenges: Challenges::NONE,
            events: Events::default(),
            pending_reset: None,
            duplicate: false,
            fast_open: None,
            config,
        }
    }

    /// Opens actively.
    pub(crate) fn connect(&mut self, now: Instant) {
        self.step(Input::ActiveOpen);
        self.sender.timers_mut().note_sent(now);
    }

    /// Waits for a connection.
    pub(crate) fn listen(&mut self) {
        self.step(Input::PassiveOpen);
        self.sender.sequence_mut().listen();
    }

    /// Back in LISTEN, nothing of the peer is left.
    fn forget_peer(&mut self) {
        let Self { state, ip, .. } = *self;
        *self =
            Self { state, ip, ..Self::new(Arc::clone(&self.config), self.sender.sequence().iss()) };
        self.sender.sequence_mut().listen();
    }

    #[inline]
    pub(crate) const fn state(&self) -> State {
        self.state
    }

    #[inline]
    pub(crate) const fn sender(&self) -> &Sender {
        &self.sender
    }

    #[inline]
    pub(crate) const fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    #[inline]
    pub(crate) const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    #[inline]
    pub(crate) const fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration, to be changed: it is shared between connections until one of them does so.
    pub(crate) fn config_mut(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.config)
    }

    pub(crate) const fn closing(&self) -> &Closing {
        &self.closing
    }

    pub(crate) const fn set_ip_version(&mut self, ip: IpVersion) {
        self.ip = ip;
    }

    /// Takes over what a host remembers of its other connections.
    pub(crate) fn inherit(&mut self, inherited: &Inherited) {
        self.sender.inherit(inherited, &self.config);
    }

    /// Lets data travel with the SYN, if the policy has it and nothing was sent or received.
    pub(crate) fn allow_data_with_syn(&mut self) {
        let unused = self.sender.sequence().max() == 0
            && matches!(self.state, State::SynSent | State::Listen);
        if unused && self.config.policies.open.sends_data_with_syn() {
            let since = self.sender.timers().last_send();
            self.fast_open = Some(Box::new(FastOpen::new(since)));
        }
    }

    /// Every verb of the application begins here.
    pub(crate) const fn begin_call(&mut self) {
        self.sender.sequence_mut().begin_call();
    }

    /// Lets timers fire.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self.sender.handle_timeout(self.state, &self.config, now) {
            AfterTimeout::GoesOn => self.note_congestion(),
            // No RST: RFC 9293, section 3.10.8: "delete the TCB, enter the CLOSED state, and return", and so does Linux.
            AfterTimeout::GivesUp => {
                self.step(Input::Expired);
                self.finish(Event::TimedOut(Timer::UserTimeout));
            }
            AfterTimeout::EndsTimeWait => self.step(Input::Expired),
        }
    }

    /// Whether a router's report is about something that is in flight.
    pub(crate) fn has_in_flight(&self, report: PathMtuReport) -> bool {
        let sequence = self.sender.sequence();
        u64::try_from(sequence.position(report.sequence))
            .is_ok_and(|position| (sequence.una()..sequence.max()).contains(&position))
    }

    /// Limits segments to packets of `mtu` bytes, IP header included.
    pub(crate) fn limit_path_mtu(&mut self, mtu: u32) -> Result<(), PathMtuIgnored> {
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

    /// Takes `bytes` to send; how many the send buffer has room for.
    #[inline]
    pub(crate) fn write(&mut self, bytes: u32) -> u32 {
        let open = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        self.sender.note_gap();
        if open { self.sender.write(bytes, &self.config) } else { 0 }
    }

    /// Gives `bytes` of the received stream away; how many there were.
    #[inline]
    pub(crate) fn read(&mut self, bytes: u32) -> u32 {
        let taken = self.receiver.sequence_mut().read(bytes);
        if taken > 0 && self.state.receives() {
            self.receiver.on_read(self.config.policies.ack, self.sender.sequence().mss());
        }
        taken
    }

    /// Closes the sending direction.
    pub(crate) fn close(&mut self) {
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

    /// Gives the connection up.
    pub(crate) fn abort(&mut self) {
        if self.state == State::Closed {
            return;
        }
        if self.state.receives() || self.state == State::CloseWait {
            self.pending_reset = Some(self.reset_in_sequence());
        }
        self.step(Input::Abort);
        self.finish(Event::Closed);
    }

    /// The send buffer has this size from now on.
    pub(crate) fn set_send_buffer(&mut self, bytes: u32) {
        let had_room = self.sender.has_room(&self.config);
        let config = self.config_mut();
        config.send_buffer = bytes;
        config.policies.send_tuning = BufferTuning::Off;
        if !had_room && self.sender.has_room(&self.config) {
            self.events.push(Event::Writable);
        }
    }

    /// Whoever sets the congestion window hears of it, if there is something to hear.
    fn note_congestion(&mut self) {
        if self.sender.has_congestion_events() {
            self.events.push(Event::Congestion);
        }
    }

    /// What a congestion control that is set from outside hears, oldest first.
    pub(crate) fn take_congestion_event(&mut self) -> Option<CongestionEvent> {
        self.sender.take_congestion_event()
    }

    /// Sets its windows; `false` for all other controls. A larger window may give the send buffer room.
    pub(crate) fn set_windows(&mut self, windows: Windows) -> bool {
        let had_room = self.sender.has_room(&self.config);
        let set = self.sender.set_windows(windows);
        if !had_room && self.sender.has_room(&self.config) {
            self.events.push(Event::Writable);
        }
        set
    }

    /// Whether a duplicate ACK has arrived since the last time.
    pub(crate) const fn take_duplicate(&mut self) -> bool {
        core::mem::replace(&mut self.duplicate, false)
    }

    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.take()
    }

    /// When a timer is due, and which.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Deadline> {
        self.sender.timers().earliest(self.receiver.acks().due())
    }

    /// Whether a SYN may reopen this connection out of TIME-WAIT.
    pub(crate) fn reopens(&self, segment: &Segment) -> bool {
        self.state == State::TimeWait && arrival::reopens(segment, self.receiver.sequence())
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
        PendingReset::in_sequence(seq, self.receiver.sequence().next_number())
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
            Some(open) => open.time_wait(&self.config, self.sender.round_trip().rto(), now),
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
    use crate::Policies;

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "no arrow from LISTEN on Fin"))]
    fn an_input_without_an_arrow_is_our_mistake_and_changes_nothing() {
        let mut connection = Connection::new(Config::new(Policies::RFC).into(), SeqNumber(1));
        connection.listen();
        connection.step(Input::Fin);
        assert_eq!(connection.state(), State::Listen);
    }
}
