//! Measures `ackwise tune` on servers that run: what it costs with many connections, how much its buffers carry
//! beside an equal split and the kernel's autotuning, whom servers at their limit serve, whether requests fail while a
//! proxy's pools shrink, whether a request in flight is ever cut off, and how much waits for slow readers.

mod buffers;
mod connections;
mod in_flight;
mod limits;
mod server;
mod slow_readers;
mod upward;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use lexopt::prelude::*;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::machine::Load;
use super::{program, warn_if_busy};
use xtask::process;

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "tune";

/// The question that it answers.
pub(super) const QUESTION: &str =
    "what does tune cost with many connections, and what do its buffers and closes gain?";

/// The lines of `bench --help`.
pub(super) const HELP: &str = "\
cargo xtask bench tune [--connections N] [--seconds N]
    Measure the processor time of `ackwise tune` with N open connections (10,000). Needs root.
cargo xtask bench tune --buffers [--links mixed|alike] [--each KIB] [--seconds N]
    Compare the bytes that slow and fast clients get over the link emulator with buffers by
    --buffer-memory, an equal split, and the kernel's autotuning. Needs root; 90 s for each of 16 rows.
    --links takes one of the two tables; --each sets the pool of memory for each client (64 KiB).
cargo xtask bench tune --limits [--seconds N]
    Count whom HAProxy, Apache, h2o, Envoy, nginx, Varnish and lighttpd at a limit of 200 serve with and
    without tune. Needs root; 19 minutes.
cargo xtask bench tune --upward [--requests N]
    Count requests that fail at nginx, HAProxy and Envoy while tune closes their idle connections to the
    server behind them: 10,000 requests, half of them POST. Needs root; half a minute for each of 6 rows.
cargo xtask bench tune --in-flight [--requests N]
    Count connections that --max-connections closes with a request in flight: 100,000 requests, and
    responses of which nothing is sent for 30 s. Needs root; 5 minutes.
cargo xtask bench tune --slow-readers [--readers N] [--seconds N]
    Measure the queues of 200 slow readers at nginx, HAProxy and h2o, and the throughput of a fast
    client beside them, with and without --unsent. Needs root; 20 s for each.
    With --program FILE, each of these measures FILE instead of a release build.
";

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    work: Work,
    /// Instead of a release build.
    program: Option<PathBuf>,
    seconds: Option<u64>,
    requests: Option<u32>,
    readers: usize,
    pool: buffers::Pool,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Connections(usize),
    Buffers,
    Limits,
    Upward,
    InFlight,
    SlowReaders,
}

/// Parses everything after `cargo xtask bench tune`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown.
pub(super) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let work = Work::Connections(10_000);
    let pool = buffers::Pool { links: None, each: buffers::EACH };
    let mut settings =
        Settings { work, program: None, seconds: None, requests: None, readers: 200, pool };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("connections") => settings.work = Work::Connections(parser.value()?.parse()?),
            Long("buffers") => settings.work = Work::Buffers,
            Long("links") => {
                settings.pool.links = Some(buffers::Links::parse(&parser.value()?.string()?)?);
            }
            Long("each") => {
                let kib: u16 = parser.value()?.parse()?;
                ensure!(kib >= 8, "--each {kib} is too small (expected at least 8 KiB)");
                settings.pool.each = usize::from(kib) * 1_024;
            }
            Long("limits") => settings.work = Work::Limits,
            Long("upward") => settings.work = Work::Upward,
            Long("in-flight") => settings.work = Work::InFlight,
            Long("slow-readers") => settings.work = Work::SlowReaders,
            Long("requests") => settings.requests = Some(parser.value()?.parse()?),
            Long("readers") => settings.readers = parser.value()?.parse()?,
            Long("program") => settings.program = Some(parser.value()?.into()),
            Long("seconds") => settings.seconds = Some(parser.value()?.parse()?),
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(settings))
}

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, or the kernel or a server refuses.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    let ackwise = match &settings.program {
        Some(program) => fs::canonicalize(program)?,
        None => program::build()?,
    };
    let load = Load::start();
    let seconds = |default| Duration::from_secs(settings.seconds.unwrap_or(default).max(4));
    match settings.work {
        Work::Connections(count) => connections::run(&ackwise, count, seconds(20))?,
        Work::Buffers => buffers::run(&ackwise, settings.pool, seconds(60))?,
        Work::Limits => limits::run(&ackwise, seconds(60))?,
        Work::Upward => upward::run(&ackwise, settings.requests.unwrap_or(10_000))?,
        Work::InFlight => in_flight::run(&ackwise, settings.requests.unwrap_or(100_000))?,
        Work::SlowReaders => slow_readers::run(&ackwise, settings.readers, seconds(15))?,
    }
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    warn_if_busy("while it ran", others);
    Ok(ExitCode::SUCCESS)
}

/// A run of `ackwise tune --apply`, with its output in a file.
#[derive(Debug)]
struct Tuning {
    child: Child,
    output: PathBuf,
}

impl Tuning {
    /// Starts it in the calling thread's network namespace.
    fn start(ackwise: &Path, port: u16, arguments: &[&str]) -> anyhow::Result<Self> {
        Self::start_for(ackwise, ["--port", &port.to_string()], arguments)
    }

    fn start_for(ackwise: &Path, server: [&str; 2], arguments: &[&str]) -> anyhow::Result<Self> {
        fs::create_dir_all(DIRECTORY)?;
        let output = Path::new(DIRECTORY).join(format!("tune{}-{}.txt", server[0], server[1]));
        let mut command = Command::new(ackwise);
        command.args(["tune", "--apply"]).args(server).args(arguments);
        command.stdout(File::create(&output)?).stdin(Stdio::null());
        Ok(Self { child: command.spawn().context("cannot start ackwise tune")?, output })
    }

    /// Waits until it has set something: on a busy machine that takes seconds.
    fn wait_until_set(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while !fs::read_to_string(&self.output)?.contains(" set ") {
            ensure!(began.elapsed() < START, "ackwise tune has set nothing in {START:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The processor time that it has used, in nanoseconds: the first field of `/proc/PID/schedstat`.
    fn processor_time(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()))?;
        Ok(text.split(' ').next().unwrap_or_default().parse()?)
    }

    /// Ends it as Ctrl-C does, and returns what it printed.
    fn end(mut self) -> anyhow::Result<String> {
        self.interrupt();
        let status = self.child.wait()?;
        let text = fs::read_to_string(&self.output)?;
        ensure!(status.success(), "ackwise tune ended with {status}: {text}");
        Ok(text)
    }

    fn interrupt(&self) {
        if let Ok(id) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGINT);
        }
    }
}

impl Drop for Tuning {
    /// After an error; a second end does nothing.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.interrupt();
            let _ = self.child.wait();
        }
    }
}

const DIRECTORY: &str = "target/bench/tune";
/// Our choice: longer than a busy machine needs to start a program.
const START: Duration = Duration::from_secs(30);
