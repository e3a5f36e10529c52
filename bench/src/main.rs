//! `cargo xtask bench`: runs Ackwise and a reference in turn on this machine.
//!
//! A ratio of two alternating runs is more reliable than two absolute figures, because disturbances
//! affect both. It is printed with its spread, processor time next to wall time, and a warning if
//! other processes used the processors.

mod agree;
mod check;
mod child;
mod dice;
mod explain;
mod failures;
mod hostile;
mod kernel;
mod load;
mod machine;
mod pace;
mod page;
mod peak;
mod program;
mod progress;
mod python;
mod rounds;
mod sim;
mod tap;
mod truth;
mod tune;
mod witness;

use std::env;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use lexopt::prelude::*;

use self::machine::Load;
use self::python::{Python, What};
use self::rounds::{Round, Sample};
use ackwise_units::statistics::Spread;
use xtask::install::{self, needs::Package};
use xtask::process;

/// A repeatable comparison.
pub(crate) trait Benchmark {
    /// Its name in `cargo xtask bench NAME`.
    fn name(&self) -> &'static str;

    /// The question that it answers.
    fn question(&self) -> &'static str;

    /// The Debian packages of the reference and other dependencies.
    fn packages(&self) -> &'static [Package];

    /// The name of each side in the output.
    fn label(&self, side: Side) -> &'static str;

    /// The unit of the result of [`measure`](Self::measure). Less is better.
    fn unit(&self) -> &'static str;

    /// Default number of rounds.
    fn rounds(&self) -> NonZeroUsize;

    /// Builds and starts everything outside the measurement.
    ///
    /// # Errors
    ///
    /// If it cannot be measured on this machine.
    fn prepare(&mut self) -> anyhow::Result<()>;

    /// Measures one side once, in [`unit`](Self::unit).
    ///
    /// # Errors
    ///
    /// If the run gives no result.
    fn measure(&mut self, side: Side) -> anyhow::Result<f64>;
}

/// Ackwise or the reference.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Ours,
    Other,
}

fn main() -> ExitCode {
    match start() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn start() -> anyhow::Result<ExitCode> {
    let mut args = env::args_os().skip(1).peekable();
    let chore = if args.next_if(|it| it == truth::NAME).is_some() {
        truth::parse(args)?.map_or(Chore::Help, Chore::Truth)
    } else if args.next_if(|it| it == hostile::NAME).is_some() {
        hostile::parse(args)?.map_or(Chore::Help, Chore::Hostile)
    } else if args.next_if(|it| it == failures::NAME).is_some() {
        failures::parse(args)?.map_or(Chore::Help, Chore::Failures)
    } else if args.next_if(|it| it == kernel::NAME).is_some() {
        kernel::parse(args)?.map_or(Chore::Help, Chore::Kernel)
    } else if args.next_if(|it| it == check::NAME).is_some() {
        check::parse(args)?.map_or(Chore::Help, Chore::Check)
    } else if args.next_if(|it| it == load::NAME).is_some() {
        load::parse(args)?.map_or(Chore::Help, Chore::Load)
    } else if args.next_if(|it| it == tune::NAME).is_some() {
        tune::parse(args)?.map_or(Chore::Help, Chore::Tune)
    } else if args.next_if(|it| it == pace::NAME).is_some() {
        pace::parse(args)?.map_or(Chore::Help, Chore::Pace)
    } else {
        parse(args)?
    };
    process::stop_children_on_signal()?;
    xtask::enter_repository()?;
    match chore {
        Chore::Help => {
            print!("{HELP}");
            let own = [
                load::HELP,
                hostile::HELP,
                failures::HELP,
                kernel::HELP,
                truth::HELP,
                pace::HELP,
                tune::HELP,
            ];
            for help in [check::HELP].into_iter().chain(own) {
                print!("{help}");
            }
            Ok(ExitCode::SUCCESS)
        }
        Chore::List => {
            list();
            Ok(ExitCode::SUCCESS)
        }
        Chore::Run { name, rounds } => run(&name, rounds),
        Chore::Agree(settings) => agree::run(settings),
        Chore::Check(settings) => check::run(&settings),
        Chore::Load(settings) => load::run(settings),
        Chore::Hostile(settings) => hostile::run(&settings),
        Chore::Failures(settings) => failures::run(&settings),
        Chore::Kernel(settings) => kernel::run(&settings),
        Chore::Truth(settings) => truth::run(&settings),
        Chore::Tune(settings) => tune::run(&settings),
        Chore::Pace(settings) => pace::run(&settings),
    }
}

/// A subcommand with its options.
#[derive(Debug)]
enum Chore {
    Help,
    List,
    Run { name: String, rounds: Option<NonZeroUsize> },
    Agree(agree::Settings),
    Check(check::Settings),
    Load(load::Settings),
    Hostile(hostile::Settings),
    Failures(failures::Settings),
    Kernel(kernel::Settings),
    Truth(truth::Settings),
    Tune(tune::Settings),
    Pace(pace::Settings),
}

const HELP: &str = "\
cargo xtask bench --list
cargo xtask bench NAME [--rounds N]
    Run ours and the other side in turn and print the ratio with its spread.
    Exit: 0 measured, 1 could not measure.
cargo xtask bench agree [--seed N] [--points N] [--json]
    Compare page times and drops with ns-2's at N points (60 by default), drawn with a seed (1 by
    default). 60 points take about 20 minutes on a quiet machine. Progress goes to standard error.
