//! What happens when time passes.

use core::time::Duration;

use super::{Endpoint, Event, Input, State, flight::Flight};
use crate::{
    alarm::Alarm,
    units::{Instant, Nanos},
    wait::{Deadline, Timer, Wait},
};

/// The timers of one connection, the delayed ACK's excepted, and when things last happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// The timer of what is outstanding. RFC 8985, sections 6.3 and 7.2: the reordering timer and the probe timer
    /// take the place of the retransmission timer, as in Linux (`icsk_pending`), so that no two are due at once.
    outstanding: Alarm,
    outstanding_for: Timer,
    /// The one other timer that may run: nothing is held in TIME-WAIT, and a segment is held for one
    /// reason.
    pub(super) waiting: Alarm,
    waiting_for: Timer,
    /// The first timeout without progress since.
    pub(super) stalled_since: Alarm,
    pub(super) last_send: Instant,
    pub(super) last_receive: Instant,
}

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

/// RFC 9293, section 3.8.6.2.1: the override timeout is "in the range 0.1 - 1.0 seconds"; the value is our choice.
const SILLY_WINDOW_OVERRIDE: Duration = Duration::from_millis(500);

impl Timers {
    /// Nothing is waited for any more.
    pub(super) const fn stop(&mut self) {
        self.outstanding = Alarm::OFF;
        self.waiting = Alarm::OFF;
        self.stalled_since = Alarm::OFF;
    }

    /// Starts the retransmission timer, or with [`Alarm::OFF`] stops it, and what is in its place.
    #[inline]
    pub(super) const fn retransmit(&mut self, due: Alarm) {
        self.watch_outstanding(Timer::Retransmission, due);
    }

    /// Starts `timer` in place of the retransmission timer.
    #[inline]
    pub(super) const fn watch_outstanding(&mut self, timer: Timer, due: Alarm) {
        (self.outstanding, self.outstanding_for) = (due, timer);
    }

    /// Whether something that is outstanding has a timer.
    #[inline]
    pub(super) fn watches_outstanding(&self) -> bool {
        self.outstanding.is_on()
    }

    /// Whether `timer` runs, of those for what is outstanding.
    #[inline]
    pub(super) fn watches_by(&self, timer: Timer) -> bool {
        self.outstanding_for == timer && self.outstanding.is_on()
    }

    /// Starts the timer `timer` in place of any other, those for what is outstanding excepted.
    pub(super) const fn wait_for(&mut self, timer: Timer, due: Alarm) {
        (self.waiting, self.waiting_for) = (due, timer);
    }

    /// Starts the timer `timer`, unless it runs.
    fn wait_once_for(&mut self, timer: Timer, due: Alarm) {
        if !self.runs(timer) {
            self.wait_for(timer, due);
        }
    }

    pub(super) fn runs(&self, timer: Timer) -> bool {
        self.waiting.is_on() && self.waiting_for == timer
    }

    /// The timer that is due first; of those due at once, the first of these.
    #[inline]
    pub(super) fn earliest(&self, ack_due: Alarm) -> Option<Deadline> {
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

impl Endpoint {
    pub(super) fn fire_timers(&mut self, now: Instant) {
        // The delayed-ACK timer needs no action: `poll_transmit` compares its time with `now`.
        if self.timers.outstanding.take_due(now) {
            match self.timers.outstanding_for {
                Timer::Reordering => self.reordering_timeout(now),
                Timer::TailLossProbe => self.probe_timeout(now),
                _ => {
                    let first = !self.timers.stalled_since.is_on();
                    if self.goes_on_after_timeout(now) {
                        self.retransmission_timeout(first, now);
                    }
                }
            }
        }
        if self.timers.waiting.take_due(now) {
            self.waited(self.timers.waiting_for, now);
        }
    }

    /// The timer that was waited for has fired.
    fn waited(&mut self, timer: Timer, now: Instant) {
        match timer {
            Timer::TimeWait => self.step(Input::Expired),
            Timer::Persist if !self.goes_on_after_timeout(now) => {}
            Timer::Persist => {
                self.round_trip.back_off();
                self.sender.next = self.sender.una;
                self.sender.release_held = true;
            }
            Timer::Pacing => {}
            _ => self.sender.release_held = true,
        }
    }

    /// `first` unless the segment at SND.UNA has timed out before.
    fn retransmission_timeout(&mut self, first: bool, now: Instant) {
        if self.sender.una == 0 {
            match self.state {
                State::SynSent => self.round_trip.on_timeout_of_active_open(),
                _ => self.round_trip.on_syn_timeout(),
            }
            self.sender.syn_lost = true;
            self.sender.next = 0;
            self.sender.timed_since = Alarm::OFF;
        } else {
            self.round_trip.back_off();
            self.stop_pacing();
            self.go_back(first, now);
        }
    }

    /// R2 of RFC 9293, section 3.8.3: without progress for too long, the connection is given up. No RST:
    /// section 3.10.8: "delete the TCB, enter the CLOSED state, and return", and so does Linux.
    fn goes_on_after_timeout(&mut self, now: Instant) -> bool {
        self.timers.stalled_since.not_later_than(Alarm::at(now));
        let stalled = self.timers.stalled_since.due().map_or(Duration::ZERO, |at| now.since(at));
        if stalled < self.config.user_timeout {
            return true;
        }
        self.step(Input::Expired);
        self.finish(Event::TimedOut(Timer::UserTimeout));
        false
    }

    /// When the retransmission timer expires if it is started now.
    #[inline]
    pub(super) fn retransmission_due(&self, now: Instant) -> Alarm {
        self.config.expiry(self.round_trip.time_out(), now)
    }

    /// The retransmission timer goes on where another one was in its place: it counts from the head (Linux
    /// `tcp_rearm_rto`).
    pub(super) fn resume_retransmission_timer(&mut self, now: Instant) {
        let head = self.flight.as_deref().and_then(Flight::head_sent).unwrap_or(now);
        let left = self.round_trip.time_out() - Nanos::between(head, now);
        self.timers.retransmit(self.config.expiry(left.max(Nanos::new(1)), now));
    }

    /// Nothing more is sent now: some waits end by a timer of their own.
    pub(super) fn arm_for(&mut self, wait: Wait, now: Instant) {
        match wait {
            Wait::ReceiveWindow { probing: true } => {
                self.timers.retransmit(Alarm::OFF);
                self.timers.wait_once_for(Timer::Persist, self.retransmission_due(now));
            }
            Wait::SillyWindow => {
                let due = Alarm::at(now + SILLY_WINDOW_OVERRIDE);
                self.timers.wait_once_for(Timer::SillyWindowOverride, due);
            }
            Wait::Cork => {
                if let Some(release) = self.config.policies.hold.release() {
                    self.timers.wait_once_for(Timer::Cork, Alarm::at(now + release));
                }
            }
            Wait::Pacing => {
                if let Some(due) = self.paced_until(now) {
                    self.timers.wait_for(Timer::Pacing, Alarm::at(due));
                }
            }
            _ => {}
        }
    }
}
