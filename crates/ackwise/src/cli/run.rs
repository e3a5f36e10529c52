//! `ackwise run EXPERIMENT`: an experiment in, rows out.

use std::{
    io::{self, IsTerminal},
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    sync::Arc,
};

use ackwise_lab::{
    experiment::{Draft, Experiment, LoadError, built_in, built_in_names},
    run::{
        On, Options, Row, RunAllError, Step,
        export::{MeasureFilter, PageNotes, list_json},
        record::Recording,
        run_all, store,
    },
};
use ackwise_text::printable;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    files,
    interrupt::Stop,
    number::whole,
    outcome::{Failure, Outcome},
    output,
    record::Record,
    rows::Formats,
};

/// Run every combination of an experiment's variables, simulated or on this machine's kernel
///
/// An experiment is a TOML file that defines hosts, links, applications, the variables of a sweep and
/// the metrics to show (docs/experiments.md). A case is one combination of values of the variables. Each
/// case runs once with each seed, and each run gives one row of results. Runs are spread over all cores.
/// Simulated results are deterministic: the same file, version and seed give the same rows on any machine with any
/// number of threads.
///
/// A command with --store can be resumed after Ctrl-C or a crash: run it again. Several processes and machines can
/// share the work: run it on each.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Run this experiment: a file or the name of a built-in experiment
    #[arg(long_help = experiment_help())]
    experiment: PathBuf,

    /// Set a value of the experiment (repeatable), for example link.NAME.delay="20 ms"
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,

    /// Run each case with seeds 1 to N instead of the experiment's own
    #[arg(long, value_name = "N", value_parser = whole(1..=10_000_u32))]
    seeds: Option<u32>,

    /// Show only these metrics in the table; * matches any text
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    show: Vec<String>,

    /// List the cases instead of running them
    #[arg(long)]
    list: bool,

    /// Run N simulations in parallel [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = whole(NonZeroUsize::MIN..=MOST_THREADS))]
    threads: Option<NonZeroUsize>,

    /// Run the experiment in the simulator, or in real time on this machine: real sockets in network
    /// namespaces, over emulated links (Linux only)
    #[arg(long, value_name = "WORLD", value_enum, default_value_t = WorldName::Sim)]
    on: WorldName,

    /// With --on kernel or wire, repeat each row until N runs had no late packet, and report the medians
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_u32), default_value_t = 1)]
    repeat: u32,

    /// Keep finished rows in this directory, as Parquet files. Several processes and machines can work on one
    /// directory at once, and the same command resumes the run
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    store: Option<PathBuf>,

    #[command(flatten)]
    formats: Formats,

    #[command(flatten)]
    record: Record,
}

/// Who plays an experiment.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum WorldName {
    /// Virtual time: fast and deterministic
    Sim,
    /// Kernel sockets at both ends, in real time
    Kernel,
    /// Ackwise's own TCP at the clients, on TUN devices, and kernel sockets at the servers, in real time
    Wire,
}

/// Reads, runs, prints.
pub(crate) fn run(arguments: &Run) -> Result<Outcome, Failure> {
    let experiment = arguments.read()?;
    if arguments.list {
        let list = match arguments.formats.json() {
            true => list_json(&experiment),
            false => list(&experiment),
        };
        return output::print(&list, Outcome::Good);
    }
    arguments.check_files()?;
    let on = arguments.world()?;
    let stop = Stop::on_signal()?;
    let filter = MeasureFilter::of(&experiment);
    let about = PageNotes { title: experiment.title().unwrap_or_default(), explained: None };
    if on == On::Simulator
        && (arguments.record.is_wanted() || arguments.is_page_of_one(&experiment))
    {
        let recording = Recording {
            explain: arguments.formats.html(),
            stop: Arc::clone(stop.asked()),
            ..arguments.record.recording()
        };
        let recorded = arguments.record.run(&experiment, &recording);
        let (row, explained) = recorded.map_err(|error| {
            stop.signal().map_or(error, |signal| Failure::Interrupted { signal })
        })?;
        let about = PageNotes { explained: explained.as_ref(), ..about };
        return arguments.formats.export(&[row], &filter, &about);
    }
    let mut options = Options { stop: Arc::clone(stop.asked()), on, ..Options::default() };
    options.threads = match on {
        On::Simulator => arguments.threads.unwrap_or(options.threads),
        // Rows that run at the same time would disturb each other.
        #[cfg(target_os = "linux")]
        On::Live { .. } => NonZeroUsize::MIN,
    };
    let kept = || arguments.store.clone();
    let rows = with_progress(&experiment, &options, arguments.store.as_deref());
    let rows = rows.map_err(|error| match error {
        RunAllError::Stopped { finished, of } => {
            let signal = stop.signal().unwrap_or(0);
            Failure::Stopped { signal, finished, of, kept: kept() }
        }
        error => error.into(),
    })?;
    #[cfg(target_os = "linux")]
    if let On::Live { world, .. } = on {
        warn_of_disturbances(&rows, world);
    }
    let exported = arguments.formats.export(&rows, &filter, &about);
    exported.map_err(|error| Failure::NotExported { error: Box::new(error), kept: kept() })
}

