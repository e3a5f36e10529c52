//! Percentages of a capacity, and the gain of a moving average.

use ackwise_tcp::ByteCount;

/// A percentage, at most 100.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Percent(u8);

impl Percent {
    /// `None` above 100.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 100 { Some(Self(value)) } else { None }
    }

    /// This part of `whole`, rounded down.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        // Without overflow: the hundreds and the rest apart.
        whole / 100 * self.0 as u64 + whole % 100 * self.0 as u64 / 100
    }

    /// Whether `part` is at least this share of `whole`.
    #[must_use]
    pub const fn is_reached(self, part: u64, whole: u64) -> bool {
        part as u128 * 100 >= whole as u128 * self.0 as u128
    }
}

/// The weight of the newest sample in an exponentially weighted moving average: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain(f64);

impl Gain {
    /// The newest sample alone counts.
    pub const NO_SMOOTHING: Self = Self(1.0);
    /// 1/8: the gain of TCP's smoothed round-trip time (RFC 6298, section 2). Our choice for
    /// losses and demands, for which no source gives a gain.
    pub const EIGHTH: Self = Self(0.125);

    /// `None` outside of (0, 1].
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (value > 0.0 && value <= 1.0).then_some(Self(value))
    }

    /// The average after `sample`.
    #[must_use]
    pub fn average(self, average: f64, sample: f64) -> f64 {
        average + self.0 * (sample - average)
    }

    /// The same in bytes, rounded towards `target`, so that a constant target is reached.
    #[must_use]
    pub fn approach(self, current: ByteCount, target: ByteCount) -> ByteCount {
        let distance = current.0.abs_diff(target.0);
        #[expect(clippy::cast_precision_loss, reason = "a rounded step is as good")]
        let step = whole(libm::ceil(self.0 * distance as f64)).min(distance);
        ByteCount(if current < target { current.0 + step } else { current.0 - step })
    }
}

/// Cuts off the fraction; saturates.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
pub(crate) const fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_exact_for_any_amount() {
        let ninety = Percent::new(90).unwrap();
        assert_eq!([0, 1, 9, 10, 200].map(|whole| ninety.of(whole)), [0, 0, 8, 9, 180]);
        assert_eq!(ninety.of(u64::MAX), 16_602_069_666_338_596_453);
        assert_eq!(Percent::new(100).map(|all| all.of(u64::MAX)), Some(u64::MAX));
        assert!(ninety.is_reached(180, 200) && !ninety.is_reached(179, 200));
        assert!(ninety.is_reached(u64::MAX, u64::MAX) && !ninety.is_reached(0, u64::MAX));
        assert_eq!(Percent::new(101), None);
    }

    #[test]
    fn an_average_moves_by_the_gain() {
        assert_eq!(Gain::EIGHTH.average(8.0, 16.0), 9.0);
        assert_eq!(Gain::NO_SMOOTHING.average(8.0, 16.0), 16.0);
        for bad in [0.0, -0.5, 1.1, f64::NAN] {
            assert_eq!(Gain::new(bad), None);
        }
        assert_eq!((Gain::new(0.125), Gain::new(1.0).is_some()), (Some(Gain::EIGHTH), true));
    }

    #[test]
    fn a_target_is_approached_from_both_sides_and_reached() {
        let step = |from, to| Gain::EIGHTH.approach(ByteCount(from), ByteCount(to)).0;
        assert_eq!([step(800, 1_600), step(1_600, 800)], [900, 1_500]);
        assert_eq!([step(99, 100), step(101, 100), step(100, 100)], [100, 100, 100]);
        assert_eq!(Gain::NO_SMOOTHING.approach(ByteCount(0), ByteCount(u64::MAX)).0, u64::MAX);
    }
}
