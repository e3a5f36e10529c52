//! How a test that misses something says so.
//!
//! A test cannot tell libtest at run time that it did not run. So it prints
//! `SKIPPED NAME: WHAT IS MISSING`, appends the same line to the file that `ACKWISE_SKIPS` names,
//! and returns. One that was disturbed in every run writes `INCONCLUSIVE NAME: WHY`. This is the
//! other end of that file.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

/// The variable that names the file.
pub(crate) const VARIABLE: &str = "ACKWISE_SKIPS";

/// The file, empty at first and removed at the end.
#[derive(Debug)]
pub(crate) struct SkipFile(PathBuf);

impl SkipFile {
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

    /// What the tests wrote, each line once, in order of name.
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
        // It lies in the directory for temporary files: leaving it behind does no harm.
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
