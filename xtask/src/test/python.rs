//! The Python package: its wheel, by the dev profile in the common build directory, and its tests.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::tally::Tally;
use crate::console::Printer;
use xtask::install;
use xtask::process::{self, End, Ended, Output};

/// Builds the wheel, installs it in `.venv`, and runs the tests of the package. Stops at the first command that fails.
///
/// # Errors
///
/// If a command cannot be started, or there is no wheel.
pub(super) fn run(limit: Duration, printer: &Printer, tally: &mut Tally) -> anyhow::Result<Ended> {
    let started = Instant::now();
    let mut ended = Ended { end: End::Succeeded, cpu: Duration::ZERO };
    // Of an earlier version, perhaps.
    let _ = fs::remove_dir_all(WHEELS);
    let mut run = |program: &str, arguments: &[&str]| -> anyhow::Result<bool> {
        printer.line(&format!("{program} {}", arguments.join(" ")));
        let mut command = Command::new(program);
        command.args(arguments).env("PATH", install::path());
        let mut take = |line: &str| {
            if let Some(test) = on_line(line, tally) {
                printer.failure(test);
            }
            printer.line(line);
        };
        let left = limit.saturating_sub(started.elapsed());
        let one = process::run_measured(&mut command, Output::TakeAll(&mut take), left)?;
        ended = Ended { end: one.end, cpu: ended.cpu + one.cpu };
        Ok(one.end == End::Succeeded)
    };
    if !run(
        "maturin",
        &[&["build", "--quiet", "-m", MANIFEST, "--out", WHEELS], AS_TESTED].concat(),
    )? {
        return Ok(ended);
    }
    let wheel = only_file(Path::new(WHEELS))?;
    let commands: [(&str, &[&str]); 5] = [
        ("pip", &["install", "--quiet", "--no-deps", "--force-reinstall", &wheel]),
        ("mypy", &["--config-file", PROJECT, SOURCES, TESTS]),
        // Not warnings: the compiled module is in .venv, and pyright expects it beside its stub.
        ("pyright", &["--level", "error", SOURCES, TESTS]),
        ("pdoc", &["--output-directory", REFERENCE, "ackwise"]),
        ("pytest", &["-rf", "--tb=short", "--no-header", "-p", "no:cacheprovider", TESTS]),
    ];
    for (program, arguments) in commands {
        if !run(program, arguments)? {
            break;
        }
    }
    Ok(ended)
}

/// Counts the tests in a line of pytest's: `=== 1 failed, 30 passed in 12.34s ===`, and `FAILED FILE::TEST - WHY` before
/// it. Returns the name of a failed test.
fn on_line<'a>(line: &'a str, tally: &mut Tally) -> Option<&'a str> {
    if let Some(name) = line.strip_prefix("FAILED ") {
        let name = name.split(" - ").next().unwrap_or(name);
        tally.failures.push(name.to_owned());
        return Some(name);
    }
    if line.starts_with("===") && line.contains(" in ") {
        let words: Vec<_> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let count = |what| {
            let at = words.iter().position(|word| *word == what)?;
            words.get(at.checked_sub(1)?)?.parse::<usize>().ok()
        };
        tally.passed += count("passed").unwrap_or(0);
        tally.failed += count("failed").unwrap_or(0);
    }
    None
}

fn only_file(folder: &Path) -> anyhow::Result<String> {
    let mut files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let file = files.next().context("maturin has made no wheel")??;
    Ok(file.path().display().to_string())
}

/// By profile and features, so that what the step `build` has compiled is not compiled again.
const AS_TESTED: &[&str] = &["--profile", "dev", "--features", "parquet,as-tested"];

const MANIFEST: &str = "crates/python/Cargo.toml";
const PROJECT: &str = "crates/python/pyproject.toml";
const SOURCES: &str = "crates/python/python/ackwise";
const TESTS: &str = "crates/python/tests";
const REFERENCE: &str = "target/book/python";
const WHEELS: &str = "target/wheels";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_pytest_are_counted() {
        let mut tally = Tally::default();
        for line in [
            "crates/python/tests/test_run.py ..F.                  [100%]",
            "FAILED crates/python/tests/test_run.py::test_a - assert 1 == 2",
            "========= 1 failed, 30 passed, 2 warnings in 12.34s =========",
        ] {
            on_line(line, &mut tally);
        }
        assert_eq!((tally.passed, tally.failed), (30, 1));
        assert_eq!(tally.failures, ["crates/python/tests/test_run.py::test_a"]);
    }
}
