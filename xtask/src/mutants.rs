//! `cargo xtask mutants`: measures how many small code changes a crate's own tests detect.
//!
//! cargo-mutants makes the changes; `.cargo/mutants.toml` lists those that are equivalent to the
//! original. This module adds thresholds and a summary, and for the tests a run over the changed
//! lines.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs, io};

use anyhow::{Context, bail, ensure};

use crate::console::Printer;
use xtask::install;
use xtask::install::needs::{CARGO_MUTANTS, Need};
use xtask::process::{self, End, Ended, Output};

/// The share of mutants that a crate's own tests must detect.
#[derive(Debug)]
struct Threshold {
    package: &'static str,
    /// The files included.
    files: &'static str,
    /// Detected mutants in percent of those that compile.
    percent: usize,
}

const THRESHOLDS: &[Threshold] = &[
    Threshold { package: "ackwise-tcp", files: "crates/tcp/src/**", percent: 95 },
    Threshold { package: "ackwise-link", files: "crates/link/src/**", percent: 95 },
    Threshold { package: "ackwise-cause", files: "crates/cause/src/**", percent: 95 },
    Threshold { package: "ackwise-http", files: "crates/http/src/**", percent: 90 },
    Threshold {
        package: "ackwise-capture",
        files: "crates/capture/src/attribution/**",
        percent: 85,
    },
];

/// Options of `cargo xtask mutants`.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The package or the last word of its name; `None` for all that have a threshold.
    pub(crate) package: Option<String>,
    /// A part of the mutants: `K/N`, as in cargo-mutants.
    pub(crate) shard: Option<String>,
}

/// Runs the mutants selected by `options`.
///
/// # Errors
///
/// If the crate has no threshold, or cargo-mutants cannot be installed or fails.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let chosen = chosen(options.package.as_deref())?;
    install::provide(Need::Tool(&CARGO_MUTANTS))?;
    let arguments: Vec<_> =
        options.shard.iter().flat_map(|shard| ["--shard".to_owned(), shard.clone()]).collect();
    let ended = try_all(&chosen, &arguments, WHOLE_LIMIT, &Printer::plain())?;
    Ok(ExitCode::from(u8::from(ended.end != End::Succeeded)))
}

/// The base commit of the change, if `BASE` names one.
pub(crate) fn base() -> Option<String> {
    env::var("BASE").ok().filter(|base| !base.is_empty())
}

/// Tries the mutants in the lines that have changed since [`base`].
///
/// # Errors
///
/// If git does not find the commit, or cargo-mutants fails.
pub(crate) fn in_diff(limit: Duration, printer: &Printer) -> anyhow::Result<Ended> {
    let base = base().context("BASE is not set")?;
    let mut diff = String::new();
    let mut take = |line: &str| {
        diff.push_str(line);
        diff.push('\n');
    };
    let mut git = Command::new("git");
    // The working tree, because that is mutated.
    git.args(["diff", "--merge-base", &base, "--", "*.rs"]);
    let end = process::run(&mut git, Output::Take(&mut take), QUERY_LIMIT)?;
    ensure!(end == End::Succeeded, "git diff --merge-base {base}: {end:?}");
    fs::create_dir_all(DIRECTORY)?;
    let file = Path::new(DIRECTORY).join("change.diff");
    fs::write(&file, diff)?;
    let arguments = ["--in-diff".to_owned(), file.display().to_string()];
    try_all(&chosen(None)?, &arguments, limit, printer)
}

/// The threshold of `package`, or all thresholds of existing crates.
fn chosen(package: Option<&str>) -> anyhow::Result<Vec<&'static Threshold>> {
    let short = |threshold: &Threshold| threshold.package.trim_start_matches("ackwise-");
    match package {
        None => Ok(THRESHOLDS
            .iter()
            .filter(|threshold| Path::new("crates").join(short(threshold)).is_dir())
            .collect()),
        Some(name) => {
            let found = THRESHOLDS.iter().find(|it| it.package == name || short(it) == name);
            let Some(threshold) = found else {
                let known: Vec<_> = THRESHOLDS.iter().map(short).collect();
                bail!("`{name}` has no threshold; these have one: {}", known.join(", "));
            };
            Ok(vec![threshold])
        }
    }
}

fn try_all(
    thresholds: &[&Threshold],
    arguments: &[String],
    limit: Duration,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let mut all = Ended { end: End::Succeeded, cpu: Duration::ZERO };
    let mut summary = Vec::new();
    for threshold in thresholds {
        let output = Path::new(DIRECTORY).join(threshold.package);
        forget(&output)?;
        let mut command = mutants(threshold, &output, arguments);
        let mut take = |line: &str| printer.line(line);
        let ended = process::run_measured(&mut command, Output::TakeAll(&mut take), limit)?;
        all.cpu += ended.cpu;
        if !is_a_result(ended.end) {
            return Ok(Ended { end: ended.end, cpu: all.cpu });
        }
        let score = Score::read(&output.join("mutants.out"))?;
        if !score.holds(threshold.percent) {
            all.end = ended.end;
        }
        summary.push(score.line(threshold));
    }
    summary.iter().for_each(|line| printer.line(line));
    Ok(all)
}

