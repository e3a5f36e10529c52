//! Statistics of samples: what is in the middle, and how far a figure can be trusted.

mod moments;
mod ratio;

use alloc::vec::Vec;
use core::fmt;

pub use moments::Moments;
pub use ratio::Ratio;

/// The value in the middle; of an even number, the larger one.
///
/// ```
/// use ackwise_units::statistics::{median, middle};
/// assert_eq!(middle([9, 1, 4, 3]), Some(4));
/// assert_eq!(median([9.0, 1.0, 4.0, 3.0]), Some(3.5));
/// ```
pub fn middle<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

/// The value in the middle, or the mean of the two there.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    middle_of(&sorted(values))
}

/// Of values in ascending order, the one that this percentage of all are before.
pub fn percentile<T: Copy>(sorted: &[T], percent: u8) -> Option<T> {
    let place = sorted.len() * usize::from(percent) / 100;
    sorted.get(place.min(sorted.len().checked_sub(1)?)).copied()
}

/// Median and quartiles, which are robust against a single slow run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// A quarter of the values are below it.
    pub lower: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters.
    pub upper: f64,
}

impl Spread {
    /// NaN without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values);
        Self {
            lower: at(&sorted, 1),
            median: middle_of(&sorted).unwrap_or(f64::NAN),
            upper: at(&sorted, 3),
        }
    }

    /// Whether the middle half spans more than a quarter of the median.
    #[must_use]
    pub fn is_wide(self) -> bool {
        self.upper - self.lower > 0.25 * self.median
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower, median, upper } = self;
        write!(f, "{median:.3} [{lower:.3}, {upper:.3}]")
    }
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn middle_of(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

/// The value `quarters` quarters up the sorted list, interpolated between its neighbours.
fn at(sorted: &[f64], quarters: usize) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let (index, rest) = (quarters * last / 4, quarters * last % 4);
    let fraction = [0.0, 0.25, 0.5, 0.75][rest];
    let next = sorted[(index + 1).min(last)];
    sorted[index] + fraction * (next - sorted[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_even_number_the_larger_middle_or_the_mean_of_both() {
        assert_eq!([middle([]), middle([3, 1, 9]), middle([3, 1, 9, 4])], [None, Some(3), Some(4)]);
        assert_eq!(median([]), None);
        assert_eq!([median([3.0, 1.0, 9.0]), median([3.0, 1.0, 9.0, 4.0])], [Some(3.0), Some(3.5)]);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<u8> = (0..100).collect();
        assert_eq!([0, 50, 99, 100].map(|it| percentile(&values, it)), [0, 50, 99, 99].map(Some));
        assert_eq!(percentile::<u8>(&[], 50), None);
    }

    #[test]
    fn quartiles_of_small_sets() {
        let cases: &[(&[f64], [f64; 3])] = &[
            (&[7.0], [7.0, 7.0, 7.0]),
            (&[2.0, 1.0], [1.25, 1.5, 1.75]),
            (&[5.0, 1.0, 4.0, 2.0, 3.0], [2.0, 3.0, 4.0]),
        ];
        for (figures, [lower, median, upper]) in cases {
            let expected = Spread { lower: *lower, median: *median, upper: *upper };
            assert_eq!(Spread::of(figures.iter().copied()), expected, "{figures:?}");
        }
    }

    #[test]
    fn one_outlier_does_not_make_it_wide() {
        let steady = [10.0, 10.1, 10.2, 10.0, 10.1, 10.2, 10.1, 10.0, 900.0];
        assert!(!Spread::of(steady.into_iter()).is_wide());
        assert!(Spread::of([10.0, 20.0, 30.0].into_iter()).is_wide());
    }

    #[test]
    fn nothing_measured_is_not_a_figure() {
        assert!(Spread::of([].into_iter()).median.is_nan());
    }
}
