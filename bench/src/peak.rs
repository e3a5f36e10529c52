//! Measures the maximum memory of one program.
//!
//! Uses GNU time, because `getrusage` only reports the largest of all children so far.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use xtask::install::needs::Package;

pub(crate) const PACKAGES: &[Package] =
    &[Package { name: "time", purpose: "the peak memory of one program", service: None }];

/// The file to which the result is written when the program ends.
#[derive(Clone, Debug)]
pub(crate) struct Peak {
    file: PathBuf,
}

impl Peak {
    /// Writes the result to `directory`.
    ///
    /// # Errors
    ///
    /// If `directory` cannot be created.
    pub(crate) fn new(directory: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self { file: directory.join("peak") })
    }

    /// Wraps the command in GNU time.
    pub(crate) fn watch(&self, inner: &Command) -> Command {
        let mut command = Command::new("/usr/bin/time");
        command.args(["--format", "%M", "--output"]).arg(&self.file);
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }

    /// Maximum resident set of the last watched command in bytes.
    ///
    /// # Errors
    ///
    /// If no command has ended, or it failed.
    pub(crate) fn bytes(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(&self.file)?;
        let kilobytes: u64 = text.trim().parse().with_context(|| format!("GNU time: {text}"))?;
        Ok(1024 * kilobytes)
    }

    /// The same of a command that may have failed, of which GNU time says so in a line before.
    ///
    /// # Errors
    ///
    /// If no command has ended.
    pub(crate) fn last_bytes(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(&self.file)?;
        let last = text.lines().last().unwrap_or_default();
        let kilobytes: u64 = last.trim().parse().with_context(|| format!("GNU time: {text}"))?;
        Ok(1024 * kilobytes)
    }
}
