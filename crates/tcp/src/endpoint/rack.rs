//! Loss detection by time (RFC 8985, "RACK"; Linux `net/ipv4/tcp_recovery.c`).
//!
//! A segment is lost if one that was sent later has arrived, and a reordering window has passed since it
//! should have arrived. That finds lost retransmissions too, and waits for segments that overtake each
//! other.

use super::{
    Endpoint,
    flight::{Flight, Sent},
    probe::LEAST_TIMEOUT,
    recovery::Phase,
};
use crate::{
    congestion::DUPLICATE_THRESHOLD,
    segment::Segment,
    units::{Instant, Nanos},
    wait::Timer,
};

/// What a connection remembers for RACK while nothing is outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
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
pub(super) enum Reordering {
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
    pub(super) fn on_round_trip(&mut self, sample: Nanos, now: Instant) {
        let micros = u32::try_from(sample.micros()).unwrap_or(u32::MAX - 1);
        let [half_minutes, ..] = (now.as_nanos() / 30_000_000_000).to_le_bytes();
        let expired = half_minutes.wrapping_sub(self.min_rtt_at) > MIN_RTT_HALF_MINUTES;
        if micros <= self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_at) = (micros, half_minutes);
        }
    }

    /// The shortest round trip.
    pub(super) fn min_rtt(&self) -> Option<Nanos> {
        (self.min_rtt != u32::MAX).then(|| Nanos::from_micros(self.min_rtt.into()))
    }

    /// RFC 8985, section 6.2, step 4: no window during a repair, or with DupThresh segments SACKed (`eager`),
    /// unless segments were seen to overtake each other.
    fn window(&self, eager: bool, srtt: Option<Nanos>) -> Nanos {
        if eager && self.reordering == Reordering::Unseen {
            return Nanos::ZERO;
        }
        let most = srtt.unwrap_or_default();
        self.min_rtt().map_or(most, |shortest| (shortest / 4 * self.quarters.into()).min(most))
    }

    /// A D-SACK option tells of a retransmission in vain. Where no reordering was seen, that is not the reason
    /// (Linux `tcp_dsack_seen`).
    fn on_dsack(&mut self) {
        if self.reordering == Reordering::Unseen {
            return;
        }
        self.quarters = self.quarters.saturating_add(1);
        self.persists = REPAIRS_THAT_PERSIST;
    }

    /// A segment was overtaken by this number of bytes (Linux `tcp_check_sack_reordering`).
    fn note_overtaken(&mut self, bytes: u32, mss: u32) {
        let seen = match bytes {
            0 => return,
            _ if bytes > u32::from(DUPLICATE_THRESHOLD) * mss => Reordering::Far,
            _ => Reordering::Near,
        };
        self.reordering = self.reordering.max(seen);
    }

    /// A repair is over.
    fn on_repaired(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }
}

impl Flight {
    /// Whether the search for losses would end at the oldest segment: nothing that was sent later has
    /// arrived. Most ACKs of a path without loss end here.
    fn is_nothing_late(&self) -> bool {
        self.head()
            .is_some_and(|head| head.is_out() && !head.repeated && !self.latest.is_after(head))
    }

    /// RACK_detect_loss(): how long to wait until the last of the suspicious segments is lost, or zero.
    /// The list is in the order of bytes; segments that were sent once are also in the order of time.
    fn detect_losses(&mut self, window: Nanos, now: Instant) -> Nanos {
        let latest = self.latest;
        let mut wait = Nanos::ZERO;
        let is_lost = |sent: &Sent| {
            if !latest.is_after(sent) {
                return sent.repeated.then_some(false);
            }
            if sent.judged {
                return Some(false);
            }
            let remaining = latest.remaining(sent, window, now);
            wait = wait.max(remaining);
            Some(remaining.is_zero())
        };
        self.lose(is_lost, |sent| sent.judged = true);
        wait
    }
}

impl Endpoint {
    /// An ACK has told something: losses are looked for, and the timers follow. `advances` if it
    /// acknowledges new data.
    pub(super) fn detect_by_time(&mut self, advances: bool, now: Instant) {
        let wait = self.rack_mark_lost(false, now);
        let Some(flight) = self.flight.as_deref_mut() else { return };
        // A lost retransmission ends what a timeout has begun ("FLAG_LOST_RETRANS" in `tcp_fastretrans_alert`).
        let (found, again) = (flight.news.lost > 0, flight.news.lost_again);
        match self.recovery.phase {
            Phase::Open if found => self.begin_repair(now),
            Phase::GoneBack | Phase::Forward if again => self.begin_repair(now),
            _ => {}
        }
        if !wait.is_zero() {
            self.watch_reordering(wait, now);
        } else if advances || self.sacks_what_is_older(now) {
            self.watch_after_ack(now);
        }
    }

    /// Whether the ACK has SACKed what was sent before the head was, for the last time: then the timer starts again
    /// (Linux `tcp_clean_rtx_queue`; RFC 6298 would leave it alone).
    fn sacks_what_is_older(&self, now: Instant) -> bool {
        let Some(flight) = self.flight.as_deref() else { return false };
        let Some(round_trip) = flight.news.first_round_trip else { return false };
        flight.head_sent().is_some_and(|head| round_trip > Nanos::between(head, now))
    }

    /// Starts the reordering timer.
    fn watch_reordering(&mut self, wait: Nanos, now: Instant) {
        let due = self.config.expiry(wait + LEAST_TIMEOUT, now);
        self.timers.watch_outstanding(Timer::Reordering, due);
    }

