//! The timers of one connection, and when things last happened.

use core::time::Duration;

use crate::{
    alarm::Alarm,
    config::Config,
    units::{Instant, Nanos},
    wait::{Deadline, Timer, Wait},
};

/// The timers of one connection, the delayed ACK's excepted, and when things last happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// The timer of what is outstanding. RFC 8985, sections 6.3 and 7.2: the reordering timer and the probe timer
    /// take the place of the retransmission timer, as in Linux (`icsk_pending`), so that no two are due at once.
    outstanding: Alarm,
    outstanding_for: Timer,
    /// The one other timer that may run: nothing is held in TIME-WAIT, and a segment is held for one
    /// reason.
    waiting: Alarm,
    waiting_for: Timer,
    /// The first timeout without progress since.
    stalled_since: Alarm,
    last_send: Instant,
    last_receive: Instant,
}

/// RFC 9293, section 3.8.6.2.1: the override timeout is "in the range 0.1 - 1.0 seconds"; the value is our choice.
const SILLY_WINDOW_OVERRIDE: Duration = Duration::from_millis(500);

impl Default for Timers {
    fn default() -> Self {
        Self {
            outstanding: Alarm::OFF,
            outstanding_for: Timer::Retransmission,
            waiting: Alarm::OFF,
            waiting_for: Timer::Persist,
            stalled_since: Alarm::OFF,
            last_send: Instant::EPOCH,
            last_receive: Instant::EPOCH,
        }
    }
}

impl Timers {
    /// When data, or a SYN with data, last left; before that, when the connection began.
    #[inline]
    pub(crate) const fn last_send(&self) -> Instant {
        self.last_send
    }

    /// When a segment last arrived.
    pub(crate) const fn last_receive(&self) -> Instant {
        self.last_receive
    }

    /// Data leaves, or the time until it does begins.
    #[inline]
    pub(crate) const fn note_sent(&mut self, now: Instant) {
        self.last_send = now;
    }

    /// A segment arrives.
    #[inline]
    pub(crate) const fn note_received(&mut self, now: Instant) {
        self.last_receive = now;
    }

    /// Nothing is waited for any more.
    pub(crate) const fn stop(&mut self) {
        self.outstanding = Alarm::OFF;
        self.waiting = Alarm::OFF;
        self.stalled_since = Alarm::OFF;
    }

    /// Stops the retransmission timer, and what runs in its place.
    #[inline]
    pub(crate) const fn stop_retransmission(&mut self) {
        self.watch_outstanding(Timer::Retransmission, Alarm::OFF);
    }

    /// Starts the retransmission timer anew.
    #[inline]
    pub(crate) fn start_retransmission(&mut self, rto: Nanos, config: &Config, now: Instant) {
        self.watch_outstanding(Timer::Retransmission, config.expiry(rto, now));
    }

    /// The retransmission timer goes on where another one was in its place: it counts from the time when the `head` left
    /// (Linux `tcp_rearm_rto`).
    pub(crate) fn resume_retransmission(
        &mut self,
        head: Option<Instant>,
        rto: Nanos,
        config: &Config,
        now: Instant,
    ) {
        let left = rto - Nanos::between(head.unwrap_or(now), now);
        self.start_retransmission(left.max(Nanos::new(1)), config, now);
    }

    /// Starts `timer` in place of the retransmission timer.
    #[inline]
    pub(crate) const fn watch_outstanding(&mut self, timer: Timer, due: Alarm) {
        (self.outstanding, self.outstanding_for) = (due, timer);
    }

    /// Whether something that is outstanding has a timer.
    #[inline]
    pub(crate) fn watches_outstanding(&self) -> bool {
        self.outstanding.is_on()
    }

    /// Whether `timer` runs, of those for what is outstanding.
    #[inline]
    pub(crate) fn watches_by(&self, timer: Timer) -> bool {
        self.outstanding_for == timer && self.outstanding.is_on()
    }

    /// Starts the timer `timer` in place of any other, those for what is outstanding excepted.
    pub(crate) const fn wait_for(&mut self, timer: Timer, due: Alarm) {
        (self.waiting, self.waiting_for) = (due, timer);
    }

    /// Starts the timer `timer`, unless it runs.
    pub(crate) fn wait_once_for(&mut self, timer: Timer, due: Alarm) {
        if !self.runs(timer) {
            self.wait_for(timer, due);
        }
    }

