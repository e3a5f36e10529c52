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

/// Make many connections to a server, and see which end is left waiting in TIME-WAIT
///
/// By default 1000 connections with one request each, 64 at once, and the server closes. What is counted:
/// requests, failures by reason, latencies from the intended start of each request, and the connections
/// in TIME-WAIT at both ends, as far as these are on this host.
///
/// It is a load: only point it at servers of your own.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadArguments {
    /// The page, as http://HOST[:PORT][/PATH]
    url: Target,

    /// How many connections in all [default: 1000; with --duration as many as there is time for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,

    /// How many connections at once, at most
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(default_value_t = 64)]
    concurrency: u32,

    /// How many requests on each connection, one after the other
    #[arg(long, value_name = "K", default_value = "1")]
    requests_per_connection: NonZeroU32,

    /// Start so many connections a second, whatever the server does; without it the next one starts when
    /// one has ended
    #[arg(long, value_name = "R", value_parser = rate)]
    rate: Option<f64>,

    /// Start nothing after this time
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,

    /// How long a connection with its first response may take, each further response, and the close
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    timeout: Duration,

    /// Which end closes first, and is left in TIME-WAIT
    #[arg(long, value_enum, value_name = "END", default_value_t)]
    close: End,

    /// What follows a CLIENT_CLOSE, if the server answers it all the same
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    drain: DrainMode,

    /// Whose TCP plays the clients [default: ackwise with --close swap, else kernel]
    #[arg(long, value_enum)]
    stack: Option<Stack>,

    /// An address or a net to connect from (repeat it, or separate by commas): the next one is used when
    /// the ports of one run out
    #[arg(long, value_name = "ADDRESS|NET", value_delimiter = ',')]
    source: Vec<SourceNet>,

    /// A process of the server, if that is in another network namespace of this host: its TIME-WAIT is
    /// counted there
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,

    /// Let our own TCP change this host's packet filter and forwarding, to reach a server on another
    /// host or on 127.0.0.1 only; each change is printed before it is made, and undone
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
    let outcome = if report.is_whole() { Outcome::Good } else { Outcome::Bad };
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
                    "{connections}{} connections, {answered} answers, {failed} failed, in TIME-WAIT: \
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
    let rate: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    match rate.is_finite() && rate > 0.0 && rate <= HIGHEST_RATE {
        true => Ok(rate),
        false => Err(format!("expected more than 0 and at most {HIGHEST_RATE}")),
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum End {
    /// The server: it is told `Connection: close`
    #[default]
    Server,
    /// The client, without a word
    Client,
    /// The client, after a CLIENT_CLOSE, which servers may know or not
    ClientClose,
    /// The server, and our own TCP takes TIME-WAIT over by an RST
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
    /// Close our half, and read to the server's close
    #[default]
    HalfClose,
    /// Close at once: an answer draws an RST
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
    /// The kernel's sockets: needs no privileges
    Kernel,
    /// Our own, on a TUN device: needs root or CAP_NET_ADMIN
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
  ackwise load http://localhost:8080/                      1000 connections; the server closes
  ackwise load http://localhost:8080/ --close swap         the client takes TIME-WAIT over, by TCP
  ackwise load http://localhost:8080/ --close client-close the same by HTTP
  ackwise load http://localhost:8080/ --rate 500 --duration 30s --json

Exit codes: 0 all requests were answered; 1 some failed, were never made or not followed by a close,
or ports ran out; 2 it could not run, or nobody answered; 130 interrupted, after a report of what was
measured (143 by SIGTERM).
docs/load.md says what is counted and how.";

const WIDE: usize = 100;
const SHOW_INTERVAL: Duration = Duration::from_millis(250);
const HIGHEST_RATE: f64 = 1e6;
