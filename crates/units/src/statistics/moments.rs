//! Mean and standard deviation, with the interval of Student's t.
#![expect(clippy::cast_precision_loss, reason = "there are less than 2^53 values")]

/// Mean and spread of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (n - 1); `None` for one value.
    pub deviation: Option<f64>,
}

impl Moments {
    /// `None` for no values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let freedom = count.checked_sub(1)?;
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (freedom > 0).then(|| (squares / freedom as f64).sqrt());
        Some(Self { count, mean, deviation })
    }

    /// The standard deviation of the mean; `None` for one value.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.deviation? / (self.count as f64).sqrt())
    }

    /// Half-width of the 95 % confidence interval of the mean; `None` for one value. That the values are
    /// independent and normally distributed is an assumption.
    #[must_use]
    pub fn interval_95(&self) -> Option<f64> {
        Some(student_975(self.count - 1) * self.deviation? / (self.count as f64).sqrt())
    }
}

/// Student's t for `freedom` degrees of freedom: 97.5 % of all values are below it.
fn student_975(freedom: usize) -> f64 {
    if let Some(value) = freedom.checked_sub(1).and_then(|at| STUDENT_975.get(at)) {
        return *value;
    }
    // Abramowitz and Stegun, 26.7.5, from the normal distribution's quantile.
    let (z, n) = (1.959_963_985_f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
}

/// For 1 to 12 degrees of freedom, where the series is too coarse.
const STUDENT_975: [f64; 12] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139, 2.200_985, 2.178_813,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_goes_on_where_the_table_ends() {
        // From the usual printed tables.
        for (freedom, expected) in [
            (1, 12.706),
            (4, 2.776),
            (12, 2.178_81),
            (13, 2.160_37),
            (20, 2.086),
            (30, 2.042),
            (120, 1.980),
        ] {
            assert!((student_975(freedom) - expected).abs() < 6e-4, "{freedom}");
        }
    }
}
