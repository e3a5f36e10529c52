//! Builds the measured program in release mode.

use std::env;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use xtask::process::{self, End, Output};

/// Builds `ackwise` and returns its path.
///
/// # Errors
///
/// If it does not build.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    build_with(&[])
}

/// Builds `ackwise` with these features and returns its path.
///
/// # Errors
///
/// If it does not build.
pub(crate) fn build_with(features: &[&str]) -> anyhow::Result<PathBuf> {
    let mut program = None;
    let mut look = |line: &str| program = executable(line).or_else(|| program.take());
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "ackwise", "--message-format"]);
    build.arg("json-render-diagnostics").args(["--features", &features.join(",")]);
    forget_package(&mut build);
    let end = process::run(&mut build, Output::Take(&mut look), BUILD_LIMIT)?;
    ensure!(end == End::Succeeded, "ackwise was not built: {end:?}");
    program.context("cargo did not say where it put ackwise")
}

/// Removes the variables that `cargo run` sets for xtask. Build scripts that depend on them
/// (ring's) would otherwise rerun, and half of the program would be rebuilt whenever builds by hand
/// and by this benchmark alternate.
pub(crate) fn forget_package(command: &mut Command) {
    let names = env::vars_os().map(|(name, _)| name);
    let of_package = |name: &OsString| {
        name.to_str().is_some_and(|it| it.starts_with("CARGO_PKG_") || it == "CARGO_MANIFEST_DIR")
    };
    names.filter(of_package).for_each(|name| {
        command.env_remove(name);
    });
}

/// The executable named by `line` of `cargo build --message-format json`, if any.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

/// Time limit (our choice): half a minute on an idle machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);

/// Whether something listens on `port` of the current network within [`START_LIMIT`].
pub(crate) fn listens(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect_timeout(&address, START_LIMIT).is_err() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// A Java virtual machine on a busy machine takes seconds.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(30);
/// Our choice.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_not_told_of_xtask() {
        let mut build = Command::new("cargo");
        forget_package(&mut build);
        // Cargo also sets it for tests.
        assert!(build.get_envs().any(|it| it == ("CARGO_MANIFEST_DIR".as_ref(), None)));
    }

    #[test]
    fn cargo_says_where_the_program_is() {
        let line = r#"{"reason":"compiler-artifact","executable":"target/release/ackwise"}"#;
        assert_eq!(executable(line), Some(PathBuf::from("target/release/ackwise")));
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(executable(r#"{"executable":null}"#), None);
    }
}