";

/// Parses everything after `cargo xtask bench`.
fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Chore> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut name, mut rounds) = (None, None);
    let mut settings = agree::Settings::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("list") => return Ok(Chore::List),
            Long("rounds") => rounds = Some(parser.value()?.parse()?),
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("points") => settings.points = parser.value()?.parse::<NonZeroUsize>()?.get(),
            Long("json") => settings.json = true,
            Value(value) if name.is_none() => name = Some(value.string()?),
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    let name = name.context("which benchmark? `cargo xtask bench --list` names them")?;
    if name == agree::NAME && rounds.is_none() {
        return Ok(Chore::Agree(settings));
    }
    ensure!(settings == agree::Settings::default(), "only `{}` has these options", agree::NAME);
    Ok(Chore::Run { name, rounds })
}

/// Prints every benchmark with its question.
fn list() {
    for benchmark in all() {
        println!("{:<15} {}", benchmark.name(), benchmark.question());
    }
    println!("{:<15} {}", sim::NAME, sim::QUESTION);
    println!("{:<15} {}", explain::NAME, explain::QUESTION);
    println!("{:<15} {}", check::NAME, check::QUESTION);
    println!("{:<15} {}", load::NAME, load::QUESTION);
    println!("{:<15} {}", hostile::NAME, hostile::QUESTION);
    println!("{:<15} {}", failures::NAME, failures::QUESTION);
    println!("{:<15} {}", agree::NAME, agree::QUESTION);
    println!("{:<15} {}", kernel::NAME, kernel::QUESTION);
    println!("{:<15} {}", truth::NAME, truth::QUESTION);
    println!("{:<15} {}", tune::NAME, tune::QUESTION);
    println!("{:<15} {}", pace::NAME, pace::QUESTION);
}

/// Runs the benchmark called `name` and prints the results.
///
/// # Errors
///
/// If there is no such benchmark, or it cannot be measured.
fn run(name: &str, rounds: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    match name {
        sim::NAME => return sim::run(rounds),
        explain::NAME => return explain::run(rounds),
        _ => {}
    }
    let mut benchmark = all()
        .into_iter()
        .find(|benchmark| benchmark.name() == name)
        .with_context(|| format!("no benchmark is named `{name}`; see `bench --list`"))?;
    let benchmark = benchmark.as_mut();
    println!("{}: {}", benchmark.name(), benchmark.question());
    install::provide_packages(benchmark.packages())?;
    benchmark.prepare()?;
    warn_if_busy("before the first round", Load::watch_briefly());

    let count = rounds.unwrap_or_else(|| benchmark.rounds());
    let load = Load::start();
    let rounds = rounds::run(benchmark, count)?;
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    ensure!(!process::interrupted(), "interrupted");
    print(benchmark, &rounds);
    warn_if_busy("while it ran", others);
    Ok(ExitCode::SUCCESS)
}

/// The registry: a new two-sided benchmark needs one file and one line here.
fn all() -> Vec<Box<dyn Benchmark>> {
    let python = [What::Runs, What::Captures, What::Handover].map(Python::boxed);
    [Box::new(page::Page::default()) as Box<dyn Benchmark>].into_iter().chain(python).collect()
}

fn print(benchmark: &dyn Benchmark, rounds: &[Round]) {
    println!(
        "\n{:<16} {:>28} {:>10} {:>10}",
        "",
        format!("{}, median [quartiles]", benchmark.unit()),
        "wall s",
        "cpu s"
    );
    for side in [Side::Ours, Side::Other] {
        let samples = || rounds.iter().map(|round| round.sample(side));
        let seconds = |part: fn(Sample) -> f64| Spread::of(samples().map(part)).median;
        println!(
            "{:<16} {:>28} {:>10.3} {:>10.3}",
            benchmark.label(side),
            Spread::of(samples().map(|sample| sample.value)).to_string(),
            seconds(|sample| sample.wall.as_secs_f64()),
            seconds(|sample| sample.cpu.as_secs_f64()),
        );
    }
    let ratio = Spread::of(rounds.iter().map(Round::ratio));
    println!(
        "\n{} / {}: {ratio} over {} rounds",
        benchmark.label(Side::Other),
        benchmark.label(Side::Ours),
        rounds.len()
    );
    if ratio.is_wide() {
        println!("warning: the rounds disagree; repeat with --rounds {}", rounds.len() * 4);
    }
}

/// The verdict on a target.
#[expect(clippy::fn_params_excessive_bools, reason = "all that it depends on")]
const fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "MISSED" }
}

fn warn_if_busy(when: &str, others: Option<f64>) {
    match others {
        None => println!("warning: cannot tell how busy the machine was {when}"),
        Some(share) if share > machine::BUSY => println!(
            "warning: others used {:.0} % of the processors {when}: wait until the machine is \
             quiet",
            100.0 * share
        ),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> anyhow::Result<Chore> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_comparison_has_a_name_and_rounds() {
        let Chore::Run { name, rounds } = parse_words("page --rounds 3").unwrap() else {
            panic!("not a comparison");
        };
        assert_eq!((name.as_str(), rounds), ("page", NonZeroUsize::new(3)));
        assert!(parse_words("").is_err());
    }

    #[test]
    fn zero_rounds_are_refused() {
        assert!(parse_words("page --rounds 0").is_err());
    }
}
