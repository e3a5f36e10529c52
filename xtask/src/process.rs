//! Child processes: each runs in its own process group within a time limit, and is stopped when
//! this process is.
//!
//! One loop waits for three events: a line of output, the end of the child, and a reason to stop it
//! (Ctrl-C or the limit). Two threads turn the blocking calls into messages.

use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use wait4::Wait4;

/// How a child ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// With exit code 0.
    Succeeded,
    /// With another code, or by a signal not sent from here.
    Failed(ExitStatus),
    /// It ran longer than its limit and was stopped.
    TimedOut(Duration),
    /// It was stopped because this process was asked to stop.
    Interrupted,
}

/// Destination of the child's standard output. Standard error is inherited unless a variant says
/// otherwise.
pub enum Output<'a> {
    /// Inherited.
    Inherit,
    /// Discarded.
    Discard,
    /// Each line to the function only.
    Take(&'a mut dyn FnMut(&str)),
    /// Each line of standard output and of standard error, in the order written, to the function
    /// only.
    TakeAll(&'a mut dyn FnMut(&str)),
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// User and system time of the child and of the descendants it waited for.
    pub cpu: Duration,
}

/// Runs `command` to its end, until `limit`, or until this process is interrupted.
///
/// # Errors
///
/// If the command cannot be started.
pub fn run(command: &mut Command, output: Output<'_>, limit: Duration) -> anyhow::Result<End> {
    run_measured(command, output, limit).map(|ended| ended.end)
}

/// Like [`run`], with the processor time used.
///
/// # Errors
///
/// As for [`run`].
pub fn run_measured(
    command: &mut Command,
    mut output: Output<'_>,
    limit: Duration,
) -> anyhow::Result<Ended> {
    if interrupted() {
        return Ok(Ended { end: End::Interrupted, cpu: Duration::ZERO });
    }
    command.process_group(0).stdin(Stdio::null());
    command.stdout(match output {
        Output::Inherit | Output::TakeAll(_) => Stdio::inherit(),
        Output::Discard => Stdio::null(),
        Output::Take(_) => Stdio::piped(),
    });
    let both = matches!(output, Output::TakeAll(_)).then(|| one_pipe(command)).transpose()?;
    let spawned = command.spawn();
    // Close the parent's write ends: the pipe would otherwise never end.
    if both.is_some() {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let child = spawned.with_context(|| format!("starting {}", command.get_program().display()))?;
    let group = Group::of(&child)?;
    let messages = watch(child, both);
    let mut handle = |line: &str| match &mut output {
        Output::Inherit | Output::Discard => {}
        Output::Take(handle) | Output::TakeAll(handle) => handle(line),
    };
    wait(&messages, group, &mut handle, limit)
}

/// Sends both streams of `command` into one pipe, so that their lines stay in order.
fn one_pipe(command: &mut Command) -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    command.stderr(writer.try_clone()?).stdout(writer);
    Ok(reader)
}

/// Whether a signal has requested a stop.
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Makes Ctrl-C, SIGTERM and SIGHUP stop the child and then this process; a second signal stops
/// this process immediately.
///
/// # Errors
///
/// If the handlers cannot be installed.
pub fn stop_children_on_signal() -> io::Result<()> {
    let flag = INTERRUPTED.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(flag))?;
        flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// User and system time of all children that have ended.
///
/// # Errors
///
/// If `getrusage` fails, which is not possible for this request.
pub fn children_cpu_time() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

/// User time of all children that have ended, without the kernel's time.
///
/// # Errors
///
/// As for [`children_cpu_time`].
pub fn children_user_time() -> anyhow::Result<Duration> {
    Ok(duration(getrusage(UsageWho::RUSAGE_CHILDREN)?.user_time()))
}

fn duration(time: TimeVal) -> Duration {
    let micros = u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000
        + u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_micros(micros)
}

enum Message {
    Line(String),
    Exited(io::Result<(ExitStatus, Duration)>),
}

/// The process group led by a child.
#[derive(Clone, Copy)]
struct Group(Pid);

impl Group {
    fn of(child: &Child) -> anyhow::Result<Self> {
        Ok(Self(Pid::from_raw(i32::try_from(child.id()).context("a process id is an i32")?)))
    }

    /// An error means that the group is gone, which is the goal.
    fn signal(self, signal: Signal) {
        let _ = killpg(self.0, signal);
    }
}

fn watch(mut child: Child, both: Option<PipeReader>) -> Receiver<Message> {
    let (sender, receiver) = sync_channel(LINES_IN_FLIGHT);
    let stdout = child.stdout.take().map(|stdout| Box::new(stdout) as Box<dyn Read + Send>);
    let both = both.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    if let Some(stream) = stdout.or(both) {
        let sender = sender.clone();
        thread::spawn(move || forward_lines(BufReader::new(stream), &sender));
    }
    thread::spawn(move || {
        let ended = child.wait4().map(|used| (used.status, used.rusage.utime + used.rusage.stime));
        sender.send(Message::Exited(ended))
    });
    receiver
}

fn forward_lines(mut reader: impl BufRead, sender: &SyncSender<Message>) {
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        if sender.send(Message::Line(text)).is_err() {
            return;
        }
        line.clear();
    }
}

