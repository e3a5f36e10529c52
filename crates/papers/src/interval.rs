//! A measured value with its 95 % interval, and what it says beside a limit.

use ackwise_lab::run::Estimate;

/// A value with its 95 % interval; of a value without spread, both ends are the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Where an interval lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lies {
    /// All of it keeps the bound.
    Within,
    /// All of it breaks the bound.
    Without,
    /// It reaches across the bound, so that it decides nothing.
    Across,
}

/// How much a difference that is "little" may be (our choice; no paper's words have a number).
pub(super) const LITTLE: f64 = 0.05;

impl Interval {
    /// `None` without values; a single value has an interval without ends.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let Estimate { mean, ci95, .. } = Estimate::of(values)?;
        let half = ci95.unwrap_or(f64::INFINITY);
        Some(Self { mean, low: mean - half, high: mean + half })
    }

    /// Beside `least < value`.
    pub(super) fn above(&self, least: f64) -> Lies {
        self.lies(self.low > least, self.high <= least)
    }

    /// Beside `value < most`.
    pub(super) fn below(&self, most: f64) -> Lies {
        self.lies(self.high < most, self.low >= most)
    }

    /// Beside `value ± tolerance`.
    pub(super) fn near(&self, value: f64, tolerance: f64) -> Lies {
        let [least, most] = [value - tolerance, value + tolerance];
        self.lies(self.low >= least && self.high <= most, self.high < least || self.low > most)
    }

    /// A ratio beside 1 < value. A difference that is little in any case is a tie, not an open question.
    pub(super) fn more_than_the_other(&self) -> Lies {
        self.lies(self.low > 1.0, self.high <= 1.0 || self.is_little())
    }

    /// A ratio beside value < 1, as above.
    pub(super) fn less_than_the_other(&self) -> Lies {
        self.lies(self.high < 1.0, self.low >= 1.0 || self.is_little())
    }

    /// A ratio within [`LITTLE`] of 1, with its interval.
    pub(super) fn is_little(&self) -> bool {
        self.low > 1.0 - LITTLE && self.high < 1.0 + LITTLE
    }

    /// Whether it has a spread.
    pub(super) fn is_exact(&self) -> bool {
        self.low.to_bits() == self.mean.to_bits() && self.high.to_bits() == self.mean.to_bits()
    }

    #[expect(
        clippy::fn_params_excessive_bools,
        reason = "two answers that exclude each other, and the name of both"
    )]
    const fn lies(&self, within: bool, without: bool) -> Lies {
        match (within, without) {
            (true, _) => Lies::Within,
            (false, true) => Lies::Without,
            (false, false) => Lies::Across,
        }
    }
}

/// A value without spread.
impl From<f64> for Interval {
    fn from(value: f64) -> Self {
        Self { mean: value, low: value, high: value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Interval {
        Interval::of(values).unwrap()
    }

    #[test]
    fn an_interval_that_reaches_across_a_limit_decides_nothing() {
        let better = of(&[1.10, 1.12, 1.11]);
        assert_eq!(better.above(1.0), Lies::Within);
        assert_eq!(better.above(1.11), Lies::Across);
        assert_eq!(better.above(1.2), Lies::Without);
        assert_eq!(better.below(1.0), Lies::Without);
        assert_eq!(better.near(1.1, 0.1), Lies::Within);
        assert_eq!(better.near(1.0, 0.11), Lies::Across);
        assert_eq!(better.near(1.0, 0.05), Lies::Without);
        let single = of(&[2.0]);
        assert_eq!(single.above(1.0), Lies::Across, "one value has no interval");
        assert!(Interval::of(&[]).is_none());
    }

    #[test]
    fn a_tie_is_no_difference_and_an_unknown_one_is_open() {
        let same = of(&[1.01, 0.99, 1.00]);
        assert_eq!([same.more_than_the_other(), same.less_than_the_other()], [Lies::Without; 2]);
        let unknown = of(&[0.8, 1.2, 1.0]);
        let both = [unknown.more_than_the_other(), unknown.less_than_the_other()];
        assert_eq!(both, [Lies::Across; 2]);
        let slightly = of(&[1.010, 1.011, 1.012]);
        assert_eq!(slightly.more_than_the_other(), Lies::Within);
        assert_eq!(slightly.less_than_the_other(), Lies::Without);
    }

    #[test]
    fn a_value_without_spread_is_never_open() {
        for (value, above) in [(2.0, Lies::Without), (2.1, Lies::Within)] {
            assert_eq!(Interval::from(value).above(2.0), above);
        }
        assert!(Interval::from(2.0).is_exact() && !of(&[1.0, 2.0]).is_exact());
    }
}
