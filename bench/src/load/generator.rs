//! One run of a load generator.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::Work;
use crate::child;

/// A program that makes requests.
#[derive(Clone, Debug)]
pub(super) enum Generator {
    /// Ours, at this path.
    Ackwise(PathBuf),
    /// wrk, with one thread as ours has.
    Wrk,
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    requests: u32,
    user: Duration,
    system: Duration,
    wall: Duration,
}

impl Generator {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Ackwise(_) => "Ackwise",
            Self::Wrk => "wrk",
        }
    }

    /// Loads `url` for [`SECONDS`].
    ///
    /// # Errors
    ///
    /// If the program fails, or a request does.
    pub(super) fn run(&self, work: Work, url: &str) -> anyhow::Result<Cost> {
        let run = child::run(&mut self.command(work, url))?;
        let requests = match self {
            Self::Ackwise(_) => ours(&run.output),
            Self::Wrk => wrks(&run.output),
        };
        let requests = requests.with_context(|| format!("{}: {}", self.name(), run.output))?;
        ensure!(requests > 0, "{} made no request", self.name());
        let child::Run { user, system, wall, .. } = run;
        Ok(Cost { requests, user, system, wall })
    }

    fn command(&self, work: Work, url: &str) -> Command {
        match self {
            Self::Ackwise(program) => {
                let mut command = Command::new(program);
                command.args(["load", url, "--json", "--concurrency", CONNECTIONS]);
                command.args(["--duration", SECONDS, "--requests-per-connection"]);
                command.arg(match work {
                    Work::Kept => "unlimited",
                    Work::New => "1",
                });
                command
            }
            Self::Wrk => {
                let mut command = Command::new("wrk");
                command.args(["--threads", "1", "--connections", CONNECTIONS]);
                command.args(["--duration", SECONDS]);
                if work == Work::New {
                    command.args(["--header", "Connection: close"]);
                }
                command.arg(url);
                command
            }
        }
    }
}

impl Cost {
    pub(super) fn cpu_micros(&self) -> f64 {
        self.micros(self.user + self.system)
    }

    pub(super) fn user_micros(&self) -> f64 {
        self.micros(self.user)
    }

    pub(super) fn wall_micros(&self) -> f64 {
        self.micros(self.wall)
    }

    pub(super) fn rate(&self) -> f64 {
        f64::from(self.requests) / self.wall.as_secs_f64()
    }

    fn micros(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / f64::from(self.requests)
    }
}

/// Requests in our JSON, if none failed.
fn ours(output: &str) -> Option<u32> {
    let report: Value = serde_json::from_str(output).ok()?;
    let count = |key: &str| report.get(key)?.as_u64();
    (count("failed")? == 0).then(|| u32::try_from(count("requests")?).ok())?
}

/// Requests in the text of wrk, if none failed.
fn wrks(output: &str) -> Option<u32> {
    let failed = ["Socket errors:", "Non-2xx"].iter().any(|it| output.contains(it));
    let line = output.lines().find(|line| line.contains("requests in"))?;
    let count = line.split_whitespace().next()?.parse().ok();
    count.filter(|_| !failed)
}

const CONNECTIONS: &str = "64";
/// Long enough that starting and ending do not matter, short enough for the ports of one address.
const SECONDS: &str = "3s";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_both_unless_some_failed() {
        assert_eq!(ours(r#"{"requests": 7, "failed": 0}"#), Some(7));
        assert_eq!(ours(r#"{"requests": 7, "failed": 1}"#), None);
        let text = "Running 1s test\n  2699 requests in 1.01s, 1.39MB read\nRequests/sec: 2672\n";
        assert_eq!(wrks(text), Some(2699));
        assert_eq!(wrks(&format!("{text}  Non-2xx or 3xx responses: 3\n")), None);
        assert_eq!(wrks("unable to connect"), None);
    }
}