fn wait(
    messages: &Receiver<Message>,
    group: Group,
    handle: &mut dyn FnMut(&str),
    limit: Duration,
) -> anyhow::Result<Ended> {
    let started = Instant::now();
    let mut stopping: Option<(End, Instant)> = None;
    loop {
        match messages.recv_timeout(TICK) {
            Ok(Message::Line(line)) => handle(&line),
            Ok(Message::Exited(ended)) => {
                drain(messages, handle);
                let (status, cpu) = ended?;
                let end = if status.success() { End::Succeeded } else { End::Failed(status) };
                return Ok(Ended { end: stopping.map_or(end, |(reason, _)| reason), cpu });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("lost track of the child"),
        }
        stopping = match stopping {
            None if interrupted() => Some(ask_to_stop(group, End::Interrupted)),
            None if started.elapsed() > limit => Some(ask_to_stop(group, End::TimedOut(limit))),
            Some((_, asked)) if asked.elapsed() > GRACE => {
                group.signal(Signal::SIGKILL);
                stopping
            }
            unchanged => unchanged,
        };
    }
}

fn ask_to_stop(group: Group, reason: End) -> (End, Instant) {
    group.signal(Signal::SIGINT);
    (reason, Instant::now())
}

/// Reads the output that the child wrote before it ended. Bounded, because a surviving grandchild
/// may hold the pipe open.
fn drain(messages: &Receiver<Message>, handle: &mut dyn FnMut(&str)) {
    let until = Instant::now() + GRACE;
    while let Ok(Message::Line(line)) =
        messages.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        handle(&line);
    }
}

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Interval of the checks of the clock and the signals (our choice).
const TICK: Duration = Duration::from_millis(50);

/// Time for a child to end after it was asked to (our choice).
const GRACE: Duration = Duration::from_secs(5);

/// Lines read ahead of the loop (our choice); the reader blocks when there are more.
const LINES_IN_FLIGHT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn every_line_arrives_also_the_last_one_without_an_end() {
        let mut lines = Vec::new();
        let mut take = |line: &str| lines.push(line.to_owned());
        let end = run(&mut shell("printf 'a\\nb'"), Output::Take(&mut take), GRACE).unwrap();
        assert_eq!(end, End::Succeeded);
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn both_streams_arrive_in_the_order_written() {
        let mut lines = Vec::new();
        let mut take = |line: &str| lines.push(line.to_owned());
        let script = "echo out; echo err >&2; echo out again";
        let end = run(&mut shell(script), Output::TakeAll(&mut take), GRACE).unwrap();
        assert_eq!(end, End::Succeeded);
        assert_eq!(lines, ["out", "err", "out again"]);
    }

    #[test]
    fn the_limit_stops_the_whole_group() {
        let started = Instant::now();
        let limit = Duration::from_millis(100);
        let end = run(&mut shell("sleep 60 | sleep 60"), Output::Inherit, limit).unwrap();
        assert_eq!(end, End::TimedOut(limit));
        assert!(started.elapsed() < GRACE, "took {:?}", started.elapsed());
    }

    #[test]
    fn a_command_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("no-such-command"), Output::Inherit, GRACE).unwrap_err();
        assert!(error.to_string().contains("no-such-command"), "{error}");
    }

    #[test]
    fn the_processor_time_of_a_child_is_counted() {
        let before = children_cpu_time().unwrap();
        let work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let limit = Duration::from_secs(60);
        let ended = run_measured(&mut shell(work), Output::Inherit, limit).unwrap();
        assert!(ended.cpu > Duration::ZERO);
        assert!(children_cpu_time().unwrap() - before >= ended.cpu);
    }
}
