//! tcpdump on an interface, into a file of its own.

use std::{
    io::{BufRead, BufReader, Read},
    mem,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::Duration,
};

use super::lab::Host;

/// A capture that is running.
#[derive(Debug)]
pub(crate) struct Tap {
    tcpdump: Child,
    said: BufReader<ChildStderr>,
    file: PathBuf,
}

impl Tap {
    /// Captures at `host` into `file`, from now on.
    pub(crate) fn at(host: &Host, file: &Path) -> Self {
        let mut command = Command::new("tcpdump");
        command
            .args([
                "-n",
                "-U",
                "--immediate-mode",
                "--time-stamp-precision=nano",
                "-B",
                "16384",
                "-s",
                "2000",
            ])
            // It may write where we may, if it stays who we are.
            .args(["-Z", "root", "-i", &host.interface, "-w"])
            .arg(file)
            .arg("tcp")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut tcpdump = host.inside(|| command.spawn()).expect("tcpdump is installed");
        let mut said = BufReader::new(tcpdump.stderr.take().expect("a pipe was asked for"));
        let mut line = String::new();
        while !line.contains("listening on") {
            let len = said.read_line(&mut line).expect("tcpdump speaks text");
            assert!(len > 0, "tcpdump: {line}");
        }
        Self { tcpdump, said, file: file.into() }
    }

    /// The capture is over; where it is.
    pub(crate) fn stop(mut self) -> PathBuf {
        /// So long the last packets may need to the file. Ours.
        const FLUSH: Duration = Duration::from_millis(100);
        thread::sleep(FLUSH);
        let pid = self.tcpdump.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill is installed");
        let mut said = String::new();
        self.said.read_to_string(&mut said).expect("tcpdump speaks text");
        self.tcpdump.wait().expect("it is our child");
        assert!(said.contains("\n0 packets dropped"), "tcpdump lost packets: {said}");
        mem::take(&mut self.file)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}