impl Run {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.formats.json()
    }

    /// Who plays the experiment. Without root, the process moves into a network of its own, which only
    /// works before it has threads.
    #[cfg(target_os = "linux")]
    fn world(&self) -> Result<On, Failure> {
        use ackwise_lab::run::kernel::World;
        let world = match self.on {
            WorldName::Sim => return self.simulated(),
            WorldName::Kernel => World::Kernel,
            WorldName::Wire => World::Wire,
        };
        if self.record.is_wanted() {
            return Err(Failure::Usage(
                "--on kernel and --on wire cannot be combined with the options that record one run \
                 (expected --on sim)"
                    .to_owned(),
            ));
        }
        ackwise_linux::namespace::enter_private_network()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(On::Live { world, repeat: NonZeroU32::new(self.repeat).unwrap_or(NonZeroU32::MIN) })
    }

    #[cfg(not(target_os = "linux"))]
    fn world(&self) -> Result<On, Failure> {
        match self.on {
            WorldName::Sim => self.simulated(),
            WorldName::Kernel | WorldName::Wire => Err(Failure::Usage(
                "--on kernel and --on wire need Linux (expected --on sim)".to_owned(),
            )),
        }
    }

    fn simulated(&self) -> Result<On, Failure> {
        if self.repeat > 1 {
            let text =
                "--repeat needs --on kernel or --on wire: a simulation is the same each time";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(On::Simulator)
    }

    fn read(&self) -> Result<Experiment, Failure> {
        let name = self.experiment.to_string_lossy();
        let draft = match Draft::load(&self.experiment) {
            Err(LoadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                let text = built_in(&name).ok_or_else(|| Failure::Usage(no_such(&name)))?;
                Draft::parse(&name, text)?
            }
            draft => draft?,
        };
        let mut settings = self.set.clone();
        settings.extend(self.seeds.map(|seeds| format!("seeds={seeds}")));
        Ok(draft.experiment(settings.iter().map(String::as_str), &self.show)?)
    }

    /// Whether there is a page and only one row, whose packets it then shows.
    fn is_page_of_one(&self, experiment: &Experiment) -> bool {
        let is_one = experiment.cases().len() * experiment.seeds().len() == 1;
        is_one && self.formats.html() && self.store.is_none()
    }

    /// Whether what takes hours can be written after them.
    fn check_files(&self) -> Result<(), Failure> {
        let outputs = self.formats.files().chain(self.record.files());
        files::check([self.experiment.as_path()], outputs)
    }
}

const MOST_THREADS: NonZeroUsize =
    NonZeroUsize::new(Options::MOST_THREADS).expect("some threads are allowed");

