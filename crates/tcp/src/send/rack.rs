//! Loss detection by time (RFC 8985, "RACK"; Linux `net/ipv4/tcp_recovery.c`).
//!
//! A segment is lost if one that was sent later has arrived, and a reordering window has passed since it
//! should have arrived. That finds lost retransmissions too, and waits for segments that overtake each
//! other.

use super::{
    Sender, flight::Flight, latest::Latest, phase::Phase, probe::LEAST_TIMEOUT, sent::Sent,
};
use crate::{
    config::Config,
    congestion::DUPLICATE_THRESHOLD,
    segment::Segment,
    units::{Instant, Nanos},
    wait::Timer,
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
pub(crate) enum Reordering {
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
    pub(crate) fn on_repaired(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }
}

/// Why losses are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SearchCause {
    Ack,
    Timer,
}

impl Flight {
    /// Whether the search for losses would end at the oldest segment: nothing that was sent later has
    /// arrived. Most ACKs of a path without loss end here.
    fn is_nothing_late(&self) -> bool {
        self.head().is_some_and(|head| {
            head.is_out() && !head.is_repeated() && !self.latest().is_after(head)
        })
    }

    /// RACK_detect_loss(): how long to wait until the last of the suspicious segments is lost, or zero.
    /// The list is in the order of bytes; segments that were sent once are also in the order of time.
    fn detect_losses(&mut self, window: Nanos, now: Instant) -> Nanos {
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
}

impl Sender {
    /// An ACK has told something: losses are looked for, and the timers follow. `advances` if it
    /// acknowledges new data.
    pub(crate) fn detect_by_time(&mut self, advances: bool, config: &Config, now: Instant) {
        let wait = self.rack_mark_lost(SearchCause::Ack, now);
        let Some(flight) = self.flight.as_deref_mut() else { return };
        // A lost retransmission ends what a timeout has begun ("FLAG_LOST_RETRANS" in `tcp_fastretrans_alert`).
        let (found, again) = (flight.news().lost() > 0, flight.news().has_lost_again());
        match self.recovery.phase() {
            Phase::Open if found => self.begin_repair(config, now),
            Phase::GoneBack | Phase::Forward if again => self.begin_repair(config, now),
            _ => {}
        }
        if !wait.is_zero() {
            self.watch_reordering(wait, config, now);
        } else if advances || self.sacks_what_is_older(now) {
            self.watch_after_ack(config, now);
        }
    }

    /// Whether the ACK has SACKed what was sent before the head was, for the last time: then the timer starts again
    /// (Linux `tcp_clean_rtx_queue`; RFC 6298 would leave it alone).
    fn sacks_what_is_older(&self, now: Instant) -> bool {
        let Some(flight) = self.flight.as_deref() else { return false };
        let Some(round_trip) = flight.news().first_round_trip() else { return false };
        flight.head_sent().is_some_and(|head| round_trip > Nanos::between(head, now))
    }

    /// Starts the reordering timer.
    fn watch_reordering(&mut self, wait: Nanos, config: &Config, now: Instant) {
        let due = config.expiry(wait + LEAST_TIMEOUT, now);
        self.timers.watch_outstanding(Timer::Reordering, due);
    }

    /// New data was acknowledged, and nothing is suspicious: the probe timer starts, or else the retransmission
    /// timer, if something is outstanding (Linux `tcp_set_xmit_timer`).
    #[inline]
    fn watch_after_ack(&mut self, config: &Config, now: Instant) {
        if !self.sequence.is_outstanding() || self.schedule_probe_on_ack(config, now) {
            return;
        }
        match self.timers.watches_by(Timer::Retransmission) {
            true => self.timers.start_retransmission(self.retransmission_due(config, now)),
            false => self.resume_retransmission_timer(config, now),
        }
    }

    /// What the round trips and the order of delivered segments tell about the path.
    pub(crate) fn rack_measure(&mut self, now: Instant) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        self.rack.note_overtaken(flight.latest().overtaken(), self.sequence.mss());
        if let Some(sample) = flight.news().clear_round_trip() {
            self.rack.on_round_trip(sample, now);
        }
        flight.latest_mut().set_shortest(self.rack.min_rtt().unwrap_or_default());
    }

    /// Marks what is lost; how long to wait for what may be.
    fn rack_mark_lost(&mut self, cause: SearchCause, now: Instant) -> Nanos {
        let recovering = self.recovery.phase() != Phase::Open;
        let Some(flight) = self.flight.as_deref_mut() else { return Nanos::ZERO };
        if cause == SearchCause::Ack && !flight.latest().has_advanced() {
            return Nanos::ZERO;
        }
        flight.latest_mut().note_search();
        if flight.is_nothing_late() {
            return Nanos::ZERO;
        }
        let eager = recovering || flight.sacked() >= u32::from(DUPLICATE_THRESHOLD);
        let window = self.rack.window(eager, self.round_trip.smoothed());
        flight.detect_losses(window, now)
    }

