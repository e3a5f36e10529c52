//! What happens when time passes.

use core::time::Duration;

use super::{Endpoint, Event, Input, acknowledge::Acknowledger, alarm::Alarm};
use crate::{
    units::Instant,
    wait::{Deadline, Timer, Wait},
};

/// The timers of one connection, the delayed ACK's excepted, and when things last happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    pub(super) retransmission: Alarm,
    pub(super) persist: Alarm,
    pub(super) silly_window: Alarm,
    pub(super) cork: Alarm,
    pub(super) time_wait: Alarm,
    /// The first time-out without progress since.
    pub(super) stalled_since: Alarm,
    pub(super) last_send: Instant,
    pub(super) last_receive: Instant,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            retransmission: Alarm::OFF,
            persist: Alarm::OFF,
            silly_window: Alarm::OFF,
            cork: Alarm::OFF,
            time_wait: Alarm::OFF,
            stalled_since: Alarm::OFF,
            last_send: Instant::EPOCH,
            last_receive: Instant::EPOCH,
        }
    }
}

/// RFC 9293, section 3.8.6.2.1: the override time-out is "in the range 0.1 - 1.0 seconds" (ours).
const SILLY_WINDOW_OVERRIDE: Duration = Duration::from_millis(500);

impl Timers {
    pub(super) fn earliest(&self, acknowledger: &Acknowledger) -> Option<Deadline> {
        [
            (self.retransmission, Timer::Retransmission),
            (self.persist, Timer::Persist),
            (self.silly_window, Timer::SillyWindowOverride),
            (self.cork, Timer::Cork),
            (self.time_wait, Timer::TimeWait),
            (acknowledger.due, Timer::DelayedAck),
        ]
        .into_iter()
        .filter_map(|(alarm, timer)| alarm.due().map(|at| Deadline { at, timer }))
        .min_by_key(|deadline| deadline.at)
    }
}

impl Endpoint {
    pub(super) fn fire_timers(&mut self, now: Instant) {
        // The delayed-ACK timer needs no action: `poll_transmit` compares its time with `now`.
        if self.timers.retransmission.take_due(now) && self.goes_on_after_timeout(now) {
            self.retransmission_timeout(now);
        }
        if self.timers.persist.take_due(now) && self.goes_on_after_timeout(now) {
            self.round_trip.back_off();
            self.sender.next = self.sender.una;
            self.sender.release_held = true;
        }
        if self.timers.silly_window.take_due(now) || self.timers.cork.take_due(now) {
            self.sender.release_held = true;
        }
        if self.timers.time_wait.take_due(now) {
            self.step(Input::Expired);
        }
    }

    fn retransmission_timeout(&mut self, now: Instant) {
        if self.sender.una == 0 {
            self.round_trip.on_syn_timeout();
            self.sender.syn_lost = true;
            self.sender.next = 0;
            self.sender.timed = None;
        } else {
            let first = self.round_trip.back_offs() == 0;
            self.round_trip.back_off();
            self.go_back(first, now);
        }
    }

    /// R2 of RFC 9293, section 3.8.3: without progress for too long, the connection is given up.
    fn goes_on_after_timeout(&mut self, now: Instant) -> bool {
        self.timers.stalled_since.not_later_than(now);
        let stalled = self.timers.stalled_since.due().map_or(Duration::ZERO, |at| now.since(at));
        if stalled < self.config.user_timeout {
            return true;
        }
        if self.state.is_synchronized() {
            self.pending_reset = Some(self.reset_in_sequence());
        }
        self.step(Input::Expired);
        self.finish(Event::TimedOut(Timer::UserTimeout));
        false
    }

    /// When the retransmission timer expires if it is started now.
    pub(super) fn retransmission_due(&self, now: Instant) -> Alarm {
        Alarm::at(self.config.policies.timers.expiry(now, self.round_trip.rto()))
    }

    /// Nothing more is sent now: some waits end by a timer of their own.
    pub(super) fn arm_for(&mut self, wait: Wait, now: Instant) {
        match wait {
            Wait::ReceiveWindow { probing: true } if !self.timers.persist.is_on() => {
                self.timers.retransmission = Alarm::OFF;
                self.timers.persist = self.retransmission_due(now);
            }
            Wait::SillyWindow => {
                self.timers.silly_window.not_later_than(now + SILLY_WINDOW_OVERRIDE);
            }
            Wait::Cork => {
                if let Some(release) = self.config.policies.hold.release() {
                    self.timers.cork.not_later_than(now + release);
                }
            }
            _ => {}
        }
    }
}

/// The timestamp clock: milliseconds (RFC 7323, section 5.4: 1 ms to 1 s a tick).
#[expect(clippy::cast_possible_truncation, reason = "the clock wraps, as RFC 7323 expects")]
pub(super) const fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// The time since the peer's echo of our clock left us; `None` if the echo cannot be ours.
pub(super) fn elapsed_since_timestamp(echo: u32, now: Instant) -> Option<Duration> {
    let elapsed = timestamp(now).wrapping_sub(echo);
    let since_start = now.as_nanos() / 1_000_000;
    (u64::from(elapsed) <= since_start).then(|| Duration::from_millis(u64::from(elapsed)))
}
