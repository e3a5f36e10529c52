//! A segment arrives (RFC 9293, section 3.10.7).

use super::Connection;
use crate::{
    arrival::{self, Disposition, InSynSent},
    events::Event,
    handshake::{ListenDecision, classify_for_listener, data_of_syn, without_syn},
    policy::AckReason,
    receive::ReverseFacts,
    received::{DropReason, Received},
    segment::Segment,
    send::{Effects, Una},
    state::{Input, State},
    transmit::PendingReset,
    units::Instant,
};

impl Connection {
    /// Takes one segment off the wire.
    #[inline]
    pub(crate) fn arrive(&mut self, segment: &Segment, now: Instant) -> Received {
        self.sender.timers_mut().note_received(now);
        match self.state {
            State::Closed => Received::Dropped(DropReason::NoConnection),
            State::Listen => self.arrive_in_listen(segment, now),
            State::SynSent => self.arrive_in_syn_sent(segment, now),
            _ => self.arrive_in_sequence(segment, now),
        }
    }

    fn arrive_in_listen(&mut self, segment: &Segment, now: Instant) -> Received {
        match classify_for_listener(segment) {
            ListenDecision::Opens => {
                self.take_syn(segment, now);
                self.step(Input::Syn);
                self.sender.timers_mut().note_sent(now);
                self.take_data_of_syn(segment, now)
            }
            ListenDecision::Refused => {
                self.pending_reset = PendingReset::unacceptable(segment);
                Received::Dropped(DropReason::UnacceptableAck)
            }
            ListenDecision::Dropped(reason) => Received::Dropped(reason),
        }
    }

    /// Section 3.10.7.3.
    fn arrive_in_syn_sent(&mut self, segment: &Segment, now: Instant) -> Received {
        let acked = match arrival::check_in_syn_sent(segment, self.sender.sequence()) {
            InSynSent::Drop(reason) => return Received::Dropped(reason),
            InSynSent::Refuse => {
                self.pending_reset = PendingReset::unacceptable(segment);
                return Received::Dropped(DropReason::UnacceptableAck);
            }
            InSynSent::Reset => {
                self.reset_by_peer(now);
                return Received::TAKEN;
            }
            InSynSent::OpensBoth => {
                self.take_syn(segment, now);
                // Our SYN goes out again, now with an ACK.
                self.step(Input::Syn);
                self.sender.sequence_mut().rewind_to(0);
                self.sender.timers_mut().stop_retransmission();
                return Received::TAKEN;
            }
            InSynSent::Opens(acked) => acked,
        };
        self.take_syn(segment, now);
        self.step(Input::SynAck);
        self.receiver.acks_mut().ask(AckReason::Handshake);
        // RFC 7413, section 4.1.3.2: data that was not acknowledged with the SYN is sent again at once.
        self.sender.sequence_mut().rewind_to(acked);
        self.take_ack(acked, segment, now);
        self.establish(segment, now);
        self.take_text(&without_syn(segment), Una::Advances, now)
    }

    /// Section 3.10.7.4: all other states.
    fn arrive_in_sequence(&mut self, segment: &Segment, now: Instant) -> Received {
        let repeats_syn = segment.flags.syn && segment.seq == self.receiver.sequence().irs();
        match repeats_syn && self.sender.sequence().una() == 0 {
            true => self.arrive_with_syn(segment, now),
            false => self.arrive_checked(segment, now),
        }
    }

    /// The peer's SYN once more, before ours is acknowledged.
    #[cold]
    fn arrive_with_syn(&mut self, segment: &Segment, now: Instant) -> Received {
        if segment.ack.is_none() {
            self.sender.sequence_mut().rewind_to(0);
            return Received::Dropped(DropReason::RepeatedSyn);
        }
        // Simultaneous open (section 3.5, figure 8): the SYN was counted already.
        let received = self.arrive_checked(&without_syn(segment), now);
        self.sender.sequence_mut().take_window_of_syn(segment.window);
        received
    }

    fn arrive_checked(&mut self, segment: &Segment, now: Instant) -> Received {
        let (receive, send) = (self.receiver.sequence(), self.sender.sequence());
        let policy = || self.config.policies.reset_in_time_wait;
        let ignores_reset = || self.closing.ignores_reset(self.state, policy());
        match arrival::check(segment, self.state, receive, send, ignores_reset, now) {
            Disposition::Process => self.process(segment, now),
            Disposition::Reset => {
                self.reset_by_peer(now);
                Received::TAKEN
            }
            Disposition::Drop(reason) => Received::Dropped(reason),
            Disposition::Acknowledge(reason) => {
                self.acknowledge_unacceptable(segment, now);
                Received::Dropped(reason)
            }
            Disposition::Challenge(reason) => {
                self.challenge(now);
                Received::Dropped(reason)
            }
        }
    }

