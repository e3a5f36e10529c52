//! Tail-loss probes (RFC 8985, section 7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).
//!
//! If the tail of a flight is lost, nothing that arrives later tells of it. After two round trips without
//! an ACK a probe leaves, new data if there is any, else the last segment again. Its SACK makes RACK find
//! the losses, where the retransmission timer would send everything again.

use core::cmp::Ordering;

use super::{Endpoint, recovery::Phase};
use crate::{
    alarm::Alarm,
    policy::LossDetection,
    units::{Instant, Nanos},
    wait::Timer,
};

/// A tail-loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// Its timer has fired, it leaves next.
    due: bool,
    /// TLP.end_seq: SND.NXT when it left; 0 if none is out.
    until: u64,
    /// TLP.is_retrans.
    again: bool,
    /// The peer has both copies of the segment.
    in_vain: bool,
}

impl Probe {
    /// Whether a probe leaves next.
    pub(super) const fn is_due(self) -> bool {
        self.due
    }

    /// Whether it is not known yet what became of the last one.
    pub(super) const fn is_out(self) -> bool {
        self.until > 0
    }

    /// No probe is out, and none leaves.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// A D-SACK block ends at `right`; whether it reports the probe.
    pub(super) const fn on_dsack(&mut self, right: u64) -> bool {
        let reported = self.until == right;
        self.in_vain |= reported;
        reported
    }

    fn on_sent(&mut self, until: u64, again: bool) {
        *self = Self { due: false, until, again, in_vain: false };
    }

    /// RFC 8985, section 7.4.1: whether `ack` shows that the probe has repaired a loss. `repeats` if it
    /// acknowledges and SACKs nothing new.
    fn on_ack(&mut self, ack: u64, repeats: bool) -> bool {
        if self.until == 0 || ack < self.until {
            return false;
        }
        let arrived_once = self.again && !self.in_vain;
        match ack.cmp(&self.until) {
            Ordering::Greater if arrived_once => {
                self.end();
                true
            }
            Ordering::Equal if arrived_once && !repeats => false,
            _ => {
                self.end();
                false
            }
        }
    }
}

impl Endpoint {
    /// New data has left, or something again.
    pub(super) fn schedule_probe_on_sent(&mut self, start: u64, end: u64, now: Instant) {
        let new = end > self.sender.max;
        let Some(flight) = self.flight.as_deref_mut() else { return };
        if flight.probe.due {
            // RFC 8985, section 7.3: the retransmission timer is armed anew, without back-off.
            flight.probe.on_sent(end.max(self.sender.max), !new);
            self.timers.retransmit(self.retransmission_due(now));
        } else if new {
            // With one segment, the probe waits for longer.
            let set = flight.probe_set_by_data.due() == Some(now) && flight.len() > 2;
            if !set || !self.timers.watches_by(Timer::TailLossProbe) {
                flight.probe_set_by_data = Alarm::at(now);
                let head = flight.head_sent().unwrap_or(now);
                self.schedule_probe(head, now);
            }
        } else if start <= self.sender.una
            && self.counts_packets()
            && !self.timers.watches_by(Timer::Reordering)
        {
            // Linux `tcp_xmit_retransmit_queue`: the timer counts from the head's last copy.
            self.timers.retransmit(self.retransmission_due(now));
        }
    }

    /// New data was acknowledged; whether the probe timer runs now.
    pub(super) fn schedule_probe_on_ack(&mut self, now: Instant) -> bool {
        if let Some(flight) = self.flight.as_deref_mut() {
            flight.probe_set_by_data = Alarm::OFF;
        }
        self.schedule_probe(now, now)
    }

    /// Starts the probe timer, which takes the place of a retransmission timer that counts from `head`; whether
    /// it does. Two round trips, and for a single segment the time that a peer may delay its ACK.
    fn schedule_probe(&mut self, head: Instant, now: Instant) -> bool {
        let open = self.recovery.phase == Phase::Open && self.sender.una > 0;
        let (srtt, rto) = (self.round_trip.smoothed(), self.round_trip.time_out());
        let by_time = self.receiver.sequence().uses_sack()
            && self.config.policies.loss_detection == LossDetection::Rack;
        let Some(flight) = self.flight.as_deref().filter(|_| by_time) else { return false };
        if !open || flight.is_empty() || flight.sacked() > 0 {
            return false;
        }
        let patience = if flight.len() == 1 { DELAYED_ACK } else { LEAST_TIMEOUT };
        let timeout = srtt.map_or(UNMEASURED, |srtt| srtt * 2 + patience);
        let until_timer = rto - Nanos::between(head, now);
        let span = if until_timer.is_zero() { timeout } else { timeout.min(until_timer) };
        self.timers.watch_outstanding(Timer::TailLossProbe, self.config.expiry(span, now));
        true
    }

    /// The probe timer has fired. At most one probe is out: if one is, the retransmission timer goes on.
    pub(super) fn probe_timeout(&mut self, now: Instant) {
        if let Some(flight) = self.flight.as_deref_mut()
            && flight.probe.until == 0
        {
            flight.probe.due = true;
            self.timers.retransmit(self.retransmission_due(now));
        } else {
            self.resume_retransmission_timer(now);
        }
    }

    /// A repair begins, so nothing is probed.
    pub(super) fn end_probe(&mut self, now: Instant) {
        if let Some(flight) = self.flight.as_deref_mut() {
            flight.probe.end();
        }
        if self.timers.watches_by(Timer::TailLossProbe) {
            self.resume_retransmission_timer(now);
        }
    }

    /// An ACK may end a probe. If that has repaired a loss, cwnd is reduced as if it had been found
    /// otherwise (section 7.4).
    pub(super) fn take_ack_of_probe(&mut self, ack: u64, repeats: bool, now: Instant) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        if flight.probe.on_ack(ack, repeats) && self.recovery.phase == Phase::Open {
            self.count_loss_event();
            let at_loss = self.at_loss(now);
            self.congestion.on_loss(at_loss, true);
            self.congestion.on_recovered(self.sender.flight());
            self.after_repair();
        }
    }
}

/// RFC 8985, section 7.2: WCDelAckT, 200 ms; Linux `tcp_rto_min`.
const DELAYED_ACK: Nanos = Nanos::from_millis(200);
/// Without a round trip (Linux `TCP_TIMEOUT_INIT`).
const UNMEASURED: Nanos = Nanos::from_millis(1_000);
/// Linux `TCP_TIMEOUT_MIN_US`, which the reordering timer waits for as well.
pub(super) const LEAST_TIMEOUT: Nanos = Nanos::from_millis(2);
