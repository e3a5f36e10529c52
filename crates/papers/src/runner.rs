//! Runs a paper's experiment, with an observer of ours for each case.
//!
//! [`run_all`](ackwise_lab::run::run_all) does that for long experiments, and resumes; here runs are
//! short, and what is looked at is more than measures.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ackwise_explain::Explained;
use ackwise_lab::{
    experiment::{Case, Experiment, Labels},
    run::explainer::Explainer,
};
use ackwise_link::Seed;
use ackwise_sim::{Measures, Observer, Scenario, scenario::NodeId};

use super::{ReproduceError, file::File};

/// What came out of one case.
#[derive(Clone, Debug)]
pub(crate) struct Outcome<O> {
    /// Which one.
    pub(crate) labels: Labels,
    /// What was run.
    pub(crate) scenario: Scenario,
    /// What the run measured.
    pub(crate) measures: Measures,
    /// What its observer saw.
    pub(crate) seen: O,
}

impl<O> Outcome<O> {
    /// Whether the case is the one with these names and values.
    #[must_use]
    pub(crate) fn matches(&self, labels: &[(&str, &str)]) -> bool {
        has(&self.labels, labels)
    }
}

fn has(labels: &Labels, wanted: &[(&str, &str)]) -> bool {
    let shown = |name| labels.get(name).map(ToString::to_string);
    wanted.iter().all(|(name, value)| shown(name).as_deref() == Some(*value))
}

fn first_seed(experiment: &Experiment) -> Seed {
    Seed(experiment.seeds().first().copied().unwrap_or(1))
}

/// Runs each case of an experiment file with its first seed.
///
/// # Errors
///
/// If the file is none, or a run fails.
pub(crate) fn run<O: Observer + Send>(
    File { name, text }: File,
    observer: impl Fn(&Labels) -> O + Sync,
) -> Result<Vec<Outcome<O>>, ReproduceError> {
    run_cases(&Experiment::parse(name, text)?, &[], observer)
}

/// Runs each case of an experiment that has these names and values with its first seed.
///
/// # Errors
///
/// If a run fails.
pub(crate) fn run_cases<O: Observer + Send>(
    experiment: &Experiment,
    wanted: &[(&str, &str)],
    observer: impl Fn(&Labels) -> O + Sync,
) -> Result<Vec<Outcome<O>>, ReproduceError> {
    let cases: Vec<_> = experiment.cases().iter().filter(|it| has(&it.labels, wanted)).collect();
    let seed = first_seed(experiment);
    let outcomes = side_by_side(&cases, |case| run_case(case, seed, observer(&case.labels)));
    let name = experiment.name();
    let failed = |source| ReproduceError::Run { experiment: name.to_owned(), source };
    outcomes.into_iter().map(|outcome| outcome.map_err(failed)).collect()
}

/// Runs the first case of an experiment file with its first seed and explains what its server saw.
///
/// # Errors
///
/// If the file is none, or the run fails.
pub(crate) fn explain(File { name, text }: File) -> Result<Explained, ReproduceError> {
    let experiment = Experiment::parse(name, text)?;
    let case = &experiment.cases()[0];
    let server = case.scenario.applications.first().map_or(NodeId(0), |first| first.server);
    let outcome = run_case(case, first_seed(&experiment), Explainer::begin(server)?);
    let failed = |source| ReproduceError::Run { experiment: name.to_owned(), source };
    Ok(outcome.map_err(failed)?.seen.finish()?)
}

/// Does `each` for all of `work`, as many at once as there are cores; what comes out is in the order of
/// the work.
pub(crate) fn side_by_side<W: Sync, T: Send>(work: &[W], each: impl Fn(&W) -> T + Sync) -> Vec<T> {
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
