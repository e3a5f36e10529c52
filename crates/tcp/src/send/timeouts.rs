//! What happens when time passes.

use super::Sender;
use crate::{config::Config, state::State, units::Instant, wait::Timer};

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
                self.round_trips.estimate_mut().back_off();
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
                State::SynSent => self.round_trips.estimate_mut().on_timeout_of_active_open(),
                _ => self.round_trips.estimate_mut().on_syn_timeout(),
            }
            self.sequence.lose_syn();
        } else {
            self.round_trips.estimate_mut().back_off();
            self.stop_pacing();
            self.go_back(first, config, now);
        }
    }
}
