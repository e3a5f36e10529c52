//! Installs Debian packages with apt-get, as root, without starting their services.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, ensure};
use nix::unistd::geteuid;

use super::needs::Package;
use super::{announce, find};
use crate::process::{self, End, Output};

/// Installs those of `packages` that are missing.
///
/// # Errors
///
/// If some are missing and cannot be installed.
pub(crate) fn provide(packages: &[Package]) -> anyhow::Result<()> {
    if find("dpkg-query").is_none() {
        bail!("this is not Debian: install by hand what the skipped tests name");
    }
    let missing = missing(packages)?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|package| package.name).collect();
    let by_hand = format!("as root: apt-get install {}", names.join(" "));
    ensure!(geteuid().is_root() && find("apt-get").is_some(), "{by_hand}");
    for package in &missing {
        announce(&format!("Debian package {} ({})", package.name, package.purpose));
    }
    install(&missing, &names)
}

fn missing(packages: &[Package]) -> anyhow::Result<Vec<&Package>> {
    let mut installed = Vec::new();
    let mut note = |line: &str| {
        if let Some(name) = line.strip_suffix(" install ok installed") {
            installed.push(name.to_owned());
        }
    };
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat", "${Package} ${Status}\\n"]);
    process::run(&mut query, Output::Take(&mut note), QUERY_LIMIT)?;
    Ok(packages.iter().filter(|package| !installed.iter().any(|one| one == package.name)).collect())
}

fn install(packages: &[&Package], names: &[&str]) -> anyhow::Result<()> {
    let _off = ServicesOff::new()?;
    // An outdated list refers to versions that are no longer available, so update it. An error of
    // one source is ignored: only the installation counts.
    apt_get(&["update", "--quiet=2"])?;
    let mut arguments = vec!["install", "--yes", "--quiet=2", "--no-install-recommends"];
    arguments.extend(names);
    let end = apt_get(&arguments)?;
    ensure!(end == End::Succeeded, "apt-get install {} failed", names.join(" "));
    for service in packages.iter().filter_map(|package| package.service) {
        stay_off_at_boot(service)?;
    }
    Ok(())
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<End> {
    let mut command = Command::new("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=120"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    // Drop the line per unpacked file; errors go to standard error.
    process::run(&mut command, Output::Take(&mut |_| {}), INSTALL_LIMIT)
}

fn stay_off_at_boot(service: &str) -> anyhow::Result<()> {
    if find("systemctl").is_some() {
        let mut command = Command::new("systemctl");
        command.args(["--quiet", "disable", service]);
        process::run(&mut command, Output::Inherit, QUERY_LIMIT)?;
    }
    Ok(())
}

/// Prevents Debian's maintainer scripts from starting services until dropped (`invoke-rc.d(8)`: a
/// policy layer that exits with 101 forbids the action).
struct ServicesOff {
    /// Whether the file has these contents and is removed on drop; any other is left unchanged.
    ours: bool,
}

impl ServicesOff {
    fn new() -> anyhow::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(POLICY);
        match file {
            Ok(mut file) => {
                let guard = Self { ours: true };
                file.write_all(FORBID)?;
                fs::set_permissions(POLICY, Permissions::from_mode(0o755))?;
                Ok(guard)
            }
            // Left by a killed run (same contents), or created by another program.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Self { ours: fs::read(POLICY)? == FORBID })
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for ServicesOff {
    fn drop(&mut self) {
        if self.ours && fs::remove_file(Path::new(POLICY)).is_err() {
            eprintln!("could not remove {POLICY}: it keeps services from starting");
        }
    }
}

const POLICY: &str = "/usr/sbin/policy-rc.d";
const FORBID: &[u8] =
    b"#!/bin/sh\n# While the tests of Ackwise install packages; else it may go.\nexit 101\n";

const QUERY_LIMIT: Duration = Duration::from_secs(30);
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
