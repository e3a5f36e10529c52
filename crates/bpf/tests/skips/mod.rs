//! Reports tests that could not run, or show nothing, where `cargo xtask test` lists them.

use std::io::Write;

/// Says that `test` was `SKIPPED` or `INCONCLUSIVE`, what is missing and how to get it.
pub(crate) fn report(outcome: &str, test: &str, missing: &str) {
    let line = format!("{outcome} {test}: {missing}\n");
    // Writes to the descriptor: the test harness captures `eprintln!` of passing tests.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let Some(path) = std::env::var_os("ACKWISE_SKIPS") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("ACKWISE_SKIPS: {error}");
    }
}
