//! `cargo xtask test`: installs missing dependencies, runs the steps, and prints a summary.

mod advisories;
mod again;
mod pairs;
mod python;
mod skips;
pub(crate) mod steps;
mod summary;
mod tally;
mod targets;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use self::skips::SkipFile;
use self::steps::{Action, Lane, STEPS, Step, Tests};
use self::summary::{Outcome, Row, Summary};
use self::tally::Tally;
use crate::console::{Console, Printer};
use crate::{book, fuzz, mutants};
use xtask::install;
use xtask::install::needs::Need;
use xtask::process::{self, End, Ended, Output};

/// Options of `cargo xtask test`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Skip the slow steps.
    pub(crate) fast: bool,
    /// Report success even if tests were skipped.
    pub(crate) allow_skips: bool,
    /// Names of the steps to run; empty means all.
    pub(crate) only: Vec<String>,
}

impl Options {
    /// Whether the options select `step`. A step named by `--only` runs even if it is slow.
    pub(crate) fn select(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            !(self.fast && step.slow)
        } else {
            self.only.iter().any(|name| name == step.name)
        }
    }
}

/// Runs the steps selected by `options`. After a failed step the others still run, except those
/// that depend on it.
///
/// # Errors
///
/// If the file of skipped tests cannot be created or read. A step's failure is part of its verdict.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let skip_file = SkipFile::create()?;
    let steps: Vec<_> = STEPS.iter().filter(|step| options.select(step)).collect();
    let in_lane = |lane: Lane| steps.iter().copied().filter(move |step| step.lane == lane);
    let rows = Rows::default();
    let run = |lane: Lane, console: Console| {
        let _over = rows.over(lane);
        if lane == Lane::Spare && in_lane(Lane::Kernel).next().is_some() {
            rows.listed.wait();
        }
        for step in in_lane(lane).take_while(|_| !process::interrupted()) {
            rows.add(run_step(step, &rows, &skip_file, console));
        }
    };
    for [lane, other] in [[Lane::Main, Lane::Beside], [Lane::Kernel, Lane::Spare]] {
        let both = in_lane(lane).next().is_some() && in_lane(other).next().is_some();
        let console = if both { Console::Shared } else { Console::Own };
        thread::scope(|scope| {
            scope.spawn(|| run(other, console));
            run(lane, console);
        });
    }
    run(Lane::Alone, Console::Own);
    let summary = Summary { rows: rows.in_order(), excused_tests: skip_file.read()? };
    summary.print();
    Ok(if process::interrupted() {
        ExitCode::from(130)
    } else {
        ExitCode::from(summary.exit_code(options.allow_skips))
    })
}

/// Results of all lanes so far.
#[derive(Default)]
struct Rows {
    rows: Mutex<Vec<Row>>,
    /// Set when the programs of the lane [`Lane::Kernel`] are known: from then on, it does not wait for cargo's lock.
    listed: OnceLock<()>,
    /// Set when the lane [`Lane::Spare`] has ended.
    spare_over: OnceLock<()>,
}

/// Sets what waits for it when it is dropped, also by a panic.
struct Over<'a>(Option<&'a OnceLock<()>>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.inspect(|it| _ = it.set(()));
    }
}

impl Rows {
    fn add(&self, row: Row) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    /// What is kept while a lane runs.
    const fn over(&self, lane: Lane) -> Over<'_> {
        Over(match lane {
            Lane::Kernel => Some(&self.listed),
            Lane::Spare => Some(&self.spare_over),
            _ => None,
        })
    }

    /// Whether the step called `name` ran and did not pass.
    fn failed(&self, name: &str) -> bool {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().any(|row| row.step == name && row.verdict != Outcome::Passed)
    }

    /// The rows in the order of [`STEPS`].
    fn in_order(self) -> Vec<Row> {
        let mut rows = self.rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        rows.sort_by_key(|row| STEPS.iter().position(|step| step.name == row.step));
        rows
    }
}

