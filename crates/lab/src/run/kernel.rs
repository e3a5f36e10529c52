//! Rows that are played on the kernel instead of simulated: several runs each, because real time has
//! disturbances, and the median of each measure.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use ackwise_link::Seed;
use ackwise_live::{Limits, PlayError, Unplayable};
use ackwise_sim::Scenario;

use super::row::{Place, RUNS_ON_KERNEL, Row};
use crate::experiment::Experiment;

/// Whether the kernel can play all cases of an experiment.
pub(super) fn check(experiment: &Experiment) -> Result<(), Unplayable> {
    experiment.cases().iter().try_for_each(|case| ackwise_live::check(&case.scenario))
}

/// Plays a row until it has as many undisturbed runs as wanted, or has been disturbed too often.
pub(super) fn play(
    experiment: &Experiment,
    place: Place,
    repeat: NonZeroU32,
    (stop, clock): (&Arc<AtomicBool>, &Arc<AtomicU64>),
) -> Result<Row, PlayError> {
    let case = &experiment.cases()[place.case];
    let seed = Seed(experiment.seeds()[place.seed]);
    let scenario = Scenario { seed, ..case.scenario.clone() };
    let limits = Limits { stop: Arc::clone(stop), clock: Arc::clone(clock) };
    let (mut good, mut disturbed) = (Vec::new(), Vec::new());
    while good.len() < repeat.get() as usize && disturbed.len() < MOST_DISTURBED {
        let played = ackwise_live::play(&scenario, &limits)?;
        let row = Row::new(experiment, place, &played.measures);
        match played.disturbed {
            None => good.push(row),
            Some(_) => disturbed.push(row),
        }
    }
    Ok(middle(&good, &disturbed))
}

/// The medians of the undisturbed runs; of the others if there are none.
fn middle(good: &[Row], disturbed: &[Row]) -> Row {
    let rows = if good.is_empty() { disturbed } else { good };
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|row| &row.measures) {
        all.entry(name).or_default().push(*value);
    }
    let mut measures: BTreeMap<String, f64> =
        all.into_iter().map(|(name, values)| (name.to_owned(), median(values))).collect();
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let count = |rows: &[Row]| rows.len() as f64;
    measures.insert(RUNS.to_owned(), count(good));
    measures.insert(DISTURBED.to_owned(), count(disturbed));
    let first = rows.first().expect("there is a run, good or disturbed");
    Row { measures, ..first.clone() }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

/// The measure that counts undisturbed runs; a row without it was simulated.
pub const RUNS: &str = RUNS_ON_KERNEL;
/// The measure that counts disturbed runs.
pub const DISTURBED: &str = "kernel.disturbed";
/// Disturbed runs of a row, after which it has to do with what there is (our choice).
const MOST_DISTURBED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_between_the_two_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
