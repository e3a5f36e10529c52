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
    let cases = experiment.cases();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(cases.len()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = run_case(case, seed, observer(&case.labels));
            done.lock().expect("no one panics with it").push((&case.labels, outcome));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut done = done.into_inner().expect("no one panics with it");
    done.sort_by_key(|(labels, _)| cases.iter().position(|case| case.labels == **labels));
    let failed = |source| ReproduceError::Run { experiment: name.to_owned(), source };
    done.into_iter().map(|(_, outcome)| outcome.map_err(failed)).collect()
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
