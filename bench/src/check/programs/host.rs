//! A running program.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ackwise_linux::Namespace;
use ackwise_testing::debian;
use anyhow::{Context, bail};

use super::server::{Process, Program};
use super::site::Site;
use crate::program;

/// A program that accepts connections. Ended when dropped, and by the kernel when this process is.
pub(super) struct Running {
    processes: Vec<Child>,
    _site: Site,
}

impl Running {
    /// Starts `program` on `host`, and waits until it listens.
    pub(super) fn start(program: &Program, host: &Namespace) -> anyhow::Result<Self> {
        let site = Site::new(program.name)?;
        let processes = (program.processes)(&site)?;
        let log = site.path("log");
        let mut running = Self { processes: Vec::new(), _site: site };
        for Process { port, command } in processes {
            running.processes.push(spawn(&command, host, &log)?);
            let listens = host.run(|| program::listens(port))?;
            if !listens {
                let log = fs::read_to_string(&log).unwrap_or_default();
                bail!("it does not listen on port {port}:\n{log}");
            }
        }
        Ok(running)
    }
}

/// From this very thread, whose end ends the program.
fn spawn(command: &Command, host: &Namespace, log: &Path) -> anyhow::Result<Child> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut guarded = Command::new(debian::find("setpriv", "util-linux")?);
    guarded.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program());
    guarded.args(command.get_args()).stdin(Stdio::null());
    guarded.stdout(log.try_clone()?).stderr(log);
    if let Some(directory) = command.get_current_dir() {
        guarded.current_dir(directory);
    }
    let _inside = host.enter()?;
    guarded.spawn().context("cannot start setpriv")
}

impl Drop for Running {
    fn drop(&mut self) {
        self.processes.iter_mut().rev().for_each(debian::end);
    }
}
