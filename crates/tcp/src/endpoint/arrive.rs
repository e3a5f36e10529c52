//! A segment arrives (RFC 9293, section 3.10.7).

use super::{
    DropReason, Endpoint, Event, Input, Received, State, measured::Measured, output::PendingReset,
};
use crate::{
    alarm::Alarm,
    policy::AckReason,
    receive::ReverseFacts,
    segment::{Flags, Options, Segment, Timestamps},
    units::Instant,
};

/// What a host without a connection answers: an RST, or nothing to an RST (RFC 9293, section
/// 3.10.7.1).
#[must_use]
pub fn refuse(segment: &Segment) -> Option<Segment> {
    if segment.flags.rst {
        return None;
    }
    let reset = match segment.ack {
        Some(ack) => PendingReset { seq: ack, ack: None },
        None => PendingReset { seq: crate::SeqNumber(0), ack: Some(segment.end()) },
    };
    Some(reset.segment())
}

/// What a listener does with a segment that belongs to no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListenDecision {
    /// It opens a connection.
    Opens,
    /// It answers with an RST, because that connection is gone: [`refuse`] returns the RST.
    Refused,
    /// It does not answer.
    Dropped(DropReason),
}

/// Decides what a listener does with a segment that belongs to no connection (RFC 9293, section
/// 3.10.7.2).
///
/// Without RST, ACK and SYN: "This should not be reached. Drop the segment and return." No RST: that is
/// for ports without a listener.
#[must_use]
pub const fn classify_for_listener(segment: &Segment) -> ListenDecision {
    if segment.flags.rst {
        ListenDecision::Dropped(DropReason::UnacceptableReset)
    } else if segment.ack.is_some() {
        ListenDecision::Refused
    } else if segment.flags.syn {
        ListenDecision::Opens
    } else {
        ListenDecision::Dropped(DropReason::NotASyn)
    }
}

/// What becomes of a segment after the checks that come before its ACK and text.
enum Disposition {
    Drop(DropReason),
    /// Dropped, but answered by an ACK, which tells the peer where we are.
    Acknowledge(DropReason),
    /// The same for what an attacker may have sent (RFC 5961), so rationed.
    Challenge(DropReason),
    Reset,
    Process,
}

