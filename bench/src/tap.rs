//! tcpdump on an interface, into a file of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use ackwise_linux::Namespace;
use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A capture that is running.
#[derive(Debug)]
pub(crate) struct Tap {
    tcpdump: Child,
    said: BufReader<ChildStderr>,
}

impl Tap {
    /// Captures the TCP packets of `interface` into `file`, from now on.
    pub(crate) fn at(namespace: &Namespace, interface: &str, file: &Path) -> anyhow::Result<Self> {
        Self::of(namespace, interface, file, "tcp")
    }

    /// The same for the packets that `filter` matches.
    pub(crate) fn of(
        namespace: &Namespace,
        interface: &str,
        file: &Path,
        filter: &str,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new("tcpdump");
        command
            .args(["-n", "-U", "--immediate-mode", "--time-stamp-precision=nano"])
            .args(["-B", "16384", "-s", "2000", "-Z", "root", "-i", interface, "-w"])
            .arg(file)
            .arg(filter)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = namespace.run(|| command.spawn())?;
        let mut tcpdump = child.context("cannot start tcpdump: install it")?;
        let mut said = BufReader::new(tcpdump.stderr.take().context("tcpdump has no pipe")?);
        let mut line = String::new();
        while !line.contains("listening on") {
            ensure!(said.read_line(&mut line)? > 0, "tcpdump failed: {line}");
        }
        Ok(Self { tcpdump, said })
    }

    /// Ends the capture. An error if it is incomplete.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.tcpdump.id())?);
        kill(pid, Signal::SIGINT)?;
        let mut said = String::new();
        self.said.read_to_string(&mut said)?;
        self.tcpdump.wait()?;
        ensure!(said.contains("\n0 packets dropped"), "tcpdump lost packets: {said}");
        Ok(())
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}