fn run_step(step: &Step, rows: &Rows, skip_file: &SkipFile, console: Console) -> Row {
    let started = Instant::now();
    let mut tally = Tally::default();
    let row =
        |verdict, cpu, tests| Row { step: step.name, took: started.elapsed(), cpu, verdict, tests };
    if let Some(before) = step.after.filter(|before| rows.failed(before)) {
        return row(Outcome::NotRun(format!("{before} failed")), Duration::ZERO, tally);
    }
    if matches!(step.action, Action::Mutants) && mutants::base().is_none() {
        let why = "set BASE to the commit that the change starts from".to_owned();
        return row(Outcome::NotRun(why), Duration::ZERO, tally);
    }
    let printer = console.begin(step.name);
    if let Some(missing) = provide(step.needs) {
        return row(Outcome::Skipped(missing), Duration::ZERO, tally);
    }
    if matches!(step.action, Action::Advisories)
        && let Some(why) = advisories::missing_database()
    {
        return row(Outcome::NotRun(why), Duration::ZERO, tally);
    }
    let ended = execute(step, rows, skip_file, &printer, &mut tally);
    let cpu = ended.as_ref().map_or(Duration::ZERO, |ended| ended.cpu);
    let verdict = match ended.map(|ended| ended.end) {
        Ok(End::Succeeded) => Outcome::Passed,
        Ok(End::Failed(status)) => Outcome::Failed(status.to_string()),
        Ok(End::TimedOut(limit)) => Outcome::Failed(format!("stopped after {limit:?}")),
        Ok(End::Interrupted) => Outcome::Failed("interrupted".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    };
    let row = row(verdict, cpu, tally);
    match row.verdict {
        Outcome::Passed => printer.passed(&row.verdict),
        _ => printer.end(&row.verdict),
    }
    row
}

fn execute(
    step: &Step,
    rows: &Rows,
    skip_file: &SkipFile,
    printer: &Printer,
    tally: &mut Tally,
) -> anyhow::Result<Ended> {
    let (program, arguments) = match step.action {
        Action::Cargo(arguments) => ("cargo", arguments),
        Action::Advisories => ("cargo", advisories::CHECK),
        Action::Bench(arguments) => {
            ensure!(Path::new(BENCH).exists(), "{BENCH} is missing: run the step `build` first");
            (BENCH, arguments)
        }
        Action::Tests(tests) => return run_tests(step, tests, rows, skip_file, printer, tally),
        Action::Fuzz => {
            let (ended, failures) = fuzz::run(&fuzz::Search::BRIEF, step.limit, printer)?;
            tally.failed += failures.len();
            tally.failures.extend(failures);
            return Ok(ended);
        }
        Action::Book => return book::build(step.limit, printer),
        Action::Mutants => return mutants::in_diff(step.limit, printer),
        Action::Python => return python::run(step.limit, printer, tally),
    };
    let command = match step.lane {
        Lane::Spare => command(IDLE[0], IDLE[1..].iter().chain([&program]).chain(arguments)),
        _ => command(program, arguments),
    };
    run_command(command, step, skip_file, printer, tally)
}

/// What fails runs again, alone, if that may be an accident.
fn run_tests(
    step: &Step,
    tests: Tests,
    rows: &Rows,
    skip_file: &SkipFile,
    printer: &Printer,
    tally: &mut Tally,
) -> anyhow::Result<Ended> {
    let cargo = |arguments: &[String], printer: &Printer, tally: &mut Tally| {
        run_command(command("cargo", arguments), step, skip_file, printer, tally)
    };
    let all = targets::arguments(tests, &targets::of(tests)?);
    let first = match tests {
        Tests::Waiting => {
            let programs = targets::programs(tests)?;
            drop(Over(Some(&rows.listed)));
            pairs::run(&programs, printer, tally, |one, printer, tally| {
                let mut command = Command::new(&one.file);
                // As cargo does.
                command.current_dir(&one.directory).env("CARGO_MANIFEST_DIR", &one.directory);
                run_command(command, step, skip_file, printer, tally)
            })?
        }
        _ => cargo(&all, printer, tally)?,
    };
    let Some(repeat) = again::arguments(&all, tally) else {
        return Ok(first);
    };
    if tests == Tests::Waiting {
        rows.spare_over.wait();
    }
    printer.line("What failed runs again, alone.");
    let mut repeated = Tally::default();
    let excused = skip_file.read()?.len();
    let second = cargo(&repeat, printer, &mut repeated)?;
    // A test that is excused counts as passed by libtest, but has not passed.
    let is_excused = skip_file.read()?.len() > excused;
    let settled = second.end == End::Succeeded && !is_excused && again::settle(tally, &repeated);
    let end = if settled { second.end } else { first.end };
    Ok(Ended { end, cpu: first.cpu + second.cpu })
}

fn command(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn run_command(
    mut command: Command,
    step: &Step,
    skip_file: &SkipFile,
    printer: &Printer,
    tally: &mut Tally,
) -> anyhow::Result<Ended> {
    let mut line: String =
        step.environment.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    line.push_str(&command.get_program().to_string_lossy());
    for word in command.get_args() {
        let _ = write!(line, " {}", word.display());
    }
    printer.line(&line);
    command.envs(step.environment.iter().copied());
    command.env("PATH", install::path()).env(skips::VARIABLE, skip_file.path());
    let mut take = |line: &str| {
        if let Some(test) = tally.on_line(line) {
            printer.failure(test);
        }
        printer.line(line);
    };
    process::run_measured(&mut command, Output::TakeAll(&mut take), step.limit)
}

/// Installs a step's dependencies. Returns what is missing if the step cannot run without it.
/// Debian packages never prevent a step: each test checks for its own and is skipped by name.
fn provide(needs: &[Need]) -> Option<String> {
    needs.iter().find_map(|need| match (need, install::provide(*need)) {
        (_, Ok(())) => None,
        (Need::DebianPackages, Err(why)) => {
            eprintln!("some tests will be skipped; {why:#}");
            None
        }
        (_, Err(why)) => Some(format!("{why:#}")),
    })
}

const BENCH: &str = "target/debug/ackwise-bench";

/// What follows runs only while a processor would be idle.
const IDLE: [&str; 3] = ["chrt", "--idle", "0"];