impl Endpoint {
    pub(super) fn arrive(&mut self, segment: &Segment, now: Instant) -> Received {
        self.timers.last_receive = now;
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
                self.timers.last_send = now;
                self.take_data_of_syn(segment, now)
            }
            ListenDecision::Refused => {
                self.pending_reset = reset_for(segment);
                Received::Dropped(DropReason::UnacceptableAck)
            }
            ListenDecision::Dropped(reason) => Received::Dropped(reason),
        }
    }

    /// Section 3.10.7.3.
    fn arrive_in_syn_sent(&mut self, segment: &Segment, now: Instant) -> Received {
        // Beyond the SYN it acknowledges data that travelled with it.
        let acked = segment.ack.and_then(|ack| u64::try_from(self.sender.position(ack)).ok());
        let acked = acked.filter(|position| (1..=self.sender.max).contains(position));
        let acks_syn = acked.is_some();
        if segment.ack.is_some() && !acks_syn {
            if !segment.flags.rst {
                self.pending_reset = reset_for(segment);
            }
            return Received::Dropped(DropReason::UnacceptableAck);
        }
        if segment.flags.rst {
            if !acks_syn {
                return Received::Dropped(DropReason::UnacceptableReset);
            }
            self.reset_by_peer(now);
            return Received::TAKEN;
        }
        if !segment.flags.syn {
            return Received::Dropped(DropReason::NotASyn);
        }
        self.take_syn(segment, now);
        let Some(acked) = acked else {
            // Simultaneous open: our SYN goes out again, now with an ACK.
            self.step(Input::Syn);
            self.sender.next = 0;
            self.timers.retransmit(Alarm::OFF);
            return Received::TAKEN;
        };
        self.step(Input::SynAck);
        self.receiver.ask_for_ack(AckReason::Handshake);
        // RFC 7413, section 4.1.3.2: data that was not acknowledged with the SYN is sent again at once.
        self.sender.next = acked;
        self.take_ack(acked, segment, now);
        self.establish(segment, now);
        self.take_text(&without_syn(segment), true, now)
    }

    /// Section 3.10.7.4: all other states.
    fn arrive_in_sequence(&mut self, segment: &Segment, now: Instant) -> Received {
        let repeats_syn = segment.flags.syn && segment.seq == self.receiver.sequence().irs();
        match repeats_syn && self.sender.una == 0 {
            true => self.arrive_with_syn(segment, now),
            false => self.arrive_checked(segment, now),
        }
    }

    /// The peer's SYN once more, before ours is acknowledged.
    #[cold]
    fn arrive_with_syn(&mut self, segment: &Segment, now: Instant) -> Received {
        if segment.ack.is_none() {
            self.sender.next = 0;
            return Received::Dropped(DropReason::RepeatedSyn);
        }
        // Simultaneous open (section 3.5, figure 8): the SYN was counted already.
        let received = self.arrive_checked(&without_syn(segment), now);
        self.set_window_of_syn(segment);
        received
    }

    fn arrive_checked(&mut self, segment: &Segment, now: Instant) -> Received {
        match self.check(segment, now) {
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

    /// The first four checks: sequence number, RST, SYN, presence of ACK.
    fn check(&self, segment: &Segment, now: Instant) -> Disposition {
        let acceptable = self.receiver.sequence().is_acceptable(segment);
        if segment.flags.rst {
            // RFC 5961, section 3.2: only the exact number resets.
            return match segment.seq == self.next_expected() {
                _ if self.ignores_reset() => Disposition::Drop(DropReason::UnacceptableReset),
                true => Disposition::Reset,
                false if acceptable => Disposition::Challenge(DropReason::UnacceptableReset),
                false => Disposition::Drop(DropReason::UnacceptableReset),
            };
        }
        if segment.flags.syn {
            // RFC 5961, section 4.2: "irrespective of the sequence number". Before that, the fourth
            // check: "If the connection was initiated with a passive OPEN, then return this
            // connection to the LISTEN state".
            let starts_again = acceptable && self.state == State::SynReceived && self.passive;
            return match starts_again {
                true => Disposition::Reset,
                false => Disposition::Challenge(DropReason::UnexpectedSyn),
            };
        }
        // RFC 7323, section 3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD
        // silently drop the segment."
        let stamped =
            !self.receiver.sequence().uses_timestamps() || segment.options.timestamps.is_some();
        if !stamped {
            Disposition::Drop(DropReason::NoTimestamp)
        } else if !acceptable {
            Disposition::Acknowledge(DropReason::OutsideWindow)
        } else if self.receiver.sequence().is_older_by_timestamp(segment, now) {
            Disposition::Acknowledge(DropReason::OldTimestamp)
        } else if segment.ack.is_none() {
            Disposition::Drop(DropReason::NoAck)
        } else {
            Disposition::Process
        }
    }

    /// The first check: "If an incoming segment is not acceptable, an acknowledgment should be sent in
    /// reply". Pure ACKs are rationed, lest two ends that disagree answer each other for ever (Linux
    /// `tcp_oow_rate_limited`). A FIN that repeats the peer's restarts 2 MSL.
    fn acknowledge_unacceptable(&mut self, segment: &Segment, now: Instant) {
        match segment.sequence_length() {
            0 => self.challenge(now),
            _ => self.receiver.ask_for_ack(AckReason::Unacceptable),
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
            self.receiver.ask_for_ack(AckReason::Challenge);
        }
    }

    /// The remaining checks: ACK, then URG, text and FIN.
    fn process(&mut self, segment: &Segment, now: Instant) -> Received {
        let Some(ack) = segment.ack else { return Received::Dropped(DropReason::NoAck) };
        let ack = self.sender.position(ack);
        let highest = as_signed(self.sender.max);
        if self.sender.una == 0 {
            if ack < 1 || ack > highest {
                self.pending_reset = reset_for(segment);
                return Received::Dropped(DropReason::UnacceptableAck);
            }
            // A connection that was closed in SYN-RECEIVED is in FIN-WAIT-1 already.
            if self.state == State::SynReceived {
                self.step(Input::AckOfSyn);
            }
        } else {
            // RFC 5961, section 5.2: SND.UNA - MAX.SND.WND <= SEG.ACK <= SND.NXT.
            let oldest = as_signed(self.sender.una) - i64::from(self.sender.max_window);
            if ack < oldest || ack > highest {
                self.challenge(now);
                return Received::Dropped(DropReason::UnacceptableAck);
            }
        }
        self.receiver.note_timestamp(segment, now);
        self.take(u64::try_from(ack).unwrap_or(0), segment, now)
    }

    /// Takes the ACK, which may be that of our SYN, and then the text.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment calls it; the call took 20 instructions"
    )]
    fn take(&mut self, ack: u64, segment: &Segment, now: Instant) -> Received {
        let establishes = self.sender.una == 0;
        let advances = ack > self.sender.una;
        self.take_ack(ack, segment, now);
        if establishes {
            self.establish(segment, now);
        }
        self.take_text(segment, advances, now)
    }

    /// Data and FIN, trimmed to what is new and inside the window, of a segment whose ACK `advances` SND.UNA.
    pub(super) fn take_text(
        &mut self,
        segment: &Segment,
        advances: bool,
        now: Instant,
    ) -> Received {
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
            _ => self.take_data(segment, advances, now),
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

    fn take_data(&mut self, segment: &Segment, advances: bool, now: Instant) -> Received {
        let reverse = ReverseFacts {
            round_trip: &self.round_trip,
            mss: self.sender.mss,
            after_bare_ack: !advances && self.sender.una > 1,
        };
        let received = self.receiver.take_data(segment, &self.config, &reverse, now);
        if self.receiver.sequence().readable() > 0 {
            self.events.push(Event::Readable);
        }
        received
    }

    /// A FIN after the peer's FIN. RFC 9293, section 3.10.7.4, eighth check: "send an acknowledgment for
    /// the FIN", and in TIME-WAIT "Restart the 2 MSL time-wait timeout".
    fn take_second_fin(&mut self, now: Instant) {
        self.receiver.ask_for_ack(AckReason::Fin);
        if self.state == State::TimeWait {
            self.restart_time_wait(now);
        }
    }

    /// The peer's SYN: sequence numbers and options.
    fn take_syn(&mut self, segment: &Segment, now: Instant) {
        self.receiver.take_syn(segment, &self.config, now);
        let both_open = self.state == State::SynSent && segment.ack.is_none();
        self.closing.agree(self.config.policies.close, segment, both_open);
        let Options { mss, window_scale: peer_shift, .. } = segment.options;
        if let Some(shift) = peer_shift.filter(|_| self.config.policies.offer.window_scale) {
            self.sender.window_shift = shift;
        }
        let peer_mss = mss.map_or_else(|| self.ip.default_mss(), |mss| mss.max(MSS_MIN));
        let mss = peer_mss.min(self.config.mss).min(self.sender.path_mss);
        let overhead = match self.receiver.sequence().uses_timestamps() {
            true => Timestamps::WIRE_BYTES,
            false => 0,
        };
        self.sender.mss = u32::from(mss.saturating_sub(overhead).max(1));
        self.receiver.begin_acknowledging(self.sender.mss);
        self.set_window_of_syn(segment);
    }

    /// The window of a SYN is not scaled.
    const fn set_window_of_syn(&mut self, segment: &Segment) {
        self.sender.window = segment.window as u32;
        self.sender.max_window = self.sender.window;
        self.sender.window_from_seq = 0;
    }

    /// The handshake is over: the first window, and the application hears of it.
    fn establish(&mut self, segment: &Segment, now: Instant) {
        self.round_trip.on_established();
        if !self.has_answered_early() {
            self.begin_congestion_control();
        }
        self.begin_model(now);
        self.measured = Measured::new(&self.config.policies);
        self.pace_start(now);
        if !segment.flags.syn {
            self.sender.window = self.sender.window_shift.bytes(segment.window);
            self.sender.max_window = self.sender.max_window.max(self.sender.window);
        }
        // Linux `tcp_finish_connect`: the pause before the first data counts from here.
        self.timers.last_send = now;
        self.events.push(Event::Connected);
    }
}

/// A smaller MSS counts as this one (our choice): a peer must not make us send one byte a segment.
const MSS_MIN: u16 = 64;
/// No stream has 2^63 bytes.
const fn as_signed(position: u64) -> i64 {
    position.cast_signed()
}

fn reset_for(segment: &Segment) -> Option<PendingReset> {
    segment.ack.map(|seq| PendingReset { seq, ack: None })
}

fn without_syn(segment: &Segment) -> Segment {
    Segment { seq: segment.data_start(), flags: Flags { syn: false, ..segment.flags }, ..*segment }
}