    /// Stops the timer `timer`, if it runs.
    pub(crate) fn stop_waiting_for(&mut self, timer: Timer) {
        if self.runs(timer) {
            self.stop_waiting();
        }
    }

    /// Stops the other timer.
    #[inline]
    pub(crate) const fn stop_waiting(&mut self) {
        self.waiting = Alarm::OFF;
    }

    pub(crate) fn runs(&self, timer: Timer) -> bool {
        self.waiting.is_on() && self.waiting_for == timer
    }

    /// The peer's window is closed: it is probed instead.
    pub(crate) fn probe_window(&mut self, rto: Nanos, config: &Config, now: Instant) {
        self.stop_retransmission();
        self.wait_once_for(Timer::Persist, config.expiry(rto, now));
    }

    /// A small segment waits for this reason; some such waits end by a timer.
    pub(crate) fn arm_for(&mut self, wait: Wait, config: &Config, now: Instant) {
        let (timer, span) = match wait {
            Wait::SillyWindow => (Timer::SillyWindowOverride, Some(SILLY_WINDOW_OVERRIDE)),
            Wait::Cork => (Timer::Cork, config.policies.hold.release()),
            _ => return,
        };
        if let Some(span) = span {
            self.wait_once_for(timer, Alarm::at(now + span));
        }
    }

    /// A timer has expired; how long there has been no progress.
    pub(crate) fn note_stall(&mut self, now: Instant) -> Duration {
        self.stalled_since.not_later_than(Alarm::at(now));
        self.stalled_since.due().map_or(Duration::ZERO, |at| now.since(at))
    }

    /// Whether a timer has expired since there was progress.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled_since.is_on()
    }

    /// The peer makes progress, or answers.
    #[inline]
    pub(crate) const fn note_progress(&mut self) {
        self.stalled_since = Alarm::OFF;
    }

    /// Which timer of what is outstanding is due, if one is; it stops.
    pub(crate) fn take_outstanding(&mut self, now: Instant) -> Option<Timer> {
        self.outstanding.take_due(now).then_some(self.outstanding_for)
    }

    /// Which other timer is due, if one is; it stops.
    pub(crate) fn take_waiting(&mut self, now: Instant) -> Option<Timer> {
        self.waiting.take_due(now).then_some(self.waiting_for)
    }

    /// The timer that is due first; of those due at once, the first of these. `ack_due` is the delayed ACK's.
    #[inline]
    pub(crate) fn earliest(&self, ack_due: Alarm) -> Option<Deadline> {
        let (mut first, mut timer) = (self.outstanding, self.outstanding_for);
        if self.waiting.is_before(first) {
            (first, timer) = (self.waiting, self.waiting_for);
        }
        if ack_due.is_before(first) {
            (first, timer) = (ack_due, Timer::DelayedAck);
        }
        first.due().map(|at| Deadline { at, timer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn of_timers_that_are_due_at_once_the_one_for_what_is_outstanding_comes_first() {
        let mut timers = Timers::default();
        assert_eq!(timers.earliest(Alarm::OFF), None);
        let due = Alarm::at(at(40));
        timers.wait_for(Timer::Cork, due);
        assert_eq!(timers.earliest(due).map(|it| it.timer), Some(Timer::Cork));
        timers.watch_outstanding(Timer::Retransmission, due);
        assert_eq!(timers.earliest(due).map(|it| it.timer), Some(Timer::Retransmission));
        assert_eq!(timers.earliest(Alarm::at(at(39))).map(|it| it.timer), Some(Timer::DelayedAck));
        assert_eq!(timers.take_outstanding(at(40)), Some(Timer::Retransmission));
        assert_eq!(timers.take_waiting(at(39)), None);
        assert_eq!(timers.take_waiting(at(40)), Some(Timer::Cork));
        assert_eq!(timers.earliest(Alarm::OFF), None);
    }

    #[test]
    fn a_stall_lasts_from_the_first_timeout_to_the_next_progress() {
        let mut timers = Timers::default();
        assert_eq!(timers.note_stall(at(100)), Duration::ZERO);
        assert_eq!(timers.note_stall(at(350)), Duration::from_millis(250));
        assert!(timers.is_stalled());
        timers.note_progress();
        assert!(!timers.is_stalled());
    }
}
