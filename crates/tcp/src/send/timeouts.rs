//! What happens when time passes.

use core::time::Duration;

use super::{Sender, flight::Flight};
use crate::{
    alarm::Alarm,
    config::Config,
    state::State,
    units::{Instant, Nanos},
    wait::{Timer, Wait},
};

/// What the endpoint has to do when timers have fired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AfterTimeout {
    /// Nothing more.
    GoesOn,
    /// R2 of RFC 9293, section 3.8.3: without progress for too long, the connection is given up.
    GivesUp,
    /// 2 MSL are over.
    EndsTimeWait,
}

/// RFC 9293, section 3.8.6.2.1: the override timeout is "in the range 0.1 - 1.0 seconds"; the value is our choice.
const SILLY_WINDOW_OVERRIDE: Duration = Duration::from_millis(500);

impl Sender {
    /// Lets timers fire.
    pub(crate) fn handle_timeout(
        &mut self,
        state: State,
        config: &Config,
        now: Instant,
    ) -> AfterTimeout {
        match self.timers.take_outstanding(now) {
            None => {}
            Some(Timer::Reordering) => self.reordering_timeout(config, now),
            Some(Timer::TailLossProbe) => self.probe_timeout(config, now),
            Some(_) => {
                let first = !self.timers.is_stalled();
                if self.timers.note_stall(now) >= config.user_timeout {
                    return AfterTimeout::GivesUp;
                }
                self.retransmission_timeout(first, state, config, now);
            }
        }
        match self.timers.take_waiting(now) {
            None | Some(Timer::Pacing) => {}
            Some(Timer::TimeWait) => return AfterTimeout::EndsTimeWait,
            Some(Timer::Persist) => {
                if self.timers.note_stall(now) >= config.user_timeout {
                    return AfterTimeout::GivesUp;
                }
                self.round_trip.back_off();
                self.sequence.rewind();
                self.sequence.release();
            }
            Some(_) => self.sequence.release(),
        }
        AfterTimeout::GoesOn
    }

    /// `first` unless the segment at SND.UNA has timed out before.
    fn retransmission_timeout(&mut self, first: bool, state: State, config: &Config, now: Instant) {
        if self.sequence.una() == 0 {
            match state {
                State::SynSent => self.round_trip.on_timeout_of_active_open(),
                _ => self.round_trip.on_syn_timeout(),
            }
            self.sequence.lose_syn();
        } else {
            self.round_trip.back_off();
            self.stop_pacing();
            self.go_back(first, config, now);
        }
    }

    /// When the retransmission timer expires if it is started now.
    #[inline]
    pub(super) fn retransmission_due(&self, config: &Config, now: Instant) -> Alarm {
        config.expiry(self.round_trip.time_out(), now)
    }

    /// The retransmission timer goes on where another one was in its place: it counts from the head (Linux
    /// `tcp_rearm_rto`).
    pub(super) fn resume_retransmission_timer(&mut self, config: &Config, now: Instant) {
        let head = self.in_flight.list().and_then(Flight::head_sent).unwrap_or(now);
        let left = self.round_trip.time_out() - Nanos::between(head, now);
        self.timers.start_retransmission(config.expiry(left.max(Nanos::new(1)), now));
    }

    /// Some waits end by a timer of their own.
    pub(super) fn arm_for(&mut self, wait: Wait, config: &Config, now: Instant) {
        match wait {
            Wait::ReceiveWindow { probing: true } => {
                self.timers.stop_retransmission();
                self.timers.wait_once_for(Timer::Persist, self.retransmission_due(config, now));
            }
            Wait::SillyWindow => {
                let due = Alarm::at(now + SILLY_WINDOW_OVERRIDE);
                self.timers.wait_once_for(Timer::SillyWindowOverride, due);
            }
            Wait::Cork => {
                if let Some(release) = config.policies.hold.release() {
                    self.timers.wait_once_for(Timer::Cork, Alarm::at(now + release));
                }
            }
            Wait::Pacing => {
                if let Some(due) = self.control.paced_until(now) {
                    self.timers.wait_for(Timer::Pacing, Alarm::at(due));
                }
            }
            _ => {}
        }
    }
}
