//! Linux's estimator (`tcp_rtt_estimator`, `__tcp_set_rto`), in microseconds.
//!
//! It differs from RFC 6298 in three ways. The variance follows the largest mean deviation of a round trip, not each
//! sample, and comes down by a quarter of the difference in each round trip. A sample that is shorter than expected
//! hardly counts as a deviation. And the timeout is a whole number of ticks of the kernel's clock.

use crate::{policy::TimerPolicy, units::Nanos};

/// What it remembers: 20 bytes, because an endpoint has no room for more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Linux {
    /// `srtt_us`: 8 SRTT; zero before there is a sample.
    pub(super) srtt_8: u32,
    /// `mdev_us`: four times the mean deviation.
    deviation: u32,
    /// `mdev_max_us`: the most that it was in this round trip.
    most: u32,
    /// `rttvar_us`.
    pub(super) variance: u32,
    /// `rtt_seq`: the round trip ends when something beyond this position is acknowledged, modulo 2^32.
    until: u32,
}

impl Linux {
    pub(super) const fn from_words([srtt_8, deviation, most, variance, until]: [u32; 5]) -> Self {
        Self { srtt_8, deviation, most, variance, until }
    }

    pub(super) const fn words(self) -> [u32; 5] {
        let Self { srtt_8, deviation, most, variance, until } = self;
        [srtt_8, deviation, most, variance, until]
    }

    /// What another connection has measured, as if it were the first sample.
    pub(super) fn inherited(srtt: Nanos, variance: Nanos) -> Self {
        let variance = (micros(variance).saturating_mul(4)).max(LEAST_VARIANCE);
        let srtt_8 = micros(srtt).saturating_mul(8).max(1);
        Self { srtt_8, deviation: variance, most: variance, variance, until: 0 }
    }

    /// Takes a sample, when everything before `una` is acknowledged and everything before `next` was sent.
    pub(super) fn sample(&mut self, sample: Nanos, una: u32, next: u32) {
        let sample = micros(sample);
        if self.srtt_8 == 0 {
            // The timeout is three round trips.
            self.deviation = sample.saturating_mul(2);
            self.variance = self.deviation.max(LEAST_VARIANCE);
            (self.most, self.until) = (self.variance, next);
            self.srtt_8 = sample.saturating_mul(8).max(1);
            return;
        }
        let expected = self.srtt_8 >> 3;
        self.srtt_8 = (self.srtt_8 - expected + sample).max(1);
        let mean = self.deviation >> 2;
        let off = sample.abs_diff(expected);
        let more = off.saturating_sub(mean);
        // Of what is more than the mean, a sample that is too short adds an eighth.
        let more = if sample < expected { more >> 3 } else { more };
        self.deviation = self.deviation + more - mean.saturating_sub(off);
        if self.deviation > self.most {
            self.most = self.deviation;
            self.variance = self.variance.max(self.most);
        }
        let ahead = una.wrapping_sub(self.until);
        if ahead > 0 && ahead < 1 << 31 {
            self.variance -= self.variance.saturating_sub(self.most) >> 2;
            (self.most, self.until) = (LEAST_VARIANCE, next);
        }
    }

    /// A position beyond the end of this round trip.
    pub(super) const fn after_round_trip(self) -> u32 {
        self.until.wrapping_add(1)
    }

    /// The timeout without back-off. It is not below the least variance.
    #[inline]
    pub(super) fn time_out(self) -> Nanos {
        let ticks = ((self.srtt_8 >> 3) + self.variance).div_ceil(TICK) as u64;
        Nanos::new(ticks.min(MOST_TICKS) * TimerPolicy::LINUX_TICK.get())
    }
}

fn micros(span: Nanos) -> u32 {
    u32::try_from(span.micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// A tick, in microseconds.
const TICK: u32 = 4_000;
/// `TCP_RTO_MAX`, in ticks.
const MOST_TICKS: u64 = 30_000;
/// `tcp_rto_min_us`.
const LEAST_VARIANCE: u32 = 200_000;
/// Our choice: eight of it fit 32 bits, and no round trip takes six minutes.
const LONGEST: u32 = 360_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The timeouts in milliseconds after samples in milliseconds, `per_trip` of them in each round trip.
    fn time_outs<const N: usize>(samples: [u64; N], per_trip: u32) -> [u64; N] {
        let (mut state, mut number) = (Linux::from_words([0; 5]), 0);
        samples.map(|sample| {
            number += 1;
            // What is sent now is acknowledged a round trip later.
            state.sample(Nanos::from_millis(sample), number, number + per_trip - 1);
            state.time_out().micros() / 1_000
        })
    }

    #[test]
    fn the_first_timeout_is_three_round_trips_and_comes_down_once_in_a_round_trip() {
        // 800 + 1,600. Then the mean deviation is 1,200, 900, 675, … of which the largest of a round trip counts.
        assert_eq!(time_outs([800; 4], 1), [2_400, 2_400, 2_228, 2_040]);
        // In the middle of a round trip, nothing comes down.
        assert_eq!(time_outs([800; 4], 4), [2_400; 4]);
    }

    #[test]
    fn a_longer_sample_counts_at_once_and_a_shorter_one_hardly() {
        assert!(time_outs([40, 40, 160, 640], 1)[3] > 700);
        let shorter = time_outs([400, 400, 400, 400, 400, 40], 1);
        assert!(shorter[5] < time_outs([400; 6], 1)[5]);
    }

    #[test]
    fn the_timeout_is_rounded_up_to_ticks() {
        assert_eq!(time_outs([40, 41, 42, 43], 1), [240, 244, 244, 244]);
    }
}
