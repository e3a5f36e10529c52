//! `cargo xtask dist` and `cargo xtask release`: the scripts in `packaging`, which also run alone.

use std::process::{Command, ExitCode};
use std::time::Duration;

use xtask::install::{needs::Package, provide_packages};
use xtask::process::{self, End, Output};

/// What is wanted of a release.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wanted {
    /// Build and pack it.
    Made,
    /// Pack what was built before.
    Packed,
    /// Try what was packed in clean roots.
    Tried,
    /// Build it twice and compare.
    MadeTwice,
}

/// Runs the script, after installing what it needs.
pub(crate) fn run(wanted: Wanted) -> anyhow::Result<ExitCode> {
    let (packages, script, argument) = match wanted {
        Wanted::Made => (FOR_MAKING, "packaging/dist.sh", None),
        Wanted::Packed => (FOR_MAKING, "packaging/dist.sh", Some("--pack")),
        Wanted::Tried => (FOR_TRYING, "packaging/try.sh", None),
        Wanted::MadeTwice => (FOR_MAKING, "packaging/release.sh", None),
    };
    provide_packages(packages)?;
    let mut command = Command::new(script);
    let end = process::run(command.args(argument), Output::Inherit, LIMIT)?;
    Ok(if end == End::Succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const fn package(name: &'static str, purpose: &'static str) -> Package {
    Package { name, purpose, service: None }
}

const FOR_MAKING: &[Package] = &[
    package("python3-venv", "cargo-zigbuild in .venv"),
    package("binutils", "separates symbols from programs"),
    package("zstd", "archives"),
];

const FOR_TRYING: &[Package] =
    &[package("debootstrap", "clean roots"), package("lintian", "rules of Debian's packages")];

/// Our choice: four release builds on a slow machine.
const LIMIT: Duration = Duration::from_secs(4 * 3600);
