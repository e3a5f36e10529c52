//! How a test says that it could not run here, or that nothing can be said of what it measured.
//!
//! `cargo xtask test` sets [`SKIPS_FILE`] and lists what it finds there, so that a green run without
//! root cannot be mistaken for a complete one.

use std::{fmt, fs::OpenOptions, io::Write};

use crate::namespace::Namespace;

/// Environment variable with the path of the file that collects skipped tests, one a line.
pub const SKIPS_FILE: &str = "ACKWISE_SKIPS";

/// Says on stderr, and in the file that [`SKIPS_FILE`] names, that `test` did not run, and why.
pub fn skip(test: &str, missing: impl fmt::Display) {
    note(&format!("SKIPPED {test}: {missing}\n"));
}

/// As [`skip`], of a `test` that ran, and was disturbed whenever it ran: it shows nothing. `cargo xtask
/// test` lists it and does not fail, as a busy machine is no defect.
pub fn inconclusive(test: &str, why: impl fmt::Display) {
    note(&format!("INCONCLUSIVE {test}: {why}\n"));
}

fn note(line: &str) {
    // To the descriptor itself: the harness keeps what `eprintln!` says of a test that passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let Some(path) = std::env::var_os(SKIPS_FILE) else { return };
    let file = OpenOptions::new().create(true).append(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("{SKIPS_FILE}: {error}");
    }
}

/// Runs `test` in a thread inside a new namespace, or skips it where none can be made.
///
/// # Panics
///
/// If `test` does.
pub fn in_namespace(name: &str, test: impl FnOnce() + Send) {
    match Namespace::create() {
        Ok(namespace) => namespace.run(test).expect("who may make a namespace may enter it"),
        Err(missing) => skip(name, missing),
    }
}
