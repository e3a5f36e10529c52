//! `cargo xtask bench kernel`: compares the simulator's Linux with this machine's.
//!
//! The same transfers over the same path, with the same packets lost, by the kernel's sockets over the
//! link emulator and by the simulator. Both leave the same kind of record, and one function says what
//! follows from it.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `options` | the command line |
//! | `path` | what is drawn by seed |
//! | `experiment` | the path as an experiment |
//! | `real` | the path on the kernel |
//! | `simulated` | the path in the simulator |
//! | `flow` | what happened, in the same form from both |
//! | `compare` | the runs of a path, and the targets |
//! | `report`, `page` | the results, printed and drawn |
//! | `several` | several at a time |
//! | `keep` | the results as files |
//! | `short` | the same for exchanges of a few segments |
//! | `cross` | pages that share a bottleneck with downloads |

mod compare;
mod cross;
mod experiment;
mod flow;
mod keep;
mod options;
mod page;
mod path;
mod real;
mod report;
mod several;
mod short;
mod simulated;

use std::fs;
use std::io::{ErrorKind, Write as _, stdout};
use std::path::Path as FilePath;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use xtask::process;

use self::compare::{Comparison, Pair};
use self::flow::{Flow, Outcome};
use self::options::Traffic;
use self::path::Path;
use self::real::Ran;
use self::several::measure_all;
use crate::witness::trace::Tracer;

pub(crate) use self::options::{HELP, Settings, parse};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "kernel";

/// The question that it answers.
pub(super) const QUESTION: &str = "does the preset `linux-6` behave like this kernel?";

