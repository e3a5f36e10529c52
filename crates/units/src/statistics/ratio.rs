//! The median of ratios, with an interval that assumes no distribution.

use alloc::vec::Vec;

use super::{middle_of, sorted};

/// A ratio from pairs of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The lower end of the interval.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper end of the interval.
    pub upper: f64,
    /// Probability that an interval made in this way contains the true median: at least 95 %.
    pub confidence: f64,
    /// Number of pairs.
    pub pairs: usize,
}

impl Ratio {
    /// The median of `ratios`, and the narrowest interval between two of them, as many from each end,
    /// that has at least 95 % confidence. `None` with fewer than six, which have no such interval.
    ///
    /// The true median lies below the smallest k of n independent values with the probability that
    /// at most k - 1 of n tosses of a coin show heads (the interval of the sign test).
    #[must_use]
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Option<Self> {
        let ratios: Vec<f64> = sorted(ratios);
        let pairs = ratios.len();
        let (mut left_out, mut tail, mut term) =
            (None, 0.0, 0.5_f64.powi(i32::try_from(pairs).ok()?));
        for count in 0..pairs / 2 {
            // The probability of exactly `count` heads.
            tail += term;
            if 1.0 - 2.0 * tail < CONFIDENCE {
                break;
            }
            left_out = Some((count, 1.0 - 2.0 * tail));
            #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
            let next = (pairs - count) as f64 / (count + 1) as f64;
            term *= next;
        }
        let (left_out, confidence) = left_out?;
        Some(Self {
            lower: ratios[left_out],
            upper: ratios[pairs - 1 - left_out],
            confidence,
            pairs,
            median: middle_of(&ratios)?,
        })
    }

    /// Whether the interval lies on one side of 1.
    #[must_use]
    pub fn shows_a_difference(&self) -> bool {
        self.lower > 1.0 || self.upper < 1.0
    }
}

const CONFIDENCE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: u32) -> Option<Ratio> {
        Ratio::of((1..=count).rev().map(f64::from))
    }

    /// The tables of the sign test: the intervals of 6, 8, 9, 10, 15 and 20 values.
    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        for (count, lower, confidence) in [
            (6, 1.0, 0.96875),
            (8, 1.0, 0.9921875),
            (9, 2.0, 0.9609375),
            (10, 2.0, 0.978_515_625),
            (15, 4.0, 0.964_843_75),
            (20, 6.0, 0.958_610_534_667_968_8),
        ] {
            let ratio = of(count).unwrap();
            assert_eq!((ratio.lower, ratio.upper), (lower, f64::from(count) + 1.0 - lower));
            assert!((ratio.confidence - confidence).abs() < 1e-12, "{count}: {ratio:?}");
            assert_eq!(ratio.median, (f64::from(count) + 1.0) / 2.0);
        }
        assert_eq!([of(0), of(5)], [None, None]);
    }

    #[test]
    fn a_difference_needs_an_interval_beside_one() {
        let shows = |values: [f64; 6]| Ratio::of(values).unwrap().shows_a_difference();
        assert!(shows([1.1, 1.2, 1.1, 1.3, 1.1, 1.2]));
        assert!(shows([0.9; 6]));
        assert!(!shows([0.9, 1.2, 1.1, 1.3, 1.1, 1.2]));
    }
}
