//! Means over seeds, and how far they can be trusted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::row::Row;
use crate::experiment::Labels;

/// All rows of one case.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How the case differs from the others.
    pub case: Labels,
    /// The seeds of its rows.
    pub seeds: Vec<u64>,
    /// By the measure's name.
    pub measures: BTreeMap<String, Estimate>,
}

/// A measure over several runs.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Number of runs that had it.
    pub runs: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (n - 1); `None` for one run.
    pub sd: Option<f64>,
    /// Half-width of the 95 % confidence interval of the mean (Student's t); `None` for one run. Runs
    /// with different seeds are independent; the normal distribution is an assumption.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// `None` for no values.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "there are less than 2^53 runs")]
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (runs > 1).then(|| (squares / (runs - 1) as f64).sqrt());
        let ci95 = sd.map(|sd| student_975(runs - 1) * sd / (runs as f64).sqrt());
        Some(Self { runs, mean, sd, ci95 })
    }
}

/// One summary for each case, in the order of the rows.
#[must_use]
pub fn summaries(rows: &[Row]) -> Vec<Summary> {
    rows.chunk_by(|a, b| a.case == b.case).map(summary).collect()
}

fn summary(rows: &[Row]) -> Summary {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows {
        for (name, value) in &row.measures {
            values.entry(name).or_default().push(*value);
        }
    }
    let estimates = values.into_iter().filter_map(|(name, values)| {
        Estimate::of(&values).map(|estimate| (name.to_owned(), estimate))
    });
    Summary {
        case: rows[0].case.clone(),
        seeds: rows.iter().map(|row| row.seed).collect(),
        measures: estimates.collect(),
    }
}

/// Student's t for `freedom` degrees of freedom: 97.5 % of all values are below it.
#[expect(clippy::cast_precision_loss, reason = "there are less than 2^53 runs")]
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

    #[test]
    fn an_interval_needs_two_runs() {
        assert_eq!(Estimate::of(&[]), None);
        let one = Estimate { runs: 1, mean: 7.0, sd: None, ci95: None };
        assert_eq!(Estimate::of(&[7.0]), Some(one));
        let five = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((five.mean, five.sd), (3.0, Some(2.5_f64.sqrt())));
        assert!((five.ci95.unwrap() - 1.963_243).abs() < 1e-5, "{five:?}");
    }
}
