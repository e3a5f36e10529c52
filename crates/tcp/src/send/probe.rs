//! Tail-loss probes (RFC 8985, section 7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).
//!
//! If the tail of a flight is lost, nothing that arrives later tells of it. After two round trips without
//! an ACK a probe leaves, new data if there is any, else the last segment again. Its SACK makes RACK find
//! the losses, where the retransmission timer would send everything again.

use core::cmp::Ordering;

use super::{Sender, phase::Phase};
use crate::{
    config::Config,
    units::{Instant, Nanos},
    wait::Timer,
};

/// A tail-loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
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
    pub(crate) const fn is_due(&self) -> bool {
        self.due
    }

    /// Whether it is not known yet what became of the last one.
    pub(crate) const fn is_out(&self) -> bool {
        self.until > 0
    }

    /// No probe is out, and none leaves.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// A D-SACK block ends at `right`; whether it reports the probe.
    pub(crate) const fn on_dsack(&mut self, right: u64) -> bool {
        let reported = self.until == right;
        self.in_vain |= reported;
        reported
    }

    /// Its timer has fired; whether it leaves: not if one is out.
    const fn fall_due(&mut self) -> bool {
        let leaves = !self.is_out();
        self.due |= leaves;
        leaves
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

impl Sender {
    /// New data has left, or something again.
    pub(crate) fn schedule_probe_on_sent(
        &mut self,
        start: u64,
        end: u64,
        config: &Config,
        now: Instant,
    ) {
        let new = end > self.sequence.max();
        let Some(flight) = self.in_flight.list_mut() else { return };
        if flight.probe().is_due() {
            // RFC 8985, section 7.3: the retransmission timer is armed anew, without back-off.
            flight.probe_mut().on_sent(end.max(self.sequence.max()), !new);
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        } else if new {
            if !flight.has_set_probe(now) || !self.timers.watches_by(Timer::TailLossProbe) {
                flight.set_probe_by_data(now);
                let head = flight.head_sent().unwrap_or(now);
                self.schedule_probe(head, config, now);
            }
        } else if start <= self.sequence.una()
            && config.counts_packets()
            && !self.timers.watches_by(Timer::Reordering)
        {
            // Linux `tcp_xmit_retransmit_queue`: the timer counts from the head's last copy.
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        }
    }

    /// New data was acknowledged; whether the probe timer runs now.
    pub(crate) fn schedule_probe_on_ack(&mut self, config: &Config, now: Instant) -> bool {
        if let Some(flight) = self.in_flight.list_mut() {
            flight.set_probe_by_ack();
        }
        self.schedule_probe(now, config, now)
    }

    /// Starts the probe timer, which takes the place of a retransmission timer that counts from `head`; whether
    /// it does. Two round trips, and for a single segment the time that a peer may delay its ACK.
    fn schedule_probe(&mut self, head: Instant, config: &Config, now: Instant) -> bool {
        let open = self.recovery.phase() == Phase::Open && self.sequence.una() > 0;
        let (srtt, rto) = (self.round_trips.smoothed(), self.round_trips.time_out());
        let timed = self.recovery.is_timed();
        let Some(flight) = self.in_flight.list().filter(|_| timed) else { return false };
        if !open || flight.is_empty() || flight.sacked() > 0 {
            return false;
        }
        let patience = if flight.len() == 1 { DELAYED_ACK } else { LEAST_TIMEOUT };
        let timeout = srtt.map_or(UNMEASURED, |srtt| srtt * 2 + patience);
        let until_timer = rto - Nanos::between(head, now);
        let span = if until_timer.is_zero() { timeout } else { timeout.min(until_timer) };
        self.timers.watch_outstanding(Timer::TailLossProbe, config.expiry(span, now));
        true
    }

    /// The probe timer has fired. At most one probe is out: if one is, the retransmission timer goes on.
    pub(crate) fn probe_timeout(&mut self, config: &Config, now: Instant) {
        if let Some(flight) = self.in_flight.list_mut()
            && flight.probe_mut().fall_due()
        {
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        } else {
            self.resume_retransmission(config, now);
        }
    }

    /// A repair begins, so nothing is probed.
    pub(crate) fn end_probe(&mut self, config: &Config, now: Instant) {
        if let Some(flight) = self.in_flight.list_mut() {
            flight.probe_mut().end();
        }
        if self.timers.watches_by(Timer::TailLossProbe) {
            self.resume_retransmission(config, now);
        }
    }

    /// An ACK may end a probe. If that has repaired a loss, cwnd is reduced as if it had been found
    /// otherwise (section 7.4).
    pub(crate) fn take_ack_of_probe(&mut self, ack: u64, repeats: bool, now: Instant) {
        let Some(flight) = self.in_flight.list_mut() else { return };
        if flight.probe_mut().on_ack(ack, repeats) && self.recovery.phase() == Phase::Open {
            self.recovery.note_loss_event();
            let (at_loss, srtt) = (self.sequence.at_loss(), self.round_trips.smoothed());
            self.control.on_loss_repaired(at_loss, self.sequence.mss(), srtt, now);
        }
    }
}

/// RFC 8985, section 7.2: WCDelAckT, 200 ms; Linux `tcp_rto_min`.
const DELAYED_ACK: Nanos = Nanos::from_millis(200);
/// Without a round trip (Linux `TCP_TIMEOUT_INIT`).
const UNMEASURED: Nanos = Nanos::from_millis(1_000);
/// Linux `TCP_TIMEOUT_MIN_US`, which the reordering timer waits for as well.
pub(crate) const LEAST_TIMEOUT: Nanos = Nanos::from_millis(2);
