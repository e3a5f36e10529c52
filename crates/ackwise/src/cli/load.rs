//! `ackwise load URL`: arguments in, a report and an exit code out.

use std::{
    num::NonZeroU32,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ackwise_load::{
    CloseMode, Drain, LoadOptions, Progress, Sample, SourceNet, StackMode, load,
    report::{json, text},
};
use ackwise_report::Target;
use clap::{Args, ValueEnum};

use super::{
    duration,
    interrupt::Stop,
    outcome::{Failure, Outcome},
    output,
    progress::ProgressLine,
};

/// Load a server with connections and show which end is left in TIME-WAIT
///
/// By default makes 1000 connections with one request each, 64 at once, and lets the server close.
/// Counts requests, failures by reason, latencies from the intended start of each request, and the
/// connections in TIME-WAIT at each end that runs on this host.
///
/// This is a load test: run it only against your own servers.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadArguments {
    // Not a comment for rustdoc, which would take the brackets for links.
    #[arg(help = "Request this page: http://HOST[:PORT][/PATH]")]
    url: Target,

    /// Make N connections in total [default: 1000, with --duration unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,

    /// Keep at most C connections open at once
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(default_value_t = 64)]
    concurrency: u32,

    /// Send K requests on each connection, one after the other
    #[arg(long, value_name = "K", default_value = "1")]
    requests_per_connection: NonZeroU32,

    /// Start R connections per second, however fast the server is [default: start one when another ends]
    #[arg(long, value_name = "R", value_parser = rate)]
    rate: Option<f64>,

    /// Start no connection after TIME
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,

    /// Wait at most TIME for connection setup and the first response, for each later response, and for
    /// the close
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    timeout: Duration,

    /// Select the end that closes first and is left in TIME-WAIT
    #[arg(long, value_enum, value_name = "END", default_value_t)]
    close: End,

    /// Select what the client does after a CLIENT_CLOSE, in case the server responds to it
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    drain: DrainMode,

    /// Select the clients' TCP stack [default: ackwise with --close swap, else kernel]
    #[arg(long, value_enum)]
    stack: Option<Stack>,

    /// Connect from this address or network (repeatable, or comma-separated); uses the next one when
    /// an address has no free port left
    #[arg(long, value_name = "ADDRESS|NET", value_delimiter = ',')]
    source: Vec<SourceNet>,

    /// Count the server's TIME-WAIT in the network namespace of process PID, if it is not this one
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,

    /// Allow changes to this host's packet filter and forwarding, so that the ackwise stack reaches
    /// servers on 127.0.0.1 or on other hosts; prints each change first and undoes it at the end
    #[arg(long)]
    allow_host_changes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Loads, prints, and judges.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Outcome, Failure> {
    let stop = Stop::on_signal()?;
    let report = {
        let mut line = Line::new(arguments);
        load(&arguments.options(), &mut |progress| {
            line.show(&progress);
            match stop.is_asked() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?
    };
    let outcome = if report.is_complete() { Outcome::Good } else { Outcome::Bad };
    let document = match arguments.json {
        true => json(&report),
        false => text(&report, output::columns().unwrap_or(WIDE)),
    };
    let outcome = output::print(&document, outcome)?;
    stop.signal().map_or(Ok(outcome), |signal| Err(Failure::Interrupted { signal }))
}

impl LoadArguments {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    fn options(&self) -> LoadOptions {
        let default = LoadOptions::new(self.url.clone());
        LoadOptions {
            connections: self
                .connections
                .or_else(|| self.duration.is_none().then_some(default.connections?)),
            concurrency: usize::try_from(self.concurrency).unwrap_or(default.concurrency),
            requests_per_connection: self.requests_per_connection,
            rate: self.rate,
            duration: self.duration,
            timeout: self.timeout,
            close: self.close.into(),
            drain: self.drain.into(),
            stack: self.stack.map(Into::into),
            sources: self.source.clone(),
            server_process: self.server_pid,
            allow_host_changes: self.allow_host_changes,
            ..default
        }
    }
}

/// The progress line, at most a few times a second.
struct Line {
    line: ProgressLine,
    of: String,
    shown: Option<Instant>,
}

impl Line {
    fn new(arguments: &LoadArguments) -> Self {
        let of =
            arguments.options().connections.map_or_else(String::new, |all| format!(" of {all}"));
        Self { line: ProgressLine::new(), of, shown: None }
    }

    fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::ChangingHost(change) => {
                self.line.say(&format!("changing this host until the end: {change}"));
            }
            Progress::Loading { connections, answered, failed, held } => {
                if self.shown.is_some_and(|shown| shown.elapsed() < SHOW_INTERVAL) {
                    return;
                }
                self.shown = Some(Instant::now());
                let Sample { server, client, .. } = held;
                let number =
                    |held: &Option<u64>| held.map_or("?".to_owned(), |held| held.to_string());
                self.line.show(&format!(
                    "{connections}{} connections, {answered} responses, {failed} failed, in TIME-WAIT: \
                     server {}, client {}",
                    self.of,
                    number(server),
                    number(client)
                ));
            }
            _ => {}
        }
    }
}

/// Starts a second: more than none, and fewer than a clock has ticks.
fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 =
        text.parse().map_err(|_| "not a number (expected connections per second)".to_owned())?;
    match rate.is_finite() && rate > 0.0 && rate <= HIGHEST_RATE {
        true => Ok(rate),
        false => Err(format!("out of range (expected more than 0 and at most {HIGHEST_RATE})")),
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum End {
    /// The server, as the client sends `Connection: close`
    #[default]
    Server,
    /// The client, without announcing it
    Client,
    /// The client, after a CLIENT_CLOSE request, which few servers implement
    ClientClose,
    /// The server, but the ackwise stack sends an RST to take TIME-WAIT over
    Swap,
}

impl From<End> for CloseMode {
    fn from(close: End) -> Self {
        match close {
            End::Server => Self::Server,
            End::Client => Self::Client,
            End::ClientClose => Self::ClientClose,
            End::Swap => Self::Swap,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum DrainMode {
    /// Close the client's half and read until the server closes
    #[default]
    HalfClose,
    /// Close both halves at once: a response triggers an RST
    Plain,
}

impl From<DrainMode> for Drain {
    fn from(drain: DrainMode) -> Self {
        match drain {
            DrainMode::HalfClose => Self::HalfClose,
            DrainMode::Plain => Self::Plain,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Stack {
    /// Kernel sockets: needs no privileges
    Kernel,
    /// Ackwise's own stack on a TUN device: needs root or CAP_NET_ADMIN
    Ackwise,
}

impl From<Stack> for StackMode {
    fn from(stack: Stack) -> Self {
        match stack {
            Stack::Kernel => Self::Kernel,
            Stack::Ackwise => Self::Ackwise,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  ackwise load http://localhost:8080/                       1000 connections; the server closes
  ackwise load http://localhost:8080/ --close swap          the client takes TIME-WAIT over, by TCP
  ackwise load http://localhost:8080/ --close client-close  the same, by HTTP
  ackwise load http://localhost:8080/ --rate 500 --duration 30s --json

Exit codes: 0 every request got its response; 1 some requests failed or were not sent, some
connections did not close, or ports ran out; 2 the load could not run, or no request got a response;
130 interrupted by SIGINT (143 by SIGTERM), after a report of the measurements so far.
docs/load.md explains what is counted and how.";

const WIDE: usize = 100;
const SHOW_INTERVAL: Duration = Duration::from_millis(250);
const HIGHEST_RATE: f64 = 1e6;
