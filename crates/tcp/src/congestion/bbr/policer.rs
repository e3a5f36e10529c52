//! Long-term sampling: a policer drops what exceeds its rate, so that the bandwidth of its tokens is an
//! illusion (`bbr_lt_bw_sampling`).

use super::{Bbr, Mode, UNIT, millis, segments_per_time};
use crate::units::Nanos;

/// What is known of a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The bandwidth of the last interval, or of the policer.
    rate: u32,
    /// Where the interval began: delivered, lost, and when, in milliseconds.
    delivered: u32,
    lost: u32,
    since: u32,
    /// All that was lost.
    total_lost: u32,
    /// Rounds of this interval, or since the rate is used.
    rounds: u8,
    samples: bool,
    used: bool,
}

impl Policer {
    /// The bandwidth of the policer, if there seems to be one.
    pub(super) const fn bandwidth(&self) -> Option<u32> {
        if self.used { Some(self.rate) } else { None }
    }
}

impl Bbr {
    /// `bbr_lt_bw_sampling`: two intervals with the same bandwidth and a fifth lost are the work of a policer.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the sample")]
    pub(super) fn sample_long_term(&mut self, lost: u32, app_limited: bool) {
        self.policer.total_lost = self.policer.total_lost.wrapping_add(lost);
        if self.policer.used {
            self.count_used_round();
            return;
        }
        if !self.policer.samples {
            if lost == 0 {
                return;
            }
            self.begin_interval();
            self.policer.samples = true;
        }
        if app_limited {
            self.end_sampling();
            return;
        }
        if self.round_began {
            self.policer.rounds += 1;
        }
        if self.policer.rounds < LEAST_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * LEAST_ROUNDS {
            self.end_sampling();
            return;
        }
        if lost > 0 {
            self.judge_interval();
        }
    }

    fn count_used_round(&mut self) {
        if self.mode != Mode::ProbeBandwidth || !self.round_began {
            return;
        }
        self.policer.rounds += 1;
        if self.policer.rounds >= ROUNDS_USED {
            self.end_sampling();
            self.probe_bandwidth();
        }
    }

    /// An interval ends with a loss, when the tokens are used up.
    fn judge_interval(&mut self) {
        let lost = self.policer.total_lost.wrapping_sub(self.policer.lost);
        let delivered = self.rate.delivered.wrapping_sub(self.policer.delivered);
        if delivered == 0 || u64::from(lost) << 8 < LOSS_THRESHOLD * u64::from(delivered) {
            return;
        }
        let time = millis(self.rate.delivered_at).wrapping_sub(self.policer.since);
        if time > 0 {
            self.end_interval(segments_per_time(delivered, Nanos::from_millis(time.into())));
        }
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, rate: u32) {
        let known = self.policer.rate;
        if known > 0 {
            let difference = rate.abs_diff(known);
            let close = u64::from(difference) * u64::from(UNIT)
                <= u64::from(UNIT / 8) * u64::from(known)
                || self.rate_of(difference.into(), UNIT) <= CLOSE_RATE;
            if close {
                self.policer.rate = u32::midpoint(rate, known);
                (self.policer.used, self.policer.rounds) = (true, 0);
                return;
            }
        }
        self.policer.rate = rate;
        self.begin_interval();
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    const fn begin_interval(&mut self) {
        self.policer.since = millis(self.rate.delivered_at);
        self.policer.delivered = self.rate.delivered;
        self.policer.lost = self.policer.total_lost;
        self.policer.rounds = 0;
    }

    /// `bbr_reset_lt_bw_sampling`.
    pub(super) const fn end_sampling(&mut self) {
        (self.policer.rate, self.policer.used, self.policer.samples) = (0, false, false);
        self.begin_interval();
    }
}

/// `bbr_lt_intvl_min_rtts`.
const LEAST_ROUNDS: u8 = 4;
/// `bbr_lt_bw_max_rtts`.
const ROUNDS_USED: u8 = 48;
/// `bbr_lt_loss_thresh`, in 256ths: 20 %.
const LOSS_THRESHOLD: u64 = 50;
/// `bbr_lt_bw_diff`: 4 kbit/s.
const CLOSE_RATE: u64 = 4_000 / 8;
