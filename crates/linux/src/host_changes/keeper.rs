//! A process that undoes a change when its input ends. Its input is a pipe that the kernel closes
//! if the parent dies.

use std::{
    io::{self, Read, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{HostChangeError, programs, rules::NftTable, shared::SharedSwitch};

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
        let mut command = programs::command("nft")?;
        command.arg("--interactive").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut keeper = Self::start("nft", command)?;
        let said = |error: io::Error| HostChangeError::Rules(error.to_string());
        let is_there =
            || Ok::<_, HostChangeError>(list(table)?.output().map_err(said)?.status.success());
        let pipe = keeper.pipe.as_mut().expect("it was not dropped");
        writeln!(pipe, "{}", table.rules).map_err(said)?;
        let deadline = Instant::now() + PATIENCE;
        while !is_there()? {
            if Instant::now() >= deadline || keeper.has_ended() {
                return Err(HostChangeError::Rules(keeper.complaint()));
            }
            thread::sleep(PAUSE);
        }
        Ok(keeper)
    }

    /// Restores what `shared` has recorded in `path`, when the parent and those of all other keepers are
    /// gone.
    pub(super) fn of_switch(shared: &SharedSwitch, path: &Path) -> Result<Self, HostChangeError> {
        programs::command("flock")?;
        let mut command = programs::command("sh")?;
        command.args(["-c", PUT_BACK, "sh"]).arg(shared.file());
        command.arg(SharedSwitch::lock_file()).arg(path).stdout(Stdio::piped());
        let mut keeper = Self::start("sh", command)?;
        match keeper.is_ready() {
            Ok(true) => Ok(keeper),
            ready => {
                let source = ready.err().unwrap_or_else(|| io::ErrorKind::TimedOut.into());
                Err(HostChangeError::Shared { path: shared.file().to_owned(), source })
            }
        }
    }

    /// Waits for its first line.
    fn is_ready(&mut self) -> io::Result<bool> {
        let Some(mut stdout) = self.process.stdout.take() else { return Ok(false) };
        let mut outputs = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
        Ok(poll(&mut outputs, timeout)? > 0 && stdout.read(&mut [0; 8])? > 0)
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

fn list(table: &NftTable) -> Result<Command, HostChangeError> {
    let mut list = programs::command("nft")?;
    list.args(["list", "table", "ip", &table.name]);
    Ok(list)
}

/// Shares the file `$1` until the end of the input. Then, if nobody else does, writes the value in it to
/// `$3` and removes it. `$2` is the lock of the directory.
const PUT_BACK: &str = r#"
trap "" INT TERM HUP
umask 077
exec 9<> "$1" && flock -s 9 || exit 1
echo ready
cat > /dev/null
exec 8>> "$2" && flock 8
if flock -n -x 9; then
    read -r value < "$1" && printf %s "$value" > "$3"
    rm -f "$1"
fi
"#;
/// Maximum wait for a keeper (our choice; it takes some milliseconds).
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
