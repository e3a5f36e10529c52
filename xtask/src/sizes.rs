//! `cargo xtask ratchet`: prints how large each crate is, and lowers the numbers that may only fall.

use std::process::{Command, ExitCode};
use std::{fs, io};

use anyhow::{anyhow, ensure};
use xtask::ratchet::{FILE, Ratchet};

/// Prints the counts, and where they are not as the file has them.
///
/// # Errors
///
/// If the files cannot be read.
pub(crate) fn check() -> anyhow::Result<ExitCode> {
    let (counted, file) = (count()?, read()?);
    print!("{}", counted.table());
    let complaints = counted.differs_from(&file);
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    Ok(ExitCode::from(u8::from(!complaints.is_empty())))
}

/// Writes the numbers that have fallen; then as [`check`].
///
/// # Errors
///
/// If the files cannot be read, or the numbers cannot be written.
pub(crate) fn update() -> anyhow::Result<ExitCode> {
    fs::write(FILE, count()?.lowered(&read()?).to_toml())?;
    check()
}

fn read() -> anyhow::Result<Ratchet> {
    let text = match fs::read_to_string(FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    Ratchet::parse(&text).map_err(|error| anyhow!(error))
}

/// Counts in the files that git tracks.
fn count() -> anyhow::Result<Ratchet> {
    let output = Command::new("git").args(["ls-files", "-z", "*.rs"]).output()?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout)?;
    let mut files = Vec::new();
    for name in names.split_terminator('\0') {
        match fs::read_to_string(name) {
            Ok(text) => files.push((name, text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {} // Deleted, not yet committed.
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Ratchet::count(files.iter().map(|(name, text)| (*name, text.as_str()))))
}
