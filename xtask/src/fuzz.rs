//! Builds the fuzz targets and runs each for a limited time.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, bail, ensure};

use crate::console::Printer;
use xtask::install;
use xtask::install::needs::{CARGO_FUZZ, Need};
use xtask::process::{self, End, Ended, Output};

/// Options of `cargo xtask fuzz`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Names of the targets; empty means all.
    pub(crate) targets: Vec<String>,
    pub(crate) search: Search,
}

/// Duration and seed of a search.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Search {
    /// Seconds per target.
    pub(crate) seconds: u64,
    /// Seed of libFuzzer's random numbers.
    pub(crate) seed: u32,
}

impl Search {
    /// The tests' search: the seed inputs, which include findings of longer searches, and a few
    /// more seconds (our choice). The seed is constant, so that a failure is due to the change
    /// under test.
    pub(crate) const BRIEF: Self = Self { seconds: 10, seed: 1 };
}

/// `cargo xtask fuzz`: runs the targets named in `options`, or all.
///
/// # Errors
///
/// If a target does not exist, or a dependency cannot be installed.
pub(crate) fn search(options: &Options) -> anyhow::Result<ExitCode> {
    for need in [Need::Tool(&CARGO_FUZZ), Need::Nightly] {
        install::provide(need)?;
    }
    let known = targets()?;
    if let Some(name) = options.targets.iter().find(|name| !known.contains(name)) {
        bail!("no fuzz target is named `{name}`; the targets are: {}", known.join(", "));
    }
    let targets = if options.targets.is_empty() { &known } else { &options.targets };
    let (ended, _) = run_targets(targets, &options.search, BUILD_LIMIT, &Printer::plain())?;
    Ok(ExitCode::from(u8::from(ended.end != End::Succeeded)))
}

/// Runs all targets. The first failure of each is reported and returned as one line, and the others
/// still run. `limit` applies to the build.
///
/// # Errors
///
/// If there is no target, or cargo cannot be started.
pub(crate) fn run(
    search: &Search,
    limit: Duration,
    printer: &Printer,
) -> anyhow::Result<(Ended, Vec<String>)> {
    run_targets(&targets()?, search, limit, printer)
}

fn run_targets(
    targets: &[String],
    search: &Search,
    limit: Duration,
    printer: &Printer,
) -> anyhow::Result<(Ended, Vec<String>)> {
    ensure!(!targets.is_empty(), "fuzz/Cargo.toml names no target");
    let host = host()?;
    printer.line("cargo +nightly fuzz build");
    let mut take = |line: &str| printer.line(line);
    let mut build = cargo_fuzz("build", &host);
    let mut all = process::run_measured(&mut build, Output::TakeAll(&mut take), limit)?;
    let mut failures = Vec::new();
    if all.end != End::Succeeded {
        return Ok((all, failures));
    }
    for target in targets {
        printer.line(&format!("fuzzing {target} for {} s", search.seconds));
        let log = format!("{LOGS}/{target}.log");
        let limit = Duration::from_secs(search.seconds) + GRACE;
        let mut command = fuzz(target, &host, &log, search)?;
        let ended = process::run_measured(&mut command, Output::Discard, limit)?;
        all.cpu += ended.cpu;
        let said = fs::read(&log).with_context(|| format!("reading {log}"))?;
        let said = String::from_utf8_lossy(&said);
        for line in worth_reading(&said, ended.end) {
            printer.line(line);
        }
        if ended.end != End::Succeeded {
            let input = format!("fuzz target {target}; the input is in fuzz/artifacts/{target}");
            printer.failure(&input);
            printer.line(&format!("FAILED {input}"));
            failures.push(format!("fuzz target {target}: {}", in_one_line(&said)));
            all.end = ended.end;
        }
    }
    Ok((all, failures))
}

/// What failed and the input, so that the end of a log is enough to repeat it.
fn in_one_line(said: &str) -> String {
    let mut lines = said.lines();
    let is_reason = |line: &&str| line.contains("panicked at") || line.contains("ERROR: libFuzzer");
    let reason = lines.find(is_reason).unwrap_or("no reason in the log");
    // A panic's message is on the next line.
    let message = lines.clone().next().filter(|_| reason.contains("panicked")).unwrap_or_default();
    let input = lines.find_map(|line| line.strip_prefix("Base64: ")).unwrap_or("none");
    let input = if input.len() > INPUT_CHARACTERS { "too long to print" } else { input };
    format!("{reason} {message}; input in base64: {input}")
}

