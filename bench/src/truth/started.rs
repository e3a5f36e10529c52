//! Programs of others, which are started in a namespace and end with us.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ackwise_linux::Namespace;
use ackwise_testing::debian::find;
use anyhow::Context;

/// Starts it on `host`; what it prints is added to `log`. From this very thread, whose end ends the program.
pub(super) fn spawn(command: &Command, host: &Namespace, log: &Path) -> anyhow::Result<Child> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut guarded = guarded(command)?;
    guarded.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let _inside = host.enter()?;
    guarded.spawn().context("cannot start setpriv")
}

/// The same program, which ends with the thread that starts it.
pub(super) fn guarded(command: &Command) -> anyhow::Result<Command> {
    let mut guarded = Command::new("nice");
    guarded.args(PREFERRED).arg(find("setpriv", "util-linux")?);
    guarded.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program());
    guarded.args(command.get_args());
    // When Apache ends, it ends its whole process group, which would be the bench's.
    guarded.process_group(0);
    Ok(guarded)
}

/// A program that waits for its turn on a busy machine is late by a clock that only the program's own work counts for.
pub(super) const PREFERRED: [&str; 2] = ["-n", "-19"];
