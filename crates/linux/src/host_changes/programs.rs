//! Other programs, without a look at the caller's `PATH`.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

use super::HostChangeError;

/// A program of the system, which runs with an environment that the caller has no part in.
pub(super) fn command(program: &'static str) -> Result<Command, HostChangeError> {
    let source = || io::Error::new(io::ErrorKind::NotFound, "it is not installed");
    let path =
        find(program).ok_or_else(|| HostChangeError::Keeper { program, source: source() })?;
    let mut command = Command::new(path);
    // `nft` keeps a history of what it reads in the home directory: there is none.
    command
        .env_clear()
        .env("PATH", DIRECTORIES.join(":"))
        .env("HOME", "/dev/null")
        .env("LC_ALL", "C");
    Ok(command)
}

/// Those of `programs` that are not installed.
pub(super) fn missing(programs: &[&'static str]) -> Vec<&'static str> {
    programs.iter().copied().filter(|program| find(program).is_none()).collect()
}

fn find(program: &str) -> Option<PathBuf> {
    DIRECTORIES.iter().map(|directory| Path::new(directory).join(program)).find(|it| it.is_file())
}

/// Where only root may install programs. The last is NixOS's.
pub(super) const DIRECTORIES: [&str; 5] =
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/run/current-system/sw/bin"];
