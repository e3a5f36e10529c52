//! Measures what a request costs the load generator, beside wrk.
//!
//! Both load the same nginx over loopback in turn, with one thread and as many connections, and are
//! judged by their processor time for each answered request: wall time depends on what else runs.
//! Both pay for the kernel's work on their own behalf, which is most of it.

mod closes;
mod generator;
pub(crate) mod nginx;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;
use lexopt::prelude::*;

use self::generator::{Cost, Generator};
use self::nginx::Nginx;
use super::machine::Load;
use super::{program, rounds, verdict, warn_if_busy};
use ackwise_units::statistics::Spread;
use xtask::install::{self, needs::Package};
use xtask::process;

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "load";

/// The question that it answers.
pub(super) const QUESTION: &str =
    "what does a request cost the load generator beside wrk, on kept connections and on new ones?";

const PACKAGES: &[Package] = &[
    Package { name: "nginx", purpose: "the server that is loaded", service: Some("nginx") },
    Package { name: "wrk", purpose: "the other load generator", service: None },
];

/// How connections are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    /// Each connection carries requests until the end.
    Kept,
    /// Each request has a connection of its own.
    New,
}

impl Work {
    const ALL: [Self; 2] = [Self::Kept, Self::New];

    const fn description(self) -> &'static str {
        match self {
            Self::Kept => "kept connections",
            Self::New => "a new connection for each request",
        }
    }

    /// Highest processor time for a request, relative to wrk's.
    const fn target(self) -> f64 {
        match self {
            Self::Kept => 0.85,
            Self::New => 1.0,
        }
    }
}

/// The lines of `bench --help`.
pub(super) const HELP: &str = "\
cargo xtask bench load --closes [--rounds N]
    Make 10,000 connections to nginx and to the built-in server with each way to close, and print which
    end holds TIME-WAIT, as in docs/load/results.md. Needs root.
";

/// Parses everything after `cargo xtask bench load`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown.
pub(super) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut settings = Settings { closes: false, rounds: None };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("closes") => settings.closes = true,
            Long("rounds") => settings.rounds = Some(parser.value()?.parse::<NonZeroUsize>()?),
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(settings))
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Which end holds TIME-WAIT, instead of what a request costs.
    closes: bool,
    rounds: Option<NonZeroUsize>,
}

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, nginx does not start, or a run fails.
pub(super) fn run(settings: Settings) -> anyhow::Result<ExitCode> {
    let Settings { closes, rounds } = settings;
    if closes {
        return closes::run(rounds);
    }
    println!("{NAME}: {QUESTION}");
    install::provide_packages(PACKAGES)?;
    let generators = [Generator::Ackwise(program::build()?), Generator::Wrk];
    let nginx = Nginx::start(Path::new(DIRECTORY))?;
    warn_if_busy("before the first round", Load::watch_briefly());
    let load = Load::start();
    for work in Work::ALL {
        compare(work, &generators, &nginx, rounds.unwrap_or(ROUNDS))?;
    }
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    ensure!(!process::interrupted(), "interrupted");
    // nginx, which both load, is one of them.
    warn_if_busy("while it ran (nginx included)", others);
    Ok(ExitCode::SUCCESS)
}

/// Runs both in turn, after one run each that does not count, and prints the figures.
fn compare(
    work: Work,
    generators: &[Generator; 2],
    nginx: &Nginx,
    count: NonZeroUsize,
) -> anyhow::Result<()> {
    let measure = |generator: &Generator| generator.run(work, &nginx.url());
    generators.iter().try_for_each(|generator| measure(generator).map(drop))?;
    let mut costs: [Vec<Cost>; 2] = Default::default();
    for turn in rounds::turns(count, generators.len()) {
        costs[turn].push(measure(&generators[turn])?);
    }
    println!(
        "\n{}, median [quartiles] of {count} rounds:\n{:<8} {:>24} {:>24} {:>24} {:>28}",
        work.description(),
        "",
        "CPU µs per request",
        "of these in user mode",
        "wall µs per request",
        "requests per second"
    );
    for (generator, costs) in generators.iter().zip(&costs) {
        let spread = |part: fn(&Cost) -> f64| Spread::of(costs.iter().map(part)).to_string();
        println!(
            "{:<8} {:>24} {:>24} {:>24} {:>28}",
            generator.name(),
            spread(Cost::cpu_micros),
            spread(Cost::user_micros),
            spread(Cost::wall_micros),
            spread(Cost::rate),
        );
    }
    let ratio = |part: fn(&Cost) -> f64| {
        let [ours, theirs] = &costs;
        Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| part(ours) / part(theirs)))
    };
    let cpu = ratio(Cost::cpu_micros);
    let target = work.target();
    println!(
        "Ackwise / wrk: CPU {cpu} (at most {target}: {}), wall {}",
        verdict(cpu.median <= target),
        ratio(Cost::wall_micros)
    );
    if cpu.is_wide() {
        println!("warning: the rounds disagree; repeat with --rounds {}", count.get() * 4);
    }
    Ok(())
}

/// Directory of nginx's files, relative to the root of the repository.
const DIRECTORY: &str = "target/bench/load";

const ROUNDS: NonZeroUsize = const { NonZeroUsize::new(7).unwrap() };
