//! Runs a measured program: its output and the time it took.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;

use xtask::process::{self, End, Output};

/// Results of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Standard output; empty if discarded.
    pub(crate) output: String,
    /// Wall time.
    pub(crate) wall: Duration,
    /// User time.
    pub(crate) user: Duration,
    /// System time.
    pub(crate) system: Duration,
}

/// Runs `command` to its end, and keeps its output.
///
/// # Errors
///
/// If it fails, or takes longer than [`LIMIT`].
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Run> {
    let mut output = String::new();
    let mut take = |line: &str| {
        output.push_str(line);
        output.push('\n');
    };
    let run = timed(command, Output::Take(&mut take))?;
    Ok(Run { output, ..run })
}

/// Like [`run`], but discards standard output.
///
/// # Errors
///
/// As for [`run`].
pub(crate) fn run_unheard(command: &mut Command) -> anyhow::Result<Run> {
    timed(command, Output::Discard)
}

fn timed(command: &mut Command, output: Output<'_>) -> anyhow::Result<Run> {
    let (user, cpu) = (process::children_user_time()?, process::children_cpu_time()?);
    let started = Instant::now();
    let end = process::run(command, output, LIMIT)?;
    let wall = started.elapsed();
    ensure!(end == End::Succeeded, "{command:?}: {end:?}");
    let user = process::children_user_time()?.saturating_sub(user);
    let cpu = process::children_cpu_time()?.saturating_sub(cpu);
    Ok(Run { output: String::new(), wall, user, system: cpu.saturating_sub(user) })
}

/// Time limit (our choice): the slowest takes a minute or two on an idle machine.
const LIMIT: Duration = Duration::from_secs(900);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_prints_is_kept_only_if_wanted() {
        let mut echo = Command::new("echo");
        echo.arg("heard");
        assert_eq!(run(&mut echo).unwrap().output, "heard\n");
        assert_eq!(run_unheard(&mut echo).unwrap().output, "");
    }

    #[test]
    fn a_run_that_fails_is_no_figure() {
        assert!(run_unheard(&mut Command::new("false")).is_err());
    }
}
