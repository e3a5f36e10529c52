//! Means over seeds, and how far they can be trusted.

use std::collections::BTreeMap;

use ackwise_units::statistics::Moments;
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
    pub fn of(values: &[f64]) -> Option<Self> {
        let of = Moments::of(values)?;
        let (sd, ci95) = (of.deviation, of.interval_95());
        Some(Self { runs: of.count, mean: of.mean, sd, ci95 })
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

#[cfg(test)]
mod tests {
    use super::*;

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
