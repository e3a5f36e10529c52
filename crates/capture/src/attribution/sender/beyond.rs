//! What may have happened where the vantage point sees nothing: between it and either end.

use ackwise_tcp::{Instant, Wait};

use super::{Departure, Left, PathDelays, SeenData, Sender};
use crate::attribution::{
    LossKind, Nanos, Rule,
    acknowledgement::Arrived,
    clock::{SenderClock, is_later},
    gap::{LONGEST_ACK_DELAY, Missing},
    hold::{Facts, Hold, Loss},
    stall::Stall,
};

impl Sender {
    /// Linux (TCP_DELACK_MIN), and Windows and BSD.
    const ACK_DELAYS: [Nanos; 2] = [Nanos::from_millis(40), Nanos::from_millis(200)];
    /// Linux `TCP_RTO_MIN`. RFC 6298, section 2.4, asks for 1 s.
    const LEAST_TIMEOUT: Nanos = Nanos::from_millis(200);
    /// An ACK of this many full segments shows that they arrived together. Our choice: twice what RFC 5681,
    /// section 4.2, allows a receiver to leave unacknowledged.
    const ONE_GO: u64 = 4;

    /// What shows that the path delivered nothing before this segment was sent.
    pub(super) fn stall(
        &self,
        hold: &Hold,
        facts: &Facts,
        data: &SeenData,
        latest: Option<&Arrived>,
        delays: &PathDelays,
    ) -> Stall {
        let long = Stall::least(delays.round_trip);
        if hold.unknown {
            return match facts.since_event() > long {
                // A timer sends one segment.
                true if facts.bytes > facts.full || self.left_early(data) => Stall::Shown,
                true => Stall::OrTimeout,
                false => Stall::None,
            };
        }
        // More was ready, and nothing was acknowledged: a tail loss probe (RFC 8985, section 7.2).
        if hold.rule == Rule::Paced && facts.since_event() > long {
            return Stall::OrLoss;
        }
        let Some((ack, last)) = latest.zip(self.last.as_ref()).filter(|_| facts.is_released())
        else {
            return Stall::None;
        };
        let only_ack = hold.waits_for_ack() || hold.waits_for_receiver() || hold.waits_for_memory();
        if ack.held > long && only_ack && hold.lost.is_none() {
            return Stall::Since(ack.at - ack.held);
        }
        // What was sent before a probe was acknowledged only now: the stall that it was sent in went on.
        if only_ack && hold.lost.is_none() && self.probe.is_some_and(|probe| self.acked <= probe) {
            return Stall::Since(last.sent);
        }
        // A closed window is in the capture, whatever was sent in vain before.
        let is_closed = matches!(hold.wait, Wait::ReceiveWindow { .. });
        if self.in_vain == Some(last.packet) && !is_closed {
            return Stall::Shown;
        }
        match hold.waits_for_ack() {
            true => self.silence(hold, facts, last, ack, delays),
            false => Stall::None,
        }
    }

    /// What an acknowledgement shows that came long after what it acknowledges had arrived.
    fn silence(
        &self,
        hold: &Hold,
        facts: &Facts,
        last: &Departure,
        ack: &Arrived,
        delays: &PathDelays,
    ) -> Stall {
        let long = Stall::least(delays.round_trip);
        let silent = Nanos::between(last.arrives, ack.left);
        // At the receiver, no path is between the data and its acknowledgement.
        let is_near = delays.is_next_to_receiver();
        let usual = if is_near { Stall::LEAST } else { long };
        if silent <= usual {
            return Stall::None;
        }
        // RFC 5681, section 4.2: a second full segment is acknowledged at once. On a link of unknown
        // rate, several segments may still be in transit, unless one ACK covers them all.
        let is_overdue = facts.flight[0] >= 2 * facts.full && !facts.fills_receive_window;
        if is_overdue && hold.lost.is_none() && silent <= LONGEST_ACK_DELAY {
            match (is_near, ack.unread) {
                (true, _) => return Stall::Unread,
                (false, true) => return Stall::OrUnread,
                (false, false) => {}
            }
        }
        if !delays.is_far_from_receiver() {
            return Stall::None;
        }
        let newly = facts.flight[0].saturating_sub(facts.flight[1]);
        let in_one_go = newly >= Self::ONE_GO * facts.full || !self.bottleneck.is_unknown();
        let is_one_ack = facts.flight[1] == 0 && !ack.in_bunch;
        match is_overdue {
            true if in_one_go && is_one_ack && silent <= LONGEST_ACK_DELAY => Stall::OrDelayedAck,
            true if in_one_go => Stall::Shown,
            false if facts.flight[0] <= facts.full && silent > LONGEST_ACK_DELAY => Stall::Shown,
            _ => Stall::None,
        }
    }

