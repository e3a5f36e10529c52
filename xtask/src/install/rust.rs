//! Installs parts of the Rust toolchain with rustup, if Rust was installed that way.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::ensure;

use super::{announce, find};
use crate::process::{self, End, Output};

/// Installs a component (`clippy`, `rustfmt`) of the active toolchain.
///
/// # Errors
///
/// If it cannot be installed; the message says how to install it by hand.
pub(crate) fn provide_component(component: &str) -> anyhow::Result<()> {
    let command = match component {
        "rustfmt" => "fmt",
        other => other,
    };
    provide(&["cargo", command, "--version"], &["component", "add", component])
}

/// Installs the nightly toolchain, which the fuzz targets need for their instrumentation.
///
/// # Errors
///
/// If it cannot be installed; the message says how to install it by hand.
pub(crate) fn provide_nightly() -> anyhow::Result<()> {
    provide(
        &["cargo", "+nightly", "--version"],
        &["toolchain", "install", "nightly", "--profile", "minimal", "--no-self-update"],
    )
}

/// Removes the toolchain variables that `cargo run` sets, so that `+nightly` takes effect.
pub fn forget_toolchain(command: &mut Command) -> &mut Command {
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC")
}

fn provide(probe: &[&str], rustup: &[&str]) -> anyhow::Result<()> {
    if succeeds(probe) {
        return Ok(());
    }
    let by_hand = format!("rustup {}", rustup.join(" "));
    ensure!(find("rustup").is_some(), "{by_hand}");
    announce(&by_hand);
    let mut command = Command::new("rustup");
    let end = process::run(command.args(rustup), Output::Inherit, INSTALL_LIMIT)?;
    ensure!(end == End::Succeeded && succeeds(probe), "{by_hand}");
    Ok(())
}

fn succeeds(words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    // Without rustup, cargo reports an error about `+nightly`; the caller's message is clearer.
    forget_toolchain(command.args(arguments).stderr(Stdio::null()));
    let end = process::run(&mut command, Output::Take(&mut |_| {}), PROBE_LIMIT);
    end.is_ok_and(|end| end == End::Succeeded)
}

const PROBE_LIMIT: Duration = Duration::from_secs(30);
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
