//! Reports tests that could not run, or whose measurement was inconclusive.
//!
//! `cargo xtask test` sets `ACKWISE_SKIPS` and lists its contents, so that a passing run without
//! root is not mistaken for a complete one.

use std::{fmt, fs::OpenOptions, io::Write};

/// Environment variable with the path of the file that collects skipped tests, one per line.
const SKIPS_FILE: &str = "ACKWISE_SKIPS";

/// Reports that `test` was skipped and why, on stderr and in the file that `ACKWISE_SKIPS` names.
pub fn skip(test: &str, missing: impl fmt::Display) {
    note(&format!("SKIPPED {test}: {missing}\n"));
}

/// Like [`skip`], for a `test` that was disturbed at every attempt and is inconclusive. `cargo
/// xtask test` lists it and does not fail, because a busy machine is not a defect.
pub fn inconclusive(test: &str, why: impl fmt::Display) {
    note(&format!("INCONCLUSIVE {test}: {why}\n"));
}

fn note(line: &str) {
    // Writes to the descriptor: the test harness captures `eprintln!` of passing tests.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let Some(path) = std::env::var_os(SKIPS_FILE) else { return };
    let file = OpenOptions::new().create(true).append(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("{SKIPS_FILE}: {error}");
    }
}

/// Runs `test` in a thread inside a new namespace, or skips it if none can be created.
///
/// # Panics
///
/// If `test` panics.
#[cfg(target_os = "linux")]
pub fn in_namespace(name: &str, test: impl FnOnce() + Send) {
    match ackwise_linux::Namespace::create() {
        Ok(namespace) => namespace.run(test).expect("who may make a namespace may enter it"),
        Err(missing) => skip(name, missing),
    }
}