    /// The first check: "If an incoming segment is not acceptable, an acknowledgment should be sent in
    /// reply". Pure ACKs are rationed, lest two ends that disagree answer each other for ever (Linux
    /// `tcp_oow_rate_limited`). A FIN that repeats the peer's restarts 2 MSL.
    fn acknowledge_unacceptable(&mut self, segment: &Segment, now: Instant) {
        match segment.sequence_length() {
            0 => self.challenge(now),
            _ => self.receiver.acks_mut().ask(AckReason::Unacceptable),
        }
        self.receiver.note_unacceptable(segment, self.config.policies.timers, now);
        if segment.len > 0 || segment.flags.fin && self.state != State::TimeWait {
            self.receiver.note_duplicate(segment, self.config.policies.d_sack);
        }
        let fin_again = segment.flags.fin && self.receiver.sequence().is_fin_again(segment);
        if self.state == State::TimeWait && fin_again {
            self.restart_time_wait(now);
        }
    }

    fn challenge(&mut self, now: Instant) {
        if self.challenges.take(now) {
            self.receiver.acks_mut().ask(AckReason::Challenge);
        }
    }

    /// The remaining checks: ACK, then URG, text and FIN.
    fn process(&mut self, segment: &Segment, now: Instant) -> Received {
        let Some(ack) = segment.ack else { return Received::Dropped(DropReason::NoAck) };
        let opening = self.sender.sequence().una() == 0;
        let Some(ack) = arrival::check_ack(ack, self.sender.sequence()) else {
            match opening {
                true => self.pending_reset = PendingReset::unacceptable(segment),
                false => self.challenge(now),
            }
            return Received::Dropped(DropReason::UnacceptableAck);
        };
        // A connection that was closed in SYN-RECEIVED is in FIN-WAIT-1 already.
        if opening && self.state == State::SynReceived {
            self.step(Input::AckOfSyn);
        }
        self.receiver.note_timestamp(segment, now);
        self.take(ack, segment, now)
    }

