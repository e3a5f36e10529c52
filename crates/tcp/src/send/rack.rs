//! Loss detection by time (RFC 8985, "RACK"; Linux `net/ipv4/tcp_recovery.c`).
//!
//! A segment is lost if one that was sent later has arrived, and a reordering window has passed since it
//! should have arrived. That finds lost retransmissions too, and waits for segments that overtake each
//! other.

use super::{flight::Flight, latest::Latest, sent::Sent};
use crate::{
    congestion::DUPLICATE_THRESHOLD,
    units::{Instant, Nanos},
};

/// What a connection remembers for RACK while nothing is outstanding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// RACK.min_RTT, in microseconds; `u32::MAX` while there is none.
    min_rtt: u32,
    /// When it was measured, in half minutes, which wrap around after two hours: an idle endpoint has no
    /// room for more.
    min_rtt_at: u8,
    /// RACK.reo_wnd_mult: the reordering window in quarters of the shortest round trip.
    quarters: u8,
    /// RACK.reo_wnd_persist: repairs until it is one quarter again.
    persists: u8,
    reordering: Reordering,
}

/// Whether segments were seen to overtake each other (RACK.reordering_seen), and how far (Linux
/// `tp->reordering`).
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
enum Reordering {
    #[default]
    Unseen,
    /// By DupThresh segments at most.
    Near,
    /// By more.
    Far,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            min_rtt: u32::MAX,
            min_rtt_at: 0,
            quarters: 1,
            persists: 0,
            reordering: Reordering::Unseen,
        }
    }
}

impl Rack {
    /// Linux `tcp_update_rtt_min`: the shortest round trip of the last `tcp_min_rtt_wlen` seconds. One
    /// value, where Linux keeps three: when it is too old, the next sample takes its place.
    pub(crate) fn on_round_trip(&mut self, sample: Nanos, now: Instant) {
        let micros = u32::try_from(sample.micros()).unwrap_or(u32::MAX - 1);
        let [half_minutes, ..] = (now.as_nanos() / 30_000_000_000).to_le_bytes();
        let expired = half_minutes.wrapping_sub(self.min_rtt_at) > MIN_RTT_HALF_MINUTES;
        if micros <= self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_at) = (micros, half_minutes);
        }
    }

    /// The shortest round trip.
    pub(crate) fn min_rtt(&self) -> Option<Nanos> {
        (self.min_rtt != u32::MAX).then(|| Nanos::from_micros(self.min_rtt.into()))
    }

    /// RFC 8985, section 6.2, step 4: no window during a repair, or with DupThresh segments SACKed, unless segments
    /// were seen to overtake each other.
    pub(crate) fn eager_window(&self, srtt: Option<Nanos>) -> Nanos {
        if self.reordering == Reordering::Unseen { Nanos::ZERO } else { self.window(srtt) }
    }

    /// As above, at any other time.
    pub(crate) fn window(&self, srtt: Option<Nanos>) -> Nanos {
        let most = srtt.unwrap_or_default();
        self.min_rtt().map_or(most, |shortest| (shortest / 4 * self.quarters.into()).min(most))
    }

    /// A D-SACK option tells of a retransmission in vain. Where no reordering was seen, that is not the reason
    /// (Linux `tcp_dsack_seen`).
    pub(crate) fn on_d_sack(&mut self) {
        if self.reordering == Reordering::Unseen {
            return;
        }
        self.quarters = self.quarters.saturating_add(1);
        self.persists = REPAIRS_THAT_PERSIST;
    }

    /// A segment was overtaken by this number of bytes (Linux `tcp_check_sack_reordering`).
    pub(crate) fn note_overtaken(&mut self, bytes: u32, mss: u32) {
        let seen = match bytes {
            0 => return,
            _ if bytes > u32::from(DUPLICATE_THRESHOLD) * mss => Reordering::Far,
            _ => Reordering::Near,
        };
        self.reordering = self.reordering.max(seen);
    }

    /// Whether segments were seen to overtake each other by more than DupThresh segments.
    pub(crate) fn is_reordered_far(&self) -> bool {
        self.reordering == Reordering::Far
    }

    /// A repair is over.
    pub(crate) fn on_repaired(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }
}

impl Flight {
    /// Whether the search for losses would end at the oldest segment: nothing that was sent later has
    /// arrived. Most ACKs of a path without loss end here.
    pub(crate) fn is_nothing_late(&self) -> bool {
        self.head().is_some_and(|head| {
            head.is_out() && !head.is_repeated() && !self.latest().is_after(head)
        })
    }

    /// RACK_detect_loss(): how long to wait until the last of the suspicious segments is lost, or zero.
    /// The list is in the order of bytes; segments that were sent once are also in the order of time.
    pub(crate) fn detect_losses(&mut self, window: Nanos, now: Instant) -> Nanos {
        let latest = *self.latest();
        let mut wait = Nanos::ZERO;
        let is_lost = |sent: &Sent| {
            if !latest.is_after(sent) {
                return sent.is_repeated().then_some(false);
            }
            if sent.is_judged() {
                return Some(false);
            }
            let remaining = latest.remaining(sent, window, now);
            wait = wait.max(remaining);
            Some(remaining.is_zero())
        };
        self.lose(is_lost, Sent::judge);
        wait
    }

    /// After a retransmission timeout, all is lost but what left so short a time ago that it may still
    /// arrive (Linux `tcp_timeout_mark_lost`).
    pub(crate) fn lose_late(&mut self, now: Instant) {
        self.lose_head_and(|latest, sent| latest.remaining(sent, Nanos::ZERO, now).is_zero());
    }

    /// All that is out is lost.
    pub(crate) fn lose_all(&mut self) {
        self.lose_head_and(|_, _| true);
    }

    /// The oldest segment is lost, and others of which `is_late` says so.
    fn lose_head_and(&mut self, is_late: impl Fn(&Latest, &Sent) -> bool) {
        self.forget_discarded();
        let latest = *self.latest();
        let mut head = true;
        let is_lost = |sent: &Sent| {
            let first = core::mem::take(&mut head);
            Some(first || is_late(&latest, sent))
        };
        self.lose(is_lost, |_| {});
        self.probe_mut().end();
    }
}

/// `net.ipv4.tcp_min_rtt_wlen`, 300 s.
const MIN_RTT_HALF_MINUTES: u8 = 10;
/// RFC 8985, section 6.2, step 4: "RACK.reo_wnd_persist = 16".
const REPAIRS_THAT_PERSIST: u8 = 16;
