//! The most memory that one program had.
//!
//! By GNU time, because our own `getrusage` knows only the largest of all children so far.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use xtask::install::needs::Package;

pub(crate) const PACKAGES: &[Package] =
    &[Package { name: "time", purpose: "the peak memory of one program", service: None }];

/// Where a figure is written when the program ends.
#[derive(Clone, Debug)]
pub(crate) struct Peak {
    file: PathBuf,
}

impl Peak {
    /// The figure goes into `directory`.
    ///
    /// # Errors
    ///
    /// If that cannot be made.
    pub(crate) fn new(directory: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self { file: directory.join("peak") })
    }

    /// The same command, watched.
    pub(crate) fn watch(&self, inner: &Command) -> Command {
        let mut command = Command::new("/usr/bin/time");
        command.args(["--format", "%M", "--output"]).arg(&self.file);
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }

    /// The largest resident set of the last command that was watched, in bytes.
    ///
    /// # Errors
    ///
    /// If none has ended, or it failed.
    pub(crate) fn bytes(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(&self.file)?;
        let kilobytes: u64 = text.trim().parse().with_context(|| format!("GNU time: {text}"))?;
        Ok(1024 * kilobytes)
    }
}