    /// The reordering timer has fired (Linux `tcp_rack_reo_timeout`).
    pub(crate) fn reordering_timeout(&mut self, config: &Config, now: Instant) {
        if let Some(flight) = self.flight.as_deref_mut() {
            flight.begin_news();
        }
        self.rack_mark_lost(SearchCause::Timer, now);
        self.resume_retransmission_timer(config, now);
        let found = self.news().is_some_and(|news| news.lost() > 0);
        if found && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.begin_repair(config, now);
            // As if one segment had arrived ("tcp_cwnd_reduction(sk, 1, ...)").
            self.reduce_proportionally(self.sequence.mss(), false, config);
        }
    }

    /// After a retransmission timeout, all is lost but what left so short a time ago that it may still
    /// arrive (Linux `tcp_timeout_mark_lost`).
    pub(super) fn lose_late(&mut self, now: Instant) {
        self.lose_flight(|latest, sent| latest.remaining(sent, Nanos::ZERO, now).is_zero());
    }

    /// All that is out is lost.
    pub(super) fn lose_all(&mut self) {
        self.lose_flight(|_, _| true);
    }

    /// The oldest segment is lost, and others of which `is_late` says so.
    fn lose_flight(&mut self, is_late: impl Fn(&Latest, &Sent) -> bool) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        flight.forget_discarded();
        let latest = *flight.latest();
        let mut head = true;
        let is_lost = |sent: &Sent| {
            let first = core::mem::take(&mut head);
            Some(first || is_late(&latest, sent))
        };
        flight.lose(is_lost, |_| {});
        flight.probe_mut().end();
    }

    /// RFC 2883, section 4: the first block lies below the ACK, or inside the second: a segment has arrived
    /// twice. RFC 8985, section 6.2, step 4: the window grows at most once in a round trip.
    pub(crate) fn take_dsack(&mut self, ack: u64, segment: &Segment) {
        let mut blocks = segment.options.sack.iter();
        let Some((left, right)) = blocks.next() else { return };
        let position = |number| u64::try_from(self.sequence.position(number)).unwrap_or(0);
        let (left, right) = (position(left), position(right));
        let inside = blocks.next().is_some_and(|(outer_left, outer_right)| {
            position(outer_left) <= left && right <= position(outer_right)
        });
        if left >= right || !(right <= ack || inside) {
            return;
        }
        if let Some(episode) = self.recovery.episode_mut() {
            episode.on_d_sack(left, right);
        }
        let (una, max) = (self.sequence.una().max(ack), self.sequence.max());
        match self.flight.as_deref_mut() {
            Some(flight) => {
                // "A spurious retransmission is delivered" (Linux `tcp_dsack_seen`).
                let mss = u64::from(self.sequence.mss());
                let segments = (right - left).div_ceil(mss.max(1));
                flight.on_duplicates(u32::try_from(segments).unwrap_or(u32::MAX));
                // A probe was sent by time, not because a segment was believed lost.
                let of_probe = flight.probe_mut().on_dsack(right);
                if !of_probe && flight.latest_mut().counts_dsack(una, max) {
                    self.rack.on_dsack();
                }
            }
            None => self.rack.on_dsack(),
        }
    }

    /// A late original has filled a hole, and not what was sent again (Linux `tcp_try_undo_partial`).
    pub(crate) fn note_late_original(&mut self, start: u64) {
        let highest = self.flight.as_deref().map_or(0, |flight| flight.latest().highest());
        let by = u32::try_from(highest.saturating_sub(start)).unwrap_or(u32::MAX);
        self.rack.note_overtaken(by, self.sequence.mss());
    }

    /// Whether ACKs that only SACK let cwnd grow, too: where segments overtake each other by far, the order
    /// in which they arrive tells nothing (Linux `tcp_may_raise_cwnd`).
    pub(crate) fn grows_by_sack(&self) -> bool {
        self.rack.reordering == Reordering::Far && self.detects_by_time()
    }
}

/// `net.ipv4.tcp_min_rtt_wlen`, 300 s.
const MIN_RTT_HALF_MINUTES: u8 = 10;
/// RFC 8985, section 6.2, step 4: "RACK.reo_wnd_persist = 16".
const REPAIRS_THAT_PERSIST: u8 = 16;