/// Says how many runs were disturbed, and which rows have no other.
#[cfg(target_os = "linux")]
fn warn_of_disturbances(rows: &[Row], world: ackwise_lab::run::kernel::World) {
    let [runs, disturbed] = ackwise_lab::run::kernel::counters(world);
    let sum = |name| rows.iter().filter_map(|row| row.measure(name)).sum::<f64>();
    let (good, disturbed) = (sum(runs), sum(disturbed));
    let doubtful = rows.iter().filter(|row| row.measure(runs) == Some(0.0)).count();
    if disturbed > 0.0 {
        anstream::eprintln!(
            "{disturbed} of {} runs in real time were disturbed and repeated",
            good + disturbed
        );
    }
    if doubtful > 0 {
        anstream::eprintln!(
            "warning: {doubtful} of {} rows have disturbed runs only: measure on a less loaded machine",
            rows.len()
        );
    }
}

fn no_such(name: &str) -> String {
    let known = built_in_names().collect::<Vec<_>>().join(", ");
    format!(
        "cannot run {name}: no such file, and no built-in experiment has this name (built in: {known})"
    )
}

/// One bar on standard error for as long as rows are run, if somebody watches.
fn with_progress(
    experiment: &Experiment,
    options: &Options,
    directory: Option<&Path>,
) -> Result<Vec<Row>, RunAllError> {
    let bar = if io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template(BAR).expect("the template is one of indicatif's");
    bar.set_style(style);
    let mut rows = 0_u32;
    let mut on_step = |step: Step<'_>| match step {
        Step::Planned(rows) => bar.set_length(PARTS * u64::try_from(rows).unwrap_or(0)),
        Step::Finished(row) => {
            rows += 1;
            let message = format!("{rows} rows, {} seed {}", row.case, row.seed);
            bar.set_message(printable(&message).into_owned());
            bar.set_position(bar.position().max(parts(rows.into())));
        }
        Step::Running(share) => bar.set_position(parts(f64::from(rows) + share)),
        Step::Stored(stored) => rows = rows.max(u32::try_from(stored).unwrap_or(u32::MAX)),
        _ => {}
    };
    let result = match directory {
        None => run_all(experiment, options, &mut on_step),
        Some(directory) => store::run_all(experiment, options, directory, &mut on_step),
    };
    bar.finish_and_clear();
    result
}

const BAR: &str = "{elapsed_precise} [{bar:30}] {percent} %, {eta} left; {wide_msg}";

/// Rows in the parts that the bar counts.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share for a progress bar"
)]
fn parts(rows: f64) -> u64 {
    (rows * PARTS as f64) as u64
}

/// Of a row, for the progress bar.
const PARTS: u64 = 1_000;

/// The cases, one line each, with their numbers.
fn list(experiment: &Experiment) -> String {
    let mut text = String::new();
    for (number, case) in experiment.cases().iter().enumerate() {
        let labels = if case.labels.is_empty() {
            "(single case)".to_owned()
        } else {
            case.labels.to_string()
        };
        text.push_str(&format!("{:>4}  {}\n", number + 1, printable(&labels)));
    }
    let (cases, seeds) = (experiment.cases().len(), experiment.seeds().len());
    text.push_str(&format!("cases: {cases}, seeds: {seeds}, rows: {}\n", cases * seeds));
    text
}

fn experiment_help() -> String {
    let names = built_in_names().collect::<Vec<_>>().join(", ");
    format!("Run this experiment: a file or the name of a built-in experiment ({names})")
}

const EXAMPLES: &str = "\
Examples:
  ackwise run stalls                          a built-in experiment, as a table
  ackwise run sweep.toml --list               list the cases of your own experiment
  ackwise run sweep.toml --seeds 10 --csv sweep.csv
      print means over ten seeds with confidence intervals, and write every row to a file
  ackwise run stalls --html stalls.html
      write an HTML page that plots each metric against the first variable
  ackwise run stalls --case 1 --html stalls.html
      write an HTML page that shows the packets of case 1
  ackwise run dumbbell --set link.bottleneck.queue=\"25 packets\" --set duration=10s --json
  ackwise run page.toml --on kernel --repeat 5
      run the experiment on this machine's kernel, and print medians of five runs
  ackwise run page.toml --on wire --set 'host.client.tcp=\"sunos-4.1\"'
      the same with Ackwise's own TCP at the clients
  ackwise run sweep.toml --store /shared/sweep
      keep rows in a directory, which any number of machines can fill at once";
