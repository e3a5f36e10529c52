//! `cargo xtask test`: installs what is missing, runs the steps, and ends with a summary.

mod fuzz;
mod skips;
pub(crate) mod steps;
mod summary;
mod tally;

use std::process::{Command, ExitCode};
use std::time::Instant;

use self::skips::SkipFile;
use self::steps::{Action, STEPS, Step};
use self::summary::{Row, Summary, Verdict};
use self::tally::Tally;
use crate::cli::TestOptions;
use crate::install;
use crate::install::needs::Need;
use crate::process::{self, End, Output};

/// Runs the steps that `options` ask for. A step that fails does not keep the others from running.
///
/// # Errors
///
/// If the file of skipped tests cannot be made or read; whatever a step does wrong is its verdict.
pub(crate) fn run(options: &TestOptions) -> anyhow::Result<ExitCode> {
    let skip_file = SkipFile::create()?;
    let mut summary = Summary::default();
    for step in STEPS.iter().filter(|step| options.select(step)) {
        if process::interrupted() {
            break;
        }
        let started = Instant::now();
        let (verdict, tests) = run_step(step, &skip_file);
        summary.rows.push(Row { step: step.name, took: started.elapsed(), verdict, tests });
    }
    summary.skipped_tests = skip_file.read()?;
    summary.print();
    Ok(if process::interrupted() {
        ExitCode::from(130)
    } else {
        ExitCode::from(summary.exit_code(options.allow_skips))
    })
}

fn run_step(step: &Step, skip_file: &SkipFile) -> (Verdict, Tally) {
    let mut tally = Tally::default();
    println!("\n=== {}: {}", step.name, describe(step));
    if let Some(missing) = provide(step.needs) {
        return (Verdict::Skipped(missing), tally);
    }
    let end = match step.action {
        Action::Cargo(arguments) => {
            let mut command = Command::new("cargo");
            command.args(arguments).envs(step.environment.iter().copied());
            command.env("PATH", install::path()).env(skips::VARIABLE, skip_file.path());
            let mut count = |line: &str| tally.on_line(line);
            process::run(&mut command, Output::Tee(&mut count), step.limit)
        }
        Action::Fuzz => fuzz::run(step.limit),
    };
    let verdict = match end {
        Ok(End::Succeeded) => Verdict::Passed,
        Ok(End::Failed(status)) => Verdict::Failed(status.to_string()),
        Ok(End::TimedOut(limit)) => Verdict::Failed(format!("stopped after {limit:?}")),
        Ok(End::Interrupted) => Verdict::Failed("interrupted".to_owned()),
        Err(error) => Verdict::Failed(format!("{error:#}")),
    };
    (verdict, tally)
}

/// The plain command that does the same.
fn describe(step: &Step) -> String {
    let variables: String =
        step.environment.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    match step.action {
        Action::Cargo(arguments) => format!("{variables}cargo {}", arguments.join(" ")),
        Action::Fuzz => "cargo +nightly fuzz build, then run each target".to_owned(),
    }
}

/// What is missing for a step, if it cannot run without. Debian packages are never that: each test
/// knows what it needs and skips itself by name.
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
