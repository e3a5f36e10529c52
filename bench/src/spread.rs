//! Median and quartiles, which are robust against a single slow run.

use std::fmt;

/// The range of the middle half of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Spread {
    /// NaN without values.
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        Self { lower: at(&sorted, 1), median: at(&sorted, 2), upper: at(&sorted, 3) }
    }

    /// Whether the middle half spans more than a quarter of the median.
    pub(crate) fn is_wide(self) -> bool {
        self.upper - self.lower > 0.25 * self.median
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower, median, upper } = self;
        write!(f, "{median:.3} [{lower:.3}, {upper:.3}]")
    }
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
