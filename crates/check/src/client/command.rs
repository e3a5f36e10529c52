//! The client's command: started, watched, and ended with all that it started.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::observed::Exit;

/// A running command; dropping it ends its process group.
pub(super) struct Running {
    child: Child,
    ended: bool,
    said: Said,
}

impl Running {
    /// Starts `command` with `url` in place of [`URL`], and in `ACKWISE_URL`, and these variables.
    pub(super) fn start(
        command: &[OsString],
        url: &str,
        variables: &[(&'static str, OsString)],
    ) -> std::io::Result<Self> {
        let mut words = command.iter().map(|word| with_url(word, url));
        let program = words.next().unwrap_or_default();
        let mut child = Command::new(program);
        child.args(words).env("ACKWISE_URL", url).process_group(0);
        child.envs(variables.iter().map(|(name, value)| (name, value)));
        // A proxy would be the client instead.
        PROXIES.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase()]).for_each(
            |name| {
                child.env_remove(name);
            },
        );
        child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn()?;
        let said = Said::default();
        said.listen_to(child.stdout.take());
        said.listen_to(child.stderr.take());
        Ok(Self { child, ended: false, said })
    }

    /// How it ended, if it has.
    pub(super) fn exit(&mut self) -> Option<Exit> {
        // A child that cannot be waited for is as good as gone.
        let status = self.child.try_wait().unwrap_or_else(|_| Some(ExitStatus::from_raw(0)))?;
        self.ended = true;
        Some(match status.success() {
            true => Exit::Success,
            false => Exit::Failure(status.code()),
        })
    }

    /// Its last lines of output.
    pub(super) fn last_lines(&self) -> String {
        self.said.last_lines()
    }
}

impl Drop for Running {
    /// Ends what it has started, too: that would go on in the next run.
    fn drop(&mut self) {
        // Its number is its group's, and not used again while one of the group is left.
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        if !self.ended {
            let _ = self.child.wait();
        }
    }
}

fn with_url(word: &OsString, url: &str) -> OsString {
    // A word that is not UTF-8 is left as it is.
    word.to_str().map_or_else(|| word.clone(), |text| text.replace(URL, url).into())
}

/// The end of what a command has written to either output.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<VecDeque<u8>>>);

impl Said {
    /// Reads on a thread of its own, to the end: whatever the command started may hold the pipe open.
    fn listen_to(&self, pipe: Option<impl Read + Send + 'static>) {
        let (said, Some(mut pipe)) = (self.clone(), pipe) else { return };
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = pipe.read(&mut buffer) {
                let mut kept = said.0.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..len]);
                let excess = kept.len().saturating_sub(MOST_OUTPUT);
                kept.drain(..excess);
            }
        });
    }

    fn last_lines(&self) -> String {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

/// What stands for the server's URL in a command.
pub(super) const URL: &str = "{url}";

/// Variables that send clients elsewhere.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// Output that is kept, and lines of it that are shown. Our choice.
const MOST_OUTPUT: usize = 4096;
const LAST_LINES: usize = 6;