    /// Whether acknowledgements come so late here: a known receiver's delay, or this one's so far.
    pub(super) fn is_usual_delay(&self, silent: Nanos) -> bool {
        let usual = |delay: &Nanos| silent.abs_diff(*delay) <= *delay / 8;
        Self::ACK_DELAYS.iter().chain(&self.delays).any(usual)
    }

    /// Whether the vantage point saw the first copy of what is sent again, and only a later ACK shows
    /// whether that had been lost.
    pub(super) fn may_be_in_vain(&self, data: &SeenData, delays: &PathDelays) -> bool {
        let starts_before = data.bytes.start < self.highest;
        let seen_before = starts_before && (!data.new || self.highest < data.bytes.end);
        let is_far = delays.is_far_from_receiver();
        data.loss == Some(Loss::Repairs) && seen_before && is_far
    }

    /// Whether a tail-loss probe sent it: the last segment again although more is outstanding, where the
    /// retransmission timer sends the first; or any sooner than that timer ever expires.
    fn is_probe(&self, data: &SeenData, facts: &Facts) -> bool {
        let is_last = data.bytes.end == self.highest;
        let is_alone = data.bytes.start <= self.acked;
        is_last && (!is_alone || facts.since_event() < Self::LEAST_TIMEOUT)
    }

    /// What is known of the loss that a segment repairs, or that shows before it.
    pub(super) fn loss_kind(
        &self,
        hold: &Hold,
        facts: &Facts,
        data: &SeenData,
        delays: &PathDelays,
    ) -> Option<LossKind> {
        let skipped = data.bytes.start.saturating_sub(self.highest);
        if data.loss != Some(Loss::Repairs) {
            return (skipped > data.full).then_some(LossKind::Burst);
        }
        let by_timer = hold.wait == Wait::RetransmissionTimeout;
        // After a timeout everything is sent again, lost or not.
        let is_second = !by_timer && self.again.is_some() && self.recover.is_some();
        let later = self.highest.saturating_sub(data.bytes.end);
        let is_far = delays.is_far_from_sender();
        match () {
            // New data may have been joined to it.
            () if by_timer && self.acked >= data.bytes.end.min(self.highest) => {
                Some(LossKind::AckLost)
            }
            () if is_second || data.missing != Missing::Nothing => Some(LossKind::Burst),
            () if by_timer && self.is_probe(data, facts) => Some(LossKind::Probe),
            () if by_timer && later < 3 * data.full => Some(LossKind::Tail),
            () if !data.new && is_far => Some(LossKind::BehindCapture),
            () => None,
        }
    }

