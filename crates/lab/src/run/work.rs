//! Which rows are to be run, and who runs them.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use ackwise_link::Seed;
use ackwise_sim::{Measures, Observer, RunError, Scenario};
use ackwise_tcp::Instant;

#[cfg(target_os = "linux")]
use super::kernel;
use super::{
    row::{Row, RowKey},
    store_error::StoreError,
};
use crate::experiment::{Case, Experiment};

/// How to run an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many rows at once; more than [`Options::MOST_THREADS`] are not.
    pub threads: NonZeroUsize,
    /// When this becomes true, the rows that are under way are given up.
    pub stop: Arc<AtomicBool>,
    /// Who plays them.
    pub on: On,
}

/// Who plays the rows of an experiment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum On {
    /// The simulator, in virtual time.
    #[default]
    Simulator,
    /// This machine, in real time, one row after the other.
    #[cfg(target_os = "linux")]
    Live {
        /// By whose TCP.
        world: ackwise_live::World,
        /// Undisturbed runs of each row, whose measures are the medians.
        repeat: std::num::NonZeroU32,
    },
}

impl Options {
    /// A run is work for a core, and no machine has more of them.
    pub const MOST_THREADS: usize = 1024;
}

/// On all cores.
impl Default for Options {
    fn default() -> Self {
        Self {
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            stop: Arc::default(),
            on: On::default(),
        }
    }
}

impl On {
    /// For a plan: rows that were played in another way are others.
    #[cfg(feature = "parquet")]
    pub(super) fn describe(self) -> String {
        match self {
            Self::Simulator => "sim".to_owned(),
            #[cfg(target_os = "linux")]
            Self::Live { world, repeat } => {
                let world = match world {
                    ackwise_live::World::Kernel => "kernel",
                    ackwise_live::World::Wire => "wire",
                };
                format!("{world} --repeat {repeat}")
            }
        }
    }

    /// Has one row run, watched by `observer`, which real time has no use for.
    pub(super) fn run(
        self,
        experiment: &Experiment,
        place: RowKey,
        observer: &mut impl Observer,
        #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "for real time"))]
        (stop, clock): (&Arc<AtomicBool>, &Arc<AtomicU64>),
    ) -> Result<Row, RunAllError> {
        match self {
            Self::Simulator => run_place(experiment, place, observer)
                .map(|measures| Row::new(experiment, place, &measures)),
            #[cfg(target_os = "linux")]
            Self::Live { world, repeat } => {
                let row = kernel::play(experiment, place, (world, repeat), (stop, clock));
                row.map_err(|error| match error {
                    ackwise_live::PlayError::Stopped => stopped(experiment),
                    error => {
                        let experiment = experiment.name().to_owned();
                        RunAllError::Play { experiment, error }
                    }
                })
            }
        }
    }

    /// Whether it can play all cases.
    pub(super) fn check(self, experiment: &Experiment) -> Result<(), RunAllError> {
        match self {
            Self::Simulator => Ok(()),
            #[cfg(target_os = "linux")]
            Self::Live { world, .. } => {
                kernel::check(experiment, world).map_err(|error| RunAllError::Unplayable {
                    experiment: experiment.name().to_owned(),
                    remedy: kernel::remedy(experiment, world, &error)
                        .map_or_else(String::new, |setting| format!(" (try --set '{setting}')")),
                    error,
                })
            }
        }
    }
}

/// What happens while rows are run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Step<'a> {
    /// So many rows are to be there in the end.
    Planned(usize),
    /// A row was run.
    Finished(&'a Row),
    /// How much of the running rows is done, in rows: the sum of their shares of virtual time.
    Running(f64),
    /// How many rows are in the store, of this process and of others.
    Stored(usize),
}

