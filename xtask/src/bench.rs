//! `cargo xtask bench`: runs the crate `bench`, which is built only on demand.

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::bail;
use xtask::process::{self, End, Output};

/// Runs `bench` with these arguments.
///
/// # Errors
///
/// If cargo cannot be started, or the comparison takes too long.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "ackwise-bench", "--"]).args(arguments);
    match process::run(&mut command, Output::Inherit, LIMIT)? {
        End::Succeeded => Ok(ExitCode::SUCCESS),
        End::Failed(status) => {
            Ok(ExitCode::from(status.code().and_then(|code| code.try_into().ok()).unwrap_or(1)))
        }
        End::TimedOut(limit) => bail!("the comparison was stopped after {limit:?}"),
        End::Interrupted => Ok(ExitCode::from(130)),
    }
}

/// Time limit, enough for many rounds of the slowest comparison (our choice).
const LIMIT: Duration = Duration::from_secs(6 * 3600);
