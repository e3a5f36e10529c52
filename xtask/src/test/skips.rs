//! Collects skipped tests.
//!
//! A test cannot report to libtest at run time that it was skipped. It therefore prints `SKIPPED
//! NAME: WHAT IS MISSING`, appends the same line to the file named by `ACKWISE_SKIPS`, and returns.
//! A test that was disturbed in every run, or lacks a tool that is needed only for a change, writes
//! `INCONCLUSIVE NAME: WHY`. This module creates and reads that file.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

/// The variable that names the file.
pub(crate) const VARIABLE: &str = "ACKWISE_SKIPS";

/// The file, empty at first and removed at the end.
#[derive(Debug)]
pub(crate) struct SkipFile(PathBuf);

impl SkipFile {
    /// Creates the empty file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn create() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("ackwise-skips-{}", process::id()));
        fs::write(&path, "")?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The tests' lines without duplicates, sorted by name.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn read(&self) -> io::Result<Vec<String>> {
        let text = fs::read(&self.0)?;
        Ok(skipped(&String::from_utf8_lossy(&text)))
    }
}

impl Drop for SkipFile {
    fn drop(&mut self) {
        // It is in the directory for temporary files, so leaving it is harmless.
        let _ = fs::remove_file(&self.0);
    }
}

fn skipped(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_skips_twice_counts_once() {
        let text = "SKIPPED b: needs root\n\nSKIPPED a: needs nginx\nSKIPPED b: needs root\n";
        assert_eq!(skipped(text), ["SKIPPED a: needs nginx", "SKIPPED b: needs root"]);
    }
}