/// Not all rows could be run. Those that were finished are in the store, if there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunAllError {
    /// A case does not run to its end.
    #[error("{experiment}{case}, seed {seed}: {error}")]
    Run {
        /// The experiment's file.
        experiment: String,
        /// Its labels, after a colon and a space if there are any.
        case: String,
        /// The seed.
        seed: u64,
        /// Why.
        error: RunError,
    },
    /// A case has what real time cannot play.
    #[cfg(target_os = "linux")]
    #[error("{experiment}: {error}{remedy}")]
    Unplayable {
        /// The experiment's file.
        experiment: String,
        /// What, and why.
        error: ackwise_live::Unplayable,
        /// What to set instead, in parentheses; empty if nothing is known to help.
        remedy: String,
    },
    /// A case could not be played to its end.
    #[cfg(target_os = "linux")]
    #[error("{experiment}: {error}")]
    Play {
        /// The experiment's file.
        experiment: String,
        /// Why.
        error: ackwise_live::PlayError,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// [`Options::stop`].
    #[error("stopped after {finished} of {of} rows")]
    Stopped {
        /// How many rows were there by then.
        finished: usize,
        /// How many rows there would have been.
        of: usize,
    },
}

/// Runs all rows of an experiment; they come in the experiment's order.
///
/// ```no_run
/// use ackwise_lab::{experiment::Experiment, run::{Options, run_all}};
///
/// let text = std::fs::read_to_string("crates/lab/experiments/stalls.toml")?;
/// let experiment = Experiment::parse("stalls.toml", &text)?.with_set("seeds=3")?;
/// for row in run_all(&experiment, &Options::default(), &mut |_| {})? {
///     println!("{}: {:?} ms", row.case, row.measure("web.page_time_p50_ms"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The first case that does not run to its end, or a stop.
pub fn run_all(
    experiment: &Experiment,
    options: &Options,
    on_step: &mut dyn FnMut(Step<'_>),
) -> Result<Vec<Row>, RunAllError> {
    options.on.check(experiment)?;
    let planned: Vec<RowKey> = RowKey::all(experiment).collect();
    let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
    on_step(Step::Planned(planned.len()));
    let of = planned.len();
    let (next, stop, on) = (AtomicUsize::new(0), &options.stop, options.on);
    let team = Team { experiment, planned, next, stop, on };
    let failure = team.work(options.threads, &mut |message| match message {
        Message::Running(share) => on_step(Step::Running(share)),
        Message::Finished(place, row) => {
            on_step(Step::Finished(&row));
            rows.insert(place, *row);
        }
    });
    let finished: Vec<Row> = rows.into_values().collect();
    match failure {
        Err(RunAllError::Run { error: RunError::Stopped, .. }) => {
            Err(RunAllError::Stopped { finished: finished.len(), of })
        }
        other => other.map(|()| finished),
    }
}

/// Runs one case with one seed, both by their places in the experiment, watched by `observer`.
///
/// # Errors
///
/// If it does not run to its end.
///
/// # Panics
///
/// If the experiment has no such case or no such seed.
pub fn run_one(
    experiment: &Experiment,
    case: usize,
    seed: usize,
    observer: &mut impl Observer,
) -> Result<(Row, Measures), RunAllError> {
    let place = RowKey { case, seed };
    let measures = run_place(experiment, place, observer)?;
    Ok((Row::new(experiment, place, &measures), measures))
}

fn run_place(
    experiment: &Experiment,
    place: RowKey,
    observer: &mut impl Observer,
) -> Result<Measures, RunAllError> {
    let Case { labels, scenario } = &experiment.cases()[place.case];
    let seed = experiment.seeds()[place.seed];
    let scenario = Scenario { seed: Seed(seed), ..scenario.clone() };
    ackwise_sim::run(&scenario, observer).map_err(|error| RunAllError::Run {
        experiment: experiment.name().to_owned(),
        case: if labels.is_empty() { String::new() } else { format!(": {labels}") },
        seed,
        error,
    })
}

pub(super) fn stopped(experiment: &Experiment) -> RunAllError {
    let experiment = experiment.name().to_owned();
    RunAllError::Run { experiment, case: String::new(), seed: 0, error: RunError::Stopped }
}

/// Threads that take one row after the other.
struct Team<'a> {
    experiment: &'a Experiment,
    planned: Vec<RowKey>,
    next: AtomicUsize,
    stop: &'a Arc<AtomicBool>,
    on: On,
}