/// Compares both worlds on every path, and prints how they differ.
///
/// # Errors
///
/// If the kernel cannot be measured here, a run fails, or the comparison takes too long.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    eprintln!("{NAME}: {QUESTION}");
    let text = match settings.traffic {
        Traffic::Transfers => transfers(settings)?,
        Traffic::Short => short::run(settings)?,
        Traffic::Cross => cross::run(settings)?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn transfers(settings: &Settings) -> anyhow::Result<String> {
    eprintln!("{}", path::RANGES);
    if settings.kept.is_none() {
        Tracer::prepare()?;
    }
    let numbers: Vec<u64> = match settings.only {
        Some(number) => vec![number],
        None => (0..settings.paths()).collect(),
    };
    let all = compare_all(settings, &numbers)?;
    if let Some(file) = &settings.page {
        let page = page::page(settings.seed, &all);
        fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(match settings.json {
        true => format!("{:#}\n", report::json(settings.seed, &all)),
        false => report::text(settings.seed, &all),
    })
}

/// Prints on standard output; a reader that has gone has seen enough.
fn print(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(why).context("cannot print"),
        _ => Ok(()),
    }
}

fn compare_all(settings: &Settings, numbers: &[u64]) -> anyhow::Result<Vec<Comparison>> {
    let began = Instant::now();
    let compare = |number| {
        ensure!(began.elapsed() < LIMIT, "stopped after {LIMIT:?}");
        let path = Path::draw(settings.seed, number);
        compare(&path, settings).with_context(|| format!("path {number}, {path}"))
    };
    measure_all(numbers, PARALLEL_PATHS, compare, report::line)
}

/// The runs of one path, each with another pattern of losses and another size.
fn compare(path: &Path, settings: &Settings) -> anyhow::Result<Comparison> {
    let Measured { runs, repeated, doubt } = match &settings.kept {
        Some(folder) => kept(path, folder)?,
        None => measured(path)?,
    };
    let mut pairs = Vec::new();
    for Run { nth, kernel } in runs {
        let path = path.for_run(nth);
        let toml = experiment::toml(&path, nth);
        let flow = simulated::run(&toml, settings.seed.wrapping_add(nth))?;
        let simulated = (outcome(&path, &flow, "the simulator")?, flow);
        if let Some(folder) = &settings.keep {
            keep::keep(folder, path.number, nth, &toml, [&kernel.1, &simulated.1])?;
        }
        pairs.push((Pair { kernel: kernel.0, simulated: simulated.0 }, [kernel.1, simulated.1]));
    }
    pairs.sort_by(|a, b| a.0.ratio().total_cmp(&b.0.ratio()));
    let typical = pairs.get(pairs.len() / 2).context("a path has runs")?.1.clone();
    let pairs = pairs.into_iter().map(|(pair, _)| pair).collect();
    Ok(Comparison { path: path.clone(), pairs, typical, repeated, doubt })
}

/// The kernel's runs of a path.
struct Measured {
    runs: Vec<Run>,
    repeated: u32,
    doubt: Option<String>,
}

/// The kernel's runs that were kept. Whether they were disturbed is not.
fn kept(path: &Path, folder: &FilePath) -> anyhow::Result<Measured> {
    let mut runs = Vec::new();
    for nth in 0..RUNS as u64 {
        let Some(flow) = keep::kept(folder, path.number, nth)? else { continue };
        runs.push(Run { nth, kernel: (outcome(&path.for_run(nth), &flow, "the kernel")?, flow) });
    }
    // A path with disturbed runs may have two with the same number.
    let doubt = (runs.len() < RUNS).then(|| format!("{} of {RUNS} runs were kept", runs.len()));
    Ok(Measured { runs, repeated: 0, doubt })
}

fn measured(path: &Path) -> anyhow::Result<Measured> {
    let (mut runs, mut disturbed, mut attempts, mut failed) = (Vec::new(), Vec::new(), 0, 0);
    while runs.len() < RUNS && attempts < RUNS + MOST_REPEATS {
        ensure!(!process::interrupted(), "interrupted");
        attempts += 1;
        let nth = runs.len() as u64;
        let path = path.for_run(nth);
        let ran = real::run(&experiment::toml(&path, nth), free_port());
        let ran = ran.and_then(|it| Ok((outcome(&path, &it.flow, "the kernel")?, it)));
        let (outcome, Ran { flow, disturbed: why }) = match ran {
            Ok(ran) => ran,
            Err(why) if failed < MOST_FAILURES => {
                eprintln!("repeated: path {}: {why:#}", path.number);
                failed += 1;
                continue;
            }
            Err(why) => return Err(why),
        };
        let run = Run { nth, kernel: (outcome, flow) };
        match why {
            None => runs.push(run),
            Some(why) => disturbed.push((run, why)),
        }
    }
    let repeated = failed + u32::try_from(disturbed.len()).unwrap_or(u32::MAX);
    let mut doubt = None;
    if runs.len() < RUNS {
        doubt = disturbed.first().map(|(_, why)| why.clone());
        runs.extend(disturbed.into_iter().take(RUNS - runs.len()).map(|(run, _)| run));
    }
    Ok(Measured { runs, repeated, doubt })
}

/// A run of the kernel, with the pattern of its losses.
struct Run {
    nth: u64,
    kernel: (Outcome, Flow),
}

fn outcome(path: &Path, flow: &Flow, world: &str) -> anyhow::Result<Outcome> {
    flow.outcome(path.work()).with_context(|| format!("{world} did not deliver everything"))
}

/// A port for a run of its own, by which the tracers tell the runs apart.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    FIRST_PORT + NEXT.fetch_add(1, Ordering::Relaxed) % PORTS
}

/// Runs of a path (our choice).
const RUNS: usize = 5;
/// More runs of a path if some are disturbed (our choice).
const MOST_REPEATS: usize = 4;
/// Runs of a path that may fail, as when the machine stops for longer than a transfer may take (our choice).
const MOST_FAILURES: u32 = 1;
/// Our choice, from how often a run was disturbed.
const PARALLEL_PATHS: usize = 3;
/// Time limit (our choice): 60 paths take five to ten minutes.
const LIMIT: Duration = Duration::from_secs(3600);
/// Below the kernel's ephemeral ports.
const FIRST_PORT: u16 = 10_000;
const PORTS: u16 = 20_000;
