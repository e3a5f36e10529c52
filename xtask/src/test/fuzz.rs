//! Builds the fuzz targets and runs each for a bounded time.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, ensure};

use crate::install;
use crate::process::{self, End, Output};

/// Runs all targets; the first failure of each is reported, and the others still run.
///
/// # Errors
///
/// If there is no target, or cargo cannot be started.
pub(crate) fn run(limit: Duration) -> anyhow::Result<End> {
    let targets = targets()?;
    ensure!(!targets.is_empty(), "fuzz/Cargo.toml names no target");
    let host = host()?;
    let build = process::run(&mut cargo_fuzz("build", &host), Output::Inherit, limit)?;
    if build != End::Succeeded {
        return Ok(build);
    }
    let mut all = End::Succeeded;
    for target in targets {
        println!("fuzzing {target} for {SECONDS} s");
        let end = process::run(&mut fuzz(&target, &host)?, Output::Inherit, RUN_LIMIT)?;
        if end != End::Succeeded {
            eprintln!("fuzz target {target} failed; the input is in fuzz/artifacts/{target}");
            all = end;
        }
    }
    Ok(all)
}

/// New inputs go to the first directory; the seeds are only read.
fn fuzz(target: &str, host: &str) -> io::Result<Command> {
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(&corpus)?;
    let mut command = cargo_fuzz("run", host);
    command.args([target, &corpus]);
    if Path::new(&seeds).is_dir() {
        command.arg(seeds);
    }
    command.arg("--").args(LIBFUZZER).arg(format!("-max_total_time={SECONDS}"));
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

/// The machine's own target triple. A prebuilt cargo-fuzz would else take the one that it was built
/// for, and a statically linked C library refuses the sanitizer.
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

fn cargo_fuzz(verb: &str, host: &str) -> Command {
    let mut command = cargo_nightly();
    command.args(["fuzz", verb, "--target", host]);
    command
}

fn cargo_nightly() -> Command {
    let mut command = Command::new("cargo");
    install::forget_toolchain(command.arg("+nightly").env("PATH", install::path()));
    command
}

/// How long each target runs.
const SECONDS: u64 = 60;

const RUN_LIMIT: Duration = Duration::from_secs(SECONDS + 120);
const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// One input may take 5 s (of wall time, on a machine that is busy otherwise) and the process 2 GiB:
/// hostile input must be cheap.
const LIBFUZZER: &[&str] = &["-timeout=5", "-rss_limit_mb=2048", "-print_final_stats=1"];