/// The relevant lines of the output: libFuzzer prints thousands of lines for new inputs.
fn worth_reading(said: &str, end: End) -> Vec<&str> {
    let wanted = if end == End::Succeeded { 1 } else { FAILURE_LINES };
    let is_news = |line: &&str| !line.starts_with(['#', '\t']) && !line.starts_with("stat::");
    let news: Vec<&str> = said.lines().filter(is_news).collect();
    news[news.len().saturating_sub(wanted)..].to_vec()
}

/// New inputs are written to the first directory; the seeds are only read.
fn fuzz(target: &str, host: &str, log: &str, search: &Search) -> io::Result<Command> {
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(LOGS)?;
    let mut command = cargo_fuzz("run", host);
    command.stderr(File::create(log)?);
    command.args([target, &corpus]);
    if Path::new(&seeds).is_dir() {
        command.arg(seeds);
    }
    command.arg("--").args(LIBFUZZER).arg(format!("-seed={}", search.seed));
    command.arg(format!("-max_total_time={}", search.seconds));
    Ok(command)
}

fn targets() -> anyhow::Result<Vec<String>> {
    let mut targets = Vec::new();
    let mut command = cargo_nightly();
    command.args(["fuzz", "list"]);
    let mut note = |line: &str| targets.push(line.trim().to_owned());
    process::run(&mut command, Output::Take(&mut note), QUERY_LIMIT)?;
    Ok(targets)
}

/// The host's target triple. A prebuilt cargo-fuzz would otherwise use the one it was built for.
fn host() -> anyhow::Result<String> {
    let mut host = None;
    let mut look = |line: &str| {
        if let Some(triple) = line.strip_prefix("host: ") {
            host = Some(triple.to_owned());
        }
    };
    let mut command = Command::new("rustc");
    process::run(command.arg("-vV"), Output::Take(&mut look), QUERY_LIMIT)?;
    host.context("`rustc -vV` names no host")
}

/// Without a sanitizer: our crates forbid `unsafe`, so it would search the dependencies' code, at half the speed. Panics,
/// signals, memory and time are watched by libFuzzer.
fn cargo_fuzz(verb: &str, host: &str) -> Command {
    let mut command = cargo_nightly();
    command.args(["fuzz", verb, "--sanitizer", "none", "--target", host]);
    command
}

fn cargo_nightly() -> Command {
    let mut command = Command::new("cargo");
    install::forget_toolchain(command.arg("+nightly").env("PATH", install::path()));
    command
}

/// Complete output of each target.
const LOGS: &str = "fuzz/logs";

/// Maximum number of printed lines of a failure (our choice): a report with its stack and the input in base64 is shorter.
const FAILURE_LINES: usize = 100;

/// Maximum length of an input that a summary repeats (our choice).
const INPUT_CHARACTERS: usize = 4000;

/// Time beyond the search for cargo's freshness check and all seed inputs (our choice).
const GRACE: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(1200);
const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// Limits per input: 5 s of wall time, with a margin for a busy machine, and 2 GiB (our choice).
/// Hostile input must be cheap to process.
const LIBFUZZER: &[&str] = &["-timeout=5", "-rss_limit_mb=2048", "-print_final_stats=1"];

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    const SAID: &str = "INFO: seed\n#1 NEW cov: 1\n\tNEW_FUNC[1/1]\n==7== ERROR: libFuzzer: timeout\n\
                        #17 REDUCE cov: 1\nBase64: AAAA\nstat::peak_rss_mb: 1\n";

    #[test]
    fn a_failure_is_shown_without_the_progress() {
        let failed = End::Failed(ExitStatus::from_raw(256));
        assert_eq!(
            worth_reading(SAID, failed),
            ["INFO: seed", "==7== ERROR: libFuzzer: timeout", "Base64: AAAA"]
        );
        assert_eq!(in_one_line(SAID), "==7== ERROR: libFuzzer: timeout ; input in base64: AAAA");
        assert_eq!(
            worth_reading("INFO: seed\n#9 DONE\nDone 9 runs\n", End::Succeeded),
            ["Done 9 runs"]
        );
    }
}
