//! Losses that are found by time, and what follows: a repair, or a timer.

use super::{Sender, in_flight::SearchCause, phase::Phase, probe::LEAST_TIMEOUT};
use crate::{
    config::Config,
    segment::Segment,
    units::{Instant, Nanos},
    wait::Timer,
};

impl Sender {
    /// An ACK has told something: losses are looked for, and the timers follow. `advances` if it
    /// acknowledges new data.
    pub(super) fn detect_by_time(&mut self, advances: bool, config: &Config, now: Instant) {
        let wait = self.search(SearchCause::Ack, now);
        let Some(flight) = self.in_flight.list_mut() else { return };
        // A lost retransmission ends what a timeout has begun ("FLAG_LOST_RETRANS" in `tcp_fastretrans_alert`).
        let (found, again) = (flight.news().lost > 0, flight.news().lost_again);
        match self.recovery.phase() {
            Phase::Open if found => self.begin_repair(config, now),
            Phase::GoneBack | Phase::Forward if again => self.begin_repair(config, now),
            _ => {}
        }
        if !wait.is_zero() {
            self.watch_reordering(wait, config, now);
        } else if advances || self.in_flight.has_sacked_older(now) {
            self.watch_after_ack(config, now);
        }
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
            true => self.timers.start_retransmission(self.round_trips.time_out(), config, now),
            false => self.resume_retransmission(config, now),
        }
    }

    /// Marks what is lost; how long to wait for what may be.
    fn search(&mut self, cause: SearchCause, now: Instant) -> Nanos {
        let repairs = self.recovery.phase() != Phase::Open;
        self.in_flight.search(cause, repairs, self.round_trips.smoothed(), now)
    }

    /// The reordering timer has fired (Linux `tcp_rack_reo_timeout`).
    pub(super) fn reordering_timeout(&mut self, config: &Config, now: Instant) {
        if let Some(flight) = self.in_flight.list_mut() {
            flight.begin_news();
        }
        self.search(SearchCause::Timer, now);
        self.resume_retransmission(config, now);
        let found = self.in_flight.news().is_some_and(|news| news.lost > 0);
        if found && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.begin_repair(config, now);
            // As if one segment had arrived ("tcp_cwnd_reduction(sk, 1, ...)").
            self.reduce_proportionally(self.sequence.mss(), false, config);
        }
    }

    /// RFC 2883, section 4: the first block lies below the ACK, or inside the second: a segment has arrived
    /// twice.
    pub(super) fn take_d_sack(&mut self, ack: u64, segment: &Segment) {
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
        let segments = (right - left).div_ceil(u64::from(self.sequence.mss()).max(1));
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        let (una, max) = (self.sequence.una().max(ack), self.sequence.max());
        self.in_flight.on_d_sack(right, segments, una, max);
    }

    /// Whether ACKs that only SACK let cwnd grow, too: where segments overtake each other by far, the order
    /// in which they arrive tells nothing (Linux `tcp_may_raise_cwnd`).
    pub(super) fn grows_by_sack(&self) -> bool {
        self.in_flight.is_reordered_far() && self.detects_by_time()
    }
}
