//! A process that undoes a change when its input ends. Its input is a pipe that the kernel closes
//! if the parent dies.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStderr, ChildStdin, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{HostChangeError, rules::NftTable};

/// The process, and the parent's end of the pipe.
#[derive(Debug)]
pub(super) struct Keeper {
    process: Child,
    /// `None` only during drop.
    pipe: Option<ChildStdin>,
}

impl Keeper {
    /// Adds `table`; the kernel removes it when this process ends.
    pub(super) fn of_table(table: &NftTable) -> Result<Self, HostChangeError> {
        let mut command = Command::new("nft");
        command.arg("--interactive").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut keeper = Self::start("nft", command)?;
        let said = |error: io::Error| HostChangeError::Rules(error.to_string());
        let pipe = keeper.pipe.as_mut().expect("it was not dropped");
        writeln!(pipe, "{}", table.rules).map_err(said)?;
        let deadline = Instant::now() + PATIENCE;
        while !is_there(table).map_err(said)? {
            if Instant::now() >= deadline || keeper.has_ended() {
                return Err(HostChangeError::Rules(keeper.complaint()));
            }
            thread::sleep(PAUSE);
        }
        Ok(keeper)
    }

    /// Restores `value` in `path` when the parent is gone.
    pub(super) fn of_switch(path: &Path, value: &str) -> Result<Self, HostChangeError> {
        let mut command = Command::new("sh");
        command.args(["-c", PUT_BACK, "sh"]).arg(path).arg(value);
        Self::start("sh", command)
    }

    fn start(program: &'static str, mut command: Command) -> Result<Self, HostChangeError> {
        // A separate process group, so that it does not get Ctrl-C.
        command.stdin(Stdio::piped()).process_group(0);
        let mut process =
            command.spawn().map_err(|source| HostChangeError::Keeper { program, source })?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Its output on stderr, after it has exited.
    fn complaint(mut self) -> String {
        let stderr = self.process.stderr.take();
        drop(self);
        let said = stderr.and_then(|stderr: ChildStderr| io::read_to_string(stderr).ok());
        said.and_then(|said| said.lines().next().map(str::to_owned)).unwrap_or_default()
    }
}

impl Drop for Keeper {
    /// Closes the pipe, and waits until the change is undone.
    fn drop(&mut self) {
        self.pipe = None;
        let deadline = Instant::now() + PATIENCE;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

fn is_there(table: &NftTable) -> io::Result<bool> {
    let list = Command::new("nft").args(["list", "table", "ip", &table.name]).output();
    list.map(|Output { status, .. }| status.success())
}

/// Waits for the end of the input, then writes the value `$2` to the file `$1`.
const PUT_BACK: &str = r#"trap "" INT TERM HUP; cat > /dev/null; printf %s "$2" > "$1""#;
/// Maximum wait for a keeper (our choice; it takes some milliseconds).
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