    /// New data was acknowledged, and nothing is suspicious: the probe timer starts, or else the retransmission
    /// timer, if something is outstanding (Linux `tcp_set_xmit_timer`).
    #[inline]
    fn watch_after_ack(&mut self, now: Instant) {
        if !self.sender.is_outstanding() || self.schedule_probe_on_ack(now) {
            return;
        }
        match self.timers.watches_by(Timer::Retransmission) {
            true => self.timers.retransmit(self.retransmission_due(now)),
            false => self.resume_retransmission_timer(now),
        }
    }

    /// What the round trips and the order of delivered segments tell about the path.
    pub(super) fn rack_measure(&mut self, now: Instant) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        self.rack.note_overtaken(flight.latest.overtaken, self.sender.mss);
        if let Some(sample) = flight.news.last_round_trip.filter(|_| !flight.news.repeated) {
            self.rack.on_round_trip(sample, now);
        }
        flight.latest.shortest = self.rack.min_rtt().unwrap_or_default();
    }

    /// Marks what is lost; how long to wait for what may be.
    fn rack_mark_lost(&mut self, timer: bool, now: Instant) -> Nanos {
        let recovering = self.recovery.phase != Phase::Open;
        let Some(flight) = self.flight.as_deref_mut() else { return Nanos::ZERO };
        if !timer && !flight.latest.advanced {
            return Nanos::ZERO;
        }
        flight.latest.advanced = false;
        if flight.is_nothing_late() {
            return Nanos::ZERO;
        }
        let eager = recovering || flight.sacked() >= u32::from(DUPLICATE_THRESHOLD);
        let window = self.rack.window(eager, self.round_trip.smoothed());
        flight.detect_losses(window, now)
    }

    /// The reordering timer has fired (Linux `tcp_rack_reo_timeout`).
    pub(super) fn reordering_timeout(&mut self, now: Instant) {
        self.begin_news();
        self.rack_mark_lost(true, now);
        self.resume_retransmission_timer(now);
        let found = self.news().is_some_and(|news| news.lost > 0);
        if found && !matches!(self.recovery.phase, Phase::Fast(_)) {
            self.begin_repair(now);
            // As if one segment had arrived ("tcp_cwnd_reduction(sk, 1, ...)").
            self.reduce_proportionally(self.sender.mss, false);
        }
    }

    /// After a retransmission timeout, all is lost but what left so short a time ago that it may still
    /// arrive (Linux `tcp_timeout_mark_lost`); with `all`, that too.
    pub(super) fn lose_flight(&mut self, all: bool, now: Instant) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        flight.forget_discarded();
        let latest = flight.latest;
        let mut head = true;
        let is_lost = |sent: &Sent| {
            let first = core::mem::take(&mut head);
            Some(first || all || latest.remaining(sent, Nanos::ZERO, now).is_zero())
        };
        flight.lose(is_lost, |_| {});
        flight.probe.end();
    }

    /// Nothing of the flight was lost after all (Linux `tcp_undo_cwnd_reduction`, which has RACK look again).
    pub(super) fn find_flight(&mut self) {
        if let Some(flight) = self.flight.as_deref_mut() {
            flight.find();
            flight.latest.advanced = true;
        }
    }

    /// RFC 2883, section 4: the first block lies below the ACK, or inside the second: a segment has arrived
    /// twice. RFC 8985, section 6.2, step 4: the window grows at most once in a round trip.
    pub(super) fn take_dsack(&mut self, ack: u64, segment: &Segment) {
        let mut blocks = segment.options.sack.iter();
        let Some((left, right)) = blocks.next() else { return };
        let position = |number| u64::try_from(self.sender.position(number)).unwrap_or(0);
        let (left, right) = (position(left), position(right));
        let inside = blocks.next().is_some_and(|(outer_left, outer_right)| {
            position(outer_left) <= left && right <= position(outer_right)
        });
        if left >= right || !(right <= ack || inside) {
            return;
        }
        self.recovery.note_duplicate(left, right);
        let (una, max) = (self.sender.una.max(ack), self.sender.max);
        match self.flight.as_deref_mut() {
            Some(flight) => {
                // "A spurious retransmission is delivered" (Linux `tcp_dsack_seen`).
                let mss = u64::from(self.sender.mss);
                let segments = (right - left).div_ceil(mss.max(1));
                flight.news.delivered += u32::try_from(segments).unwrap_or(u32::MAX);
                // A probe was sent by time, not because a segment was believed lost.
                let of_probe = flight.probe.on_dsack(right);
                if !of_probe && flight.latest.dsack_until <= una {
                    flight.latest.dsack_until = max;
                    self.rack.on_dsack();
                }
            }
            None => self.rack.on_dsack(),
        }
    }

    /// A late original has filled a hole, and not what was sent again (Linux `tcp_try_undo_partial`).
    pub(super) fn note_late_original(&mut self, start: u64) {
        let highest = self.flight.as_deref().map_or(0, |flight| flight.latest.highest);
        let by = u32::try_from(highest.saturating_sub(start)).unwrap_or(u32::MAX);
        self.rack.note_overtaken(by, self.sender.mss);
    }

    /// Whether ACKs that only SACK let cwnd grow, too: where segments overtake each other by far, the order
    /// in which they arrive tells nothing (Linux `tcp_may_raise_cwnd`).
    pub(super) fn grows_by_sack(&self) -> bool {
        self.rack.reordering == Reordering::Far && self.detects_by_time()
    }

    /// A repair is over.
    pub(super) fn rack_repaired(&mut self) {
        self.rack.on_repaired();
    }
}

/// `net.ipv4.tcp_min_rtt_wlen`, 300 s.
const MIN_RTT_HALF_MINUTES: u8 = 10;
/// RFC 8985, section 6.2, step 4: "RACK.reo_wnd_persist = 16".
const REPAIRS_THAT_PERSIST: u8 = 16;
