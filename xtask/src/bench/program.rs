//! The program that is measured, built as it is released.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::process::{self, End, Output};

/// Builds `ackwise` and says where it is.
///
/// # Errors
///
/// If it does not build.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let mut program = None;
    let mut look = |line: &str| program = executable(line).or_else(|| program.take());
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "ackwise", "--message-format"]);
    build.arg("json-render-diagnostics");
    let end = process::run(&mut build, Output::Take(&mut look), BUILD_LIMIT)?;
    ensure!(end == End::Succeeded, "ackwise was not built: {end:?}");
    program.context("cargo did not say where it put ackwise")
}

/// The program that a line of `cargo build --message-format json` names, if it is such a line.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

/// Half a minute on a quiet machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_where_the_program_is() {
        let line = r#"{"reason":"compiler-artifact","executable":"target/release/ackwise"}"#;
        assert_eq!(executable(line), Some(PathBuf::from("target/release/ackwise")));
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(executable(r#"{"executable":null}"#), None);
    }
}
