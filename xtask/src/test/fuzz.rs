//! Builds the fuzz targets and runs each for a bounded time.

use std::fs::File;
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
        let log = format!("{LOGS}/{target}.log");
        let end = process::run(&mut fuzz(&target, &host, &log)?, Output::Discard, RUN_LIMIT)?;
        let said = fs::read(&log).with_context(|| format!("reading {log}"))?;
        for line in worth_reading(&String::from_utf8_lossy(&said), end) {
            println!("{line}");
        }
        if end != End::Succeeded {
            println!("fuzz target {target} failed; the input is in fuzz/artifacts/{target}");
            all = end;
        }
    }
    Ok(all)
}

/// libFuzzer tells of each input that it keeps, thousands of lines: what remains is how it ended.
fn worth_reading(said: &str, end: End) -> Vec<&str> {
    let wanted = if end == End::Succeeded { 1 } else { FAILURE_LINES };
    let is_news = |line: &&str| !line.starts_with(['#', '\t']) && !line.starts_with("stat::");
    let news: Vec<&str> = said.lines().filter(is_news).collect();
    news[news.len().saturating_sub(wanted)..].to_vec()
}

/// New inputs go to the first directory; the seeds are only read.
fn fuzz(target: &str, host: &str, log: &str) -> io::Result<Command> {
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(LOGS)?;
    let mut command = cargo_fuzz("run", host);
    command.stderr(File::create(log)?);
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

/// What each target said, whole.
const LOGS: &str = "fuzz/logs";

/// A report of a sanitizer with its stack and the input in base64 has fewer.
const FAILURE_LINES: usize = 100;

/// How long each target runs.
const SECONDS: u64 = 60;

const RUN_LIMIT: Duration = Duration::from_secs(SECONDS + 120);
const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// One input may take 5 s (of wall time, on a machine that is busy otherwise) and the process 2 GiB:
/// hostile input must be cheap.
///
/// One seed: a change is not to fail by the luck of another. Searching with other seeds, and longer, is
/// done by hand (fuzz/README.md).
const LIBFUZZER: &[&str] = &["-seed=1", "-timeout=5", "-rss_limit_mb=2048", "-print_final_stats=1"];

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    const SAID: &str = "INFO: seed\n#1 NEW cov: 1\n\tNEW_FUNC[1/1]\n==7== ERROR: timeout\n\
                        #17 REDUCE cov: 1\nBase64: AAAA\nstat::peak_rss_mb: 1\n";

    #[test]
    fn a_failure_is_shown_without_the_progress() {
        let failed = End::Failed(ExitStatus::from_raw(256));
        assert_eq!(
            worth_reading(SAID, failed),
            ["INFO: seed", "==7== ERROR: timeout", "Base64: AAAA"]
        );
        assert_eq!(
            worth_reading("INFO: seed\n#9 DONE\nDone 9 runs\n", End::Succeeded),
            ["Done 9 runs"]
        );
    }
}