    /// Whether the sender had not yet received an acknowledgement that should have reached it: it echoes an earlier
    /// timestamp (RFC 7323, section 4.3).
    pub(super) fn lacks_what_it_should_have(
        &self,
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> bool {
        let is_due = |at: Instant| at + (delays.sender + delays.immediate) < sent;
        let next = self.acks_in_flight.front();
        next.is_some_and(|ack| is_due(ack.seen))
            && !delays.is_next_to_sender()
            && self.is_known_to_lack_ack(data)
    }

    /// Whether the timestamp that data echoes shows that the next acknowledgement had not reached the sender.
    pub(super) fn is_known_to_lack_ack(&self, data: &SeenData) -> bool {
        let stamp = self.acks_in_flight.front().and_then(|it| it.stamp);
        stamp.zip(data.echo).is_some_and(|(ack, echo)| is_later(ack, echo))
    }

    /// When a segment was sent according to its timestamp, if the path delayed it by more than usual
    /// variation.
    pub(super) fn sent_by_clock(
        &mut self,
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> Option<Instant> {
        let (last, timestamp) = (self.last.as_ref()?, data.timestamp?);
        self.clock.note(timestamp, data.seen);
        let span = Nanos::between(last.seen, data.seen);
        let (since, tick) = self.clock.between(span, last.timestamp?, timestamp)?;
        let by_clock = last.sent + since;
        let on_link = self.bottleneck.before.time(data.len());
        let held = Nanos::between(by_clock + tick, sent);
        let varies = (delays.round_trip / 2).max(delays.immediate).max(on_link * 2);
        // The data before may have waited as well: compared with the promptest, an answer waited for longer.
        let is_in_queue = self.queued(data, delays).is_some_and(|queued| queued >= held);
        (held > varies && !is_in_queue).then_some(by_clock)
    }

    /// What its timestamps have shown so far.
    pub(crate) const fn clock(&self) -> SenderClock {
        self.clock
    }

    /// What another look at the same packets has shown of its timestamps.
    pub(crate) fn set_clock(&mut self, clock: SenderClock) {
        self.clock = clock.for_another_look();
    }

    /// A packet without data was seen.
    pub(crate) fn hear(&mut self, timestamp: Option<u32>, seen: Instant) {
        self.heard_early = false;
        if let Some(timestamp) = timestamp {
            let before = self.heard.filter(|it| Nanos::between(it.1, seen) > Stall::LEAST);
            self.heard_early = before.is_some_and(|(earlier, at)| {
                self.clock.denies(Nanos::between(at, seen), earlier, timestamp)
            });
            self.clock.note(timestamp, seen);
            self.heard = Some((timestamp, seen));
        }
    }

    /// Whether timestamps rule out that its last packet without data left as late as it was seen.
    pub(crate) const fn was_held_on_its_way(&self) -> bool {
        self.heard_early
    }

    /// Whether timestamps rule out that a segment was sent as long after the previous one as it was
    /// captured after it.
    pub(super) fn left_early(&self, data: &SeenData) -> bool {
        let Some(last) = &self.last else { return false };
        let span = Nanos::between(last.seen, data.seen);
        last.timestamp
            .zip(data.timestamp)
            .is_some_and(|(earlier, later)| self.clock.denies(span, earlier, later))
    }

    /// How long the first data after the other end's waited in a queue, by its timestamp.
    pub(super) fn queued(&self, data: &SeenData, delays: &PathDelays) -> Option<Nanos> {
        let is_near = delays.is_next_to_sender();
        let timestamp = data.timestamp.filter(|_| !is_near && data.answers.is_some())?;
        let on_link = self.bottleneck.time(data.len());
        self.clock.queued(timestamp, data.seen).map(|queued| queued - on_link)
    }

    /// When the first data after the other end's left, by what was seen of its sender before.
    pub(super) fn left(&self, data: &SeenData, delays: &PathDelays) -> Left {
        if delays.is_next_to_sender() {
            return Left::AsSeen;
        }
        let last = self.last.as_ref().and_then(|last| last.timestamp.zip(Some(last.seen)));
        let before = self.heard.into_iter().chain(last).max_by_key(|&(_, seen)| seen);
        let Some(((earlier, seen), later)) =
            before.filter(|_| data.answers.is_some()).zip(data.timestamp)
        else {
            return Left::Unknown;
        };
        let span = Nanos::between(seen, data.seen);
        if self.clock.confirms(span, earlier, later) {
            Left::AsSeen
        } else if self.clock.denies(span, earlier, later) {
            Left::Earlier
        } else {
            Left::Unknown
        }
    }
}
