//! How often a connection loses a segment: the p of the throughput model.
//!
//! Okamoto et al. 2001, section 1, calls it the packet loss ratio, one of three parameters that "are
//! easily monitored by a sender host". PFTK's p counts loss *events*: segments lost in one window
//! count once. The caller decides what it counts; the losses of one recovery should count once.

use crate::ratio::Gain;

/// A probability of loss per segment.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct LossRate(f64);

impl LossRate {
    /// Nothing is lost.
    pub const ZERO: Self = Self(0.0);

    /// `None` outside of [0, 1].
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Between 0 and 1.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

/// What is known of a connection's losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// No segment has been sent.
    Unmeasured,
    /// Nothing has been lost yet.
    NoneAmong {
        /// Segments sent.
        segments: u64,
        /// The rate if the next segment were lost: 1 / (segments + 1).
        at_most: LossRate,
    },
    /// Segments were lost, at this smoothed rate.
    Measured(LossRate),
}

/// Segments that were sent in an interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sent {
    /// Segments with data, retransmissions included.
    pub segments: u64,
    /// Those that were lost, or the loss events among them.
    pub lost: u64,
}

/// A running estimate of [`Loss`]. One for each connection that sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossEstimate {
    gain: Gain,
    segments: u64,
    /// `None` before the first loss.
    smoothed: Option<f64>,
}

impl LossEstimate {
    /// Before anything is sent.
    #[must_use]
    pub const fn new(gain: Gain) -> Self {
        Self { gain, segments: 0, smoothed: None }
    }

    /// Takes what was sent in one interval. An interval in which nothing was sent is not a sample.
    pub fn observe(&mut self, sent: Sent) {
        if sent.segments == 0 {
            return;
        }
        self.segments = self.segments.saturating_add(sent.segments);
        let lost = sent.lost.min(sent.segments);
        self.smoothed = match self.smoothed {
            Some(before) => Some(self.gain.average(before, ratio(lost, sent.segments))),
            // The first loss counts among all segments so far: one loss in a short interval is not
            // the rate.
            None => (lost > 0).then(|| ratio(lost, self.segments)),
        };
    }

    /// What is known now.
    #[must_use]
    pub fn loss(&self) -> Loss {
        // After many intervals without loss, the average alone would go to zero.
        let bound = self.bound();
        match self.smoothed {
            _ if self.segments == 0 => Loss::Unmeasured,
            None => Loss::NoneAmong { segments: self.segments, at_most: LossRate(bound) },
            Some(smoothed) => Loss::Measured(LossRate(smoothed.max(bound))),
        }
    }

    /// The rate if the next segment were lost (our choice; the paper does not say which rate
    /// applies before the first loss).
    fn bound(&self) -> f64 {
        ratio(1, self.segments.saturating_add(1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(intervals: &[(u64, u64)]) -> Loss {
        let mut estimate = LossEstimate::new(Gain::EIGHTH);
        for (segments, lost) in intervals {
            estimate.observe(Sent { segments: *segments, lost: *lost });
        }
        estimate.loss()
    }

    fn measured(value: f64) -> Loss {
        Loss::Measured(LossRate(value))
    }

    #[test]
    fn the_rate_before_the_first_loss_is_what_the_segments_can_show() {
        assert_eq!(after(&[]), Loss::Unmeasured);
        assert_eq!(after(&[(0, 0)]), Loss::Unmeasured);
        let among = |segments, at_most| Loss::NoneAmong { segments, at_most: LossRate(at_most) };
        assert_eq!(after(&[(9, 0), (90, 0)]), among(99, 0.01));
    }

    #[test]
    fn the_first_loss_counts_among_all_segments() {
        assert_eq!(after(&[(99, 0), (10, 1)]), measured(1.0 / 109.0));
        assert_eq!(after(&[(99, 0), (10, 1), (0, 9)]), measured(1.0 / 109.0), "nothing sent");
        assert_eq!(after(&[(1_000, 1)]), measured(0.001), "in the first interval");
        assert_eq!(after(&[(1, 5)]), measured(1.0), "more lost than sent");
    }

    #[test]
    fn later_intervals_move_the_rate_by_the_gain() {
        assert_eq!(after(&[(80, 8), (10, 5)]), measured(0.1 * 0.875 + 0.5 * 0.125));
        assert_eq!(after(&[(80, 8), (10, 0)]), measured(0.1 * 0.875));
    }

    #[test]
    fn a_rate_decays_to_what_the_segments_can_show_and_no_further() {
        let mut estimate = LossEstimate::new(Gain::EIGHTH);
        estimate.observe(Sent { segments: 10, lost: 5 });
        (0..99).for_each(|_| estimate.observe(Sent { segments: 10, lost: 0 }));
        assert_eq!(estimate.loss(), measured(1.0 / 1_001.0));
    }

    #[test]
    fn a_rate_is_a_probability() {
        assert_eq!(LossRate::new(0.25).map(LossRate::as_f64), Some(0.25));
        assert_eq!(
            (LossRate::new(0.0), LossRate::new(1.0)),
            (Some(LossRate::ZERO), Some(LossRate(1.0)))
        );
        for bad in [-0.1, 1.1, f64::NAN] {
            assert_eq!(LossRate::new(bad), None);
        }
    }
}