    /// Takes the ACK, which may be that of our SYN, and then the text.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment calls it; the call took 20 instructions"
    )]
    fn take(&mut self, ack: u64, segment: &Segment, now: Instant) -> Received {
        let una = self.sender.sequence().una();
        let (establishes, moves) = (una == 0, Una::after(ack, una));
        self.take_ack(ack, segment, now);
        if establishes {
            self.establish(segment, now);
        }
        self.take_text(segment, moves, now)
    }

    /// The ACK is taken; then follows what it means for the connection.
    #[inline]
    fn take_ack(&mut self, ack: u64, segment: &Segment, now: Instant) {
        let seq = u64::try_from(self.receiver.sequence().position(segment.seq)).unwrap_or(0);
        let effects = self.sender.take_ack(ack, seq, segment, &self.config, now);
        if effects != Effects::NONE {
            self.carry_out(effects, now);
        }
    }

    #[cold]
    fn carry_out(&mut self, effects: Effects, now: Instant) {
        self.duplicate |= effects.has(Effects::DUPLICATE);
        if effects.has(Effects::WRITABLE) {
            self.events.push(Event::Writable);
        }
        if effects.has(Effects::CONGESTION) {
            self.events.push(Event::Congestion);
        }
        if effects.has(Effects::FIN_ACKNOWLEDGED) {
            self.fin_acknowledged(now);
        }
    }

    /// Data and FIN, trimmed to what is new and inside the window.
    fn take_text(&mut self, segment: &Segment, una: Una, now: Instant) -> Received {
        if !self.state.receives() {
            if segment.flags.fin && self.state != State::Closed {
                self.take_second_fin(now);
            }
            return match segment.len {
                0 => Received::TAKEN,
                _ => Received::Dropped(DropReason::BehindFin),
            };
        }
        if segment.flags.urg {
            self.events.push(Event::UrgentIgnored);
        }
        let mut received = match segment.len {
            0 => {
                self.receiver.note_bare_ack(segment);
                if segment.flags.fin {
                    self.receiver.note_duplicate(segment, self.config.policies.d_sack);
                }
                Received::TAKEN
            }
            _ => self.take_data(segment, una, now),
        };
        if segment.flags.fin {
            self.closing.note_fin(segment);
            if self.receiver.note_fin(segment) && received.placement().is_none() {
                received = Received::TAKEN;
            }
        }
        if self.receiver.sequence().is_at_fin() {
            self.take_fin(now);
        }
        received
    }

    fn take_data(&mut self, segment: &Segment, una: Una, now: Instant) -> Received {
        let reverse = ReverseFacts {
            round_trip: self.sender.round_trip(),
            mss: self.sender.sequence().mss(),
            after_bare_ack: una == Una::Stays && self.sender.sequence().una() > 1,
        };
        let received = self.receiver.take_data(segment, &self.config, reverse, now);
        if self.receiver.sequence().readable() > 0 {
            self.events.push(Event::Readable);
        }
        received
    }

    /// A FIN after the peer's FIN. RFC 9293, section 3.10.7.4, eighth check: "send an acknowledgment for
    /// the FIN", and in TIME-WAIT "Restart the 2 MSL time-wait timeout".
    fn take_second_fin(&mut self, now: Instant) {
        self.receiver.acks_mut().ask(AckReason::Fin);
        if self.state == State::TimeWait {
            self.restart_time_wait(now);
        }
    }

    /// The peer's SYN: sequence numbers and options.
    fn take_syn(&mut self, segment: &Segment, now: Instant) {
        self.receiver.take_syn(segment, &self.config, now);
        let both_open = self.state == State::SynSent && segment.ack.is_none();
        // Neither knows then whether the other one has seen its offer: nothing is agreed.
        if !both_open {
            self.closing.agree(self.config.policies.close, segment);
        }
        let policies = &self.config.policies;
        let uses_sack = self.receiver.sequence().uses_sack();
        self.sender.agree_on_sack(uses_sack.then_some(policies.loss_detection));
        let shift = segment.options.window_scale;
        if let Some(shift) = shift.filter(|_| policies.offer.window_scale) {
            self.sender.sequence_mut().scale_window(shift);
        }
        let mss = segment.options.mss;
        let mss = mss.map_or_else(|| self.ip.default_mss(), |mss| mss.max(MSS_MIN));
        let (mss, overhead) = (mss.min(self.config.mss), self.overhead());
        let mss = self.sender.sequence_mut().agree_on_mss(mss, overhead);
        self.receiver.acks_mut().begin(mss);
        self.sender.sequence_mut().take_window_of_syn(segment.window);
    }

    /// A SYN has arrived in LISTEN: takes the data that it brings, if that is allowed. Otherwise it is left
    /// to be sent again (RFC 9293, section 3.10.7.2, allows to queue it).
    fn take_data_of_syn(&mut self, syn: &Segment, now: Instant) -> Received {
        let Some(open) = self.fast_open.as_mut().filter(|_| syn.len > 0) else {
            self.fast_open = None;
            return Received::TAKEN;
        };
        open.take_data(now);
        self.sender.begin_congestion_control(&self.config);
        self.take_text(&data_of_syn(syn), Una::Advances, now)
    }

    /// The handshake is over: the first window, and the application hears of it.
    fn establish(&mut self, segment: &Segment, now: Instant) {
        // What has answered a SYN's data has begun with its window.
        if !(self.answers_early() && self.sender.sequence().una() > 1) {
            self.sender.begin_congestion_control(&self.config);
        }
        self.sender.establish(&self.config, now);
        if !segment.flags.syn {
            self.sender.sequence_mut().take_first_window(segment.window);
        }
        self.sender.timers_mut().note_sent(now);
        self.events.push(Event::Connected);
        self.note_congestion();
    }

    /// The peer has acknowledged our FIN.
    fn fin_acknowledged(&mut self, now: Instant) {
        let from = self.state;
        if from == State::TimeWait {
            return; // An RST brought us here before the ACK came.
        }
        self.step(Input::AckOfFin);
        if from == State::LastAckSwap {
            // Exactly SND.NXT: another number would be challenged (RFC 5961), or ignored (Linux).
            self.pending_reset = Some(self.reset_in_sequence());
        }
        self.closed_both_ways(from, now);
    }

    /// The peer's FIN is next in sequence.
    fn take_fin(&mut self, now: Instant) {
        self.receiver.take_fin();
        self.events.push(Event::PeerClosed);
        let from = self.state;
        self.step(Input::Fin);
        self.closed_both_ways(from, now);
    }

    /// An acceptable RST.
    fn reset_by_peer(&mut self, now: Instant) {
        let from = self.state;
        if from == State::SynReceived && self.sender.sequence().is_passive() {
            self.step(Input::ResetOfPassiveOpen);
            self.forget_peer();
            return;
        }
        self.step(Input::Reset);
        if self.state == State::TimeWait {
            // It may be the answer to our FIN of a peer that had seen it: then nothing is lost. Data
            // that is not acknowledged may be.
            let sequence = self.sender.sequence();
            let lost = sequence.una() < sequence.written_end();
            let event = if lost { Event::Reset } else { Event::Closed };
            self.enter_time_wait(from, event, now);
        } else {
            let orderly = from == State::TimeWait;
            self.finish(if orderly { Event::Closed } else { Event::Reset });
        }
    }
}

/// A smaller MSS counts as this one (our choice): a peer must not make us send one byte a segment.
const MSS_MIN: u16 = 64;
