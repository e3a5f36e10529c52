//! A simulator's run: what it printed, and the user time that it took.

use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use crate::process::{self, End, Output};

/// What a run left behind.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Its standard output.
    pub(super) output: String,
    /// User time. The kernel's part is left out: it is small, and others' work swells it.
    pub(super) user: Duration,
}

/// Runs `command` to its end.
///
/// # Errors
///
/// If it failed, or took longer than [`LIMIT`].
pub(super) fn run(command: &mut Command) -> anyhow::Result<Run> {
    let mut output = String::new();
    let mut take = |line: &str| {
        output.push_str(line);
        output.push('\n');
    };
    let before = process::children_user_time()?;
    let end = process::run(command, Output::Take(&mut take), LIMIT)?;
    ensure!(end == End::Succeeded, "{command:?}: {end:?}");
    Ok(Run { output, user: process::children_user_time()?.saturating_sub(before) })
}

/// The slowest takes a minute or two on a quiet machine.
const LIMIT: Duration = Duration::from_secs(900);