/// What the threads tell.
enum Message {
    Running(f64),
    Finished(RowKey, Box<Row>),
}

impl Team<'_> {
    /// Has every row run, and tells of each on this thread. The first failure stops the others.
    fn work(
        &self,
        threads: NonZeroUsize,
        tell: &mut dyn FnMut(Message),
    ) -> Result<(), RunAllError> {
        let threads = threads.get().min(self.planned.len()).min(Options::MOST_THREADS);
        let cancelled = AtomicBool::new(false);
        let clocks: Vec<Arc<AtomicU64>> = (0..threads).map(|_| Arc::default()).collect();
        let (send, receive) = mpsc::sync_channel(0);
        thread::scope(|scope| {
            for clock in &clocks {
                let send = send.clone();
                let cancelled = &cancelled;
                scope.spawn(move || self.run_rows(clock, cancelled, &send));
            }
            drop(send);
            let outcome = self.listen(receive, &clocks, tell);
            cancelled.store(true, Ordering::Relaxed);
            outcome
        })
    }

    fn run_rows(
        &self,
        clock: &Arc<AtomicU64>,
        cancelled: &AtomicBool,
        send: &mpsc::SyncSender<Result<(RowKey, Box<Row>), RunAllError>>,
    ) {
        while let Some(&place) = self.planned.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut watch = Watch::new([&**self.stop, cancelled], clock);
            if !watch.goes_on(Instant::EPOCH) {
                // A run too short to be asked would else go on to the next one.
                break;
            }
            let row = self.on.run(self.experiment, place, &mut watch, (self.stop, clock));
            clock.store(0, Ordering::Relaxed);
            // Nobody listens after a failure.
            let _ = send.send(row.map(|row| (place, Box::new(row))));
        }
    }

    /// Listens until all threads have ended, or to the first failure: then it hangs up, which no thread
    /// waits for.
    fn listen(
        &self,
        receive: mpsc::Receiver<Result<(RowKey, Box<Row>), RunAllError>>,
        clocks: &[Arc<AtomicU64>],
        tell: &mut dyn FnMut(Message),
    ) -> Result<(), RunAllError> {
        let mut finished = 0;
        loop {
            match receive.recv_timeout(TICK) {
                Ok(row) => {
                    let (place, row) = row?;
                    finished += 1;
                    tell(Message::Finished(place, row));
                }
                Err(RecvTimeoutError::Timeout) => {
                    tell(Message::Running(share(clocks, self.experiment)));
                }
                Err(RecvTimeoutError::Disconnected) if finished < self.planned.len() => {
                    return Err(stopped(self.experiment));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}

/// The sum of the shares that are done of the rows under way. Cases may differ in how long they last;
/// this is for a progress bar, so the longest will do.
#[expect(clippy::cast_precision_loss, reason = "a share for a progress bar")]
pub(super) fn share(clocks: &[Arc<AtomicU64>], experiment: &Experiment) -> f64 {
    let longest = experiment.cases().iter().map(|case| case.scenario.duration).max();
    let longest = longest.unwrap_or(Duration::MAX).as_secs_f64();
    let simulated = clocks.iter().map(|clock| clock.load(Ordering::Relaxed) as f64 / 1e9);
    simulated.map(|seconds| (seconds / longest).min(1.0)).sum()
}

/// How often somebody hears how far the rows under way have come.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Stops a run when it is asked to, and says how far it has come.
pub(super) struct Watch<'a, const N: usize> {
    stop: [&'a AtomicBool; N],
    clock: &'a AtomicU64,
}

impl<'a, const N: usize> Watch<'a, N> {
    pub(super) const fn new(stop: [&'a AtomicBool; N], clock: &'a AtomicU64) -> Self {
        Self { stop, clock }
    }
}

impl<const N: usize> Observer for Watch<'_, N> {
    fn watches(&self) -> bool {
        false
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.clock.store(now.as_nanos(), Ordering::Relaxed);
        !self.stop.iter().any(|stop| stop.load(Ordering::Relaxed))
    }
}