fn mutants(threshold: &Threshold, output: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--package", threshold.package, "--file", threshold.files]);
    command.arg("--output").arg(output).args(["--colors", "never", "--no-times"]);
    command.args(arguments).env("PATH", install::path());
    command
}

/// Removes the result of an earlier run.
fn forget(output: &Path) -> io::Result<()> {
    match fs::remove_dir_all(output) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(output)
}

/// cargo-mutants exits with 2 if a mutant was missed and with 3 if one timed out. Other codes mean
/// that no mutant was tried, for example because the tests fail without mutants.
fn is_a_result(end: End) -> bool {
    match end {
        End::Succeeded => true,
        End::Failed(status) => matches!(status.code(), Some(2 | 3)),
        End::TimedOut(_) | End::Interrupted => false,
    }
}

/// Results for one crate's mutants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Score {
    caught: usize,
    /// The tests hung, which counts as detected.
    timed_out: usize,
    missed: usize,
    /// Mutants that do not compile.
    unviable: usize,
}

impl Score {
    /// Reads the lists that cargo-mutants writes. A list is missing if there was nothing to mutate.
    fn read(directory: &Path) -> io::Result<Self> {
        let lines = |name: &str| match fs::read_to_string(directory.join(name)) {
            Ok(text) => Ok(text.lines().count()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        };
        Ok(Self {
            caught: lines("caught.txt")?,
            timed_out: lines("timeout.txt")?,
            missed: lines("missed.txt")?,
            unviable: lines("unviable.txt")?,
        })
    }

    const fn viable(self) -> usize {
        self.caught + self.timed_out + self.missed
    }

    const fn holds(self, percent: usize) -> bool {
        (self.caught + self.timed_out) * 100 >= percent * self.viable()
    }

    fn line(self, threshold: &Threshold) -> String {
        let Self { caught, timed_out, missed, unviable } = self;
        let Threshold { package, percent, .. } = threshold;
        let verdict = if self.holds(*percent) { "holds" } else { "MISSED" };
        // Tenths of a percent, rounded down: 94.96 % is not 95 %.
        let tenths = ((caught + timed_out) * 1000).checked_div(self.viable()).unwrap_or(1000);
        format!(
            "{package}: {caught} caught, {timed_out} timed out, {missed} missed, {unviable} \
             unviable: \
             {}.{} % of those that compile (at least {percent} %: {verdict})",
            tenths / 10,
            tenths % 10
        )
    }
}

/// Directory of the results, relative to the root of the repository.
const DIRECTORY: &str = "target/mutants";

const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for all mutants of one crate (our choice).
const WHOLE_LIMIT: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: Threshold = Threshold { package: "ackwise-tcp", files: "", percent: 95 };

    #[test]
    fn a_threshold_is_of_those_that_compile() {
        let score = Score { caught: 94, timed_out: 1, missed: 5, unviable: 100 };
        assert!(score.holds(95));
        assert_eq!(
            score.line(&TCP),
            "ackwise-tcp: 94 caught, 1 timed out, 5 missed, 100 unviable: 95.0 % of those that \
             compile \
             (at least 95 %: holds)"
        );
        let score = Score { missed: 6, ..score };
        assert!(!score.holds(95));
        assert!(score.line(&TCP).ends_with("94.0 % of those that compile (at least 95 %: MISSED)"));
    }

    #[test]
    fn where_nothing_was_mutated_the_threshold_holds() {
        let nowhere = env::temp_dir().join("ackwise-no-mutants-here");
        let score = Score::read(&nowhere).unwrap();
        assert_eq!(score, Score::default());
        assert!(score.holds(95));
    }

    #[test]
    fn the_lists_of_cargo_mutants_are_counted() {
        let directory = env::temp_dir().join(format!("ackwise-mutants-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("caught.txt"), "a.rs:1:1: x\na.rs:2:1: y\n").unwrap();
        fs::write(directory.join("missed.txt"), "a.rs:3:1: z\n").unwrap();
        let score = Score::read(&directory).unwrap();
        fs::remove_dir_all(directory).unwrap();
        assert_eq!(score, Score { caught: 2, missed: 1, ..Score::default() });
    }

    #[test]
    fn a_crate_is_found_by_either_name() {
        for name in ["http", "ackwise-http"] {
            assert_eq!(chosen(Some(name)).unwrap()[0].percent, 90);
        }
        let error = chosen(Some("serve")).unwrap_err().to_string();
        assert!(error.contains("`serve`") && error.contains("tcp, link"), "{error}");
    }
}
