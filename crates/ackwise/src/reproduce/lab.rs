//! Runs a paper's experiment, with an observer of ours for each case.
//!
//! [`run_all`](crate::run::run_all) does that for long experiments, and resumes; here runs are
//! short, and what is looked at is more than measures.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ackwise_link::Seed;
use ackwise_sim::{Measures, Observer, Scenario};

use super::{ReproduceError, study::File};
use crate::experiment::{Case, Experiment, Labels};

/// What came out of one case.
#[derive(Clone, Debug)]
pub struct Outcome<O> {
    /// Which one.
    pub labels: Labels,
    /// What was run.
    pub scenario: Scenario,
    /// What the run measured.
    pub measures: Measures,
    /// What its observer saw.
    pub seen: O,
}

impl<O> Outcome<O> {
    /// Whether the case is the one with these names and values.
    #[must_use]
    pub fn is(&self, labels: &[(&str, &str)]) -> bool {
        let shown = |name| self.labels.get(name).map(ToString::to_string);
        labels.iter().all(|(name, value)| shown(name).as_deref() == Some(*value))
    }
}

/// Runs each case of an experiment file with its first seed.
///
/// # Errors
///
/// If the file is none, or a run fails.
pub fn run<O: Observer + Send>(
    File { name, text }: File,
    observer: impl Fn(&Labels) -> O + Sync,
) -> Result<Vec<Outcome<O>>, ReproduceError> {
    let experiment = Experiment::parse(name, text)?;
    let seed = Seed(experiment.seeds().first().copied().unwrap_or(1));
    let outcomes =
        side_by_side(experiment.cases(), |case| run_case(case, seed, observer(&case.labels)));
    let failed = |source| ReproduceError::Run { experiment: name.to_owned(), source };
    outcomes.into_iter().map(|outcome| outcome.map_err(failed)).collect()
}

/// Does `each` for all of `work`, as many at once as there are cores; what comes out is in the order of
/// the work.
pub fn side_by_side<W: Sync, T: Send>(work: &[W], each: impl Fn(&W) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(work.len()));
    let take_turns = || loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = work.get(place) else { break };
        let result = each(item);
        done.lock().expect("no one panics with it").push((place, result));
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(work.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(take_turns))));
    let mut done = done.into_inner().expect("no one panics with it");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

fn run_case<O: Observer>(
    case: &Case,
    seed: Seed,
    mut seen: O,
) -> Result<Outcome<O>, ackwise_sim::RunError> {
    let scenario = Scenario { seed, ..case.scenario.clone() };
    let measures = ackwise_sim::run(&scenario, &mut seen)?;
    Ok(Outcome { labels: case.labels.clone(), scenario, measures, seen })
}
