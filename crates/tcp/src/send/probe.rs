//! Tail-loss probes (RFC 8985, section 7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).
//!
//! If the tail of a flight is lost, nothing that arrives later tells of it. After two round trips without
//! an ACK a probe leaves, new data if there is any, else the last segment again. Its SACK makes RACK find
//! the losses, where the retransmission timer would send everything again.

use core::cmp::Ordering;

use super::{round_trips::RoundTrips, sent::Sending};
use crate::units::{Instant, Nanos};

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
    pub(crate) const fn fall_due(&mut self) -> bool {
        let leaves = !self.is_out();
        self.due |= leaves;
        leaves
    }

    pub(crate) fn on_sent(&mut self, until: u64, sending: Sending) {
        *self = Self { due: false, until, again: sending == Sending::Again, in_vain: false };
    }

    /// RFC 8985, section 7.4.1: whether `ack` shows that the probe has repaired a loss. `repeats` if it
    /// acknowledges and SACKs nothing new.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the ACK")]
    pub(crate) fn on_ack(&mut self, ack: u64, repeats: bool) -> bool {
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

/// How long to wait until a probe of this many `segments` leaves, in place of a retransmission timer that counts from
/// `head`: two round trips, and for a single segment the time that a peer may delay its ACK.
pub(crate) fn time_to_probe(
    segments: usize,
    round_trips: &RoundTrips,
    head: Instant,
    now: Instant,
) -> Nanos {
    let patience = if segments == 1 { DELAYED_ACK } else { LEAST_TIMEOUT };
    let timeout = round_trips.smoothed().map_or(UNMEASURED, |srtt| srtt * 2 + patience);
    let until_timer = round_trips.time_out() - Nanos::between(head, now);
    if until_timer.is_zero() { timeout } else { timeout.min(until_timer) }
}

/// RFC 8985, section 7.2: WCDelAckT, 200 ms; Linux `tcp_rto_min`.
const DELAYED_ACK: Nanos = Nanos::from_millis(200);
/// Without a round trip (Linux `TCP_TIMEOUT_INIT`).
const UNMEASURED: Nanos = Nanos::from_millis(1_000);
/// Linux `TCP_TIMEOUT_MIN_US`, which the reordering timer waits for as well.
pub(crate) const LEAST_TIMEOUT: Nanos = Nanos::from_millis(2);
