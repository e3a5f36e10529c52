//! `ackwise load URL`: arguments in, a report and an exit code out.

mod asked;
mod causes;
mod fail_on;
mod paced;
mod planned;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ackwise_load::{
    CloseMode, Drain, LoadOptions, LoadReport, Progress, Sample, SourceNet, StackMode,
    comparison_json, comparison_text, load, load_against,
    pages::load_site,
    report::{hgrm, json, text},
};
use ackwise_net::Target;
use ackwise_tcp::policy::Preset;
use ackwise_text::output_file;
use clap::{Args, ValueEnum};

use asked::Asked;
use causes::Capture;
use fail_on::Limit;
use paced::Paced;
use planned::Planned;

use super::{
    interrupt::Stop,
    number::whole,
    outcome::{Failure, Outcome},
    output, preset, privileges,
    progress::ProgressLine,
    quantity,
};

/// Load-test an HTTP server and show which end holds TIME-WAIT afterwards
///
/// By default, makes 1000 connections with one request each, 64 at a time, and lets the server close
/// them. Reports requests, failures by reason, latencies (from the intended start of each request), and
/// the connections in TIME-WAIT at each end that runs on this host.
///
/// This is a load test: run it only against your own servers.
#[derive(Args, Debug)]
#[command(after_help = SHORT_EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct LoadArguments {
    // Not a comment for rustdoc, which would take the brackets for links.
    #[arg(help = "Request this page: http://HOST[:PORT][/PATH] or https://…")]
    url: Target,

    #[command(flatten)]
    paced: Paced,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    planned: Planned,

    /// Wait at most TIME for connection setup and the first response together, for each later response,
    /// and for the close
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, default_value = "10s")]
    timeout: Duration,

    /// Repeat a request on a new connection if the server closed a kept connection while the request was in transit
    ///
    /// Repeats only requests with an idempotent method (RFC 9110), so not POST.
    #[arg(hide_short_help = true)]
    #[arg(long, conflicts_with = "plan")]
    retry_closed: bool,

    /// Exit with 1 if more than N requests have failed [default: failures, close-race]
    ///
    /// `close-race` counts requests that were in transit when the server closed a kept connection, and were not repeated.
    /// `failures` counts all other failures. The name of a kind (docs/load/report.md) counts only that kind. N is 0 by default.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "failures[=N]|KIND[=N]", value_parser = Limit::parse)]
    #[arg(conflicts_with_all = ["plan", "against"])]
    fail_on: Vec<Limit>,

    /// Select which end closes first and which end holds TIME-WAIT
    #[arg(long, value_enum, value_name = "END", default_value_t)]
    close: End,

    /// Select how the client closes after a CLIENT_CLOSE request
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    drain: DrainMode,

    /// Select the clients' TCP stack [default: ackwise with --close swap, --close negotiated or --tcp, otherwise kernel]
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum)]
    stack: Option<Stack>,

    /// Make the ackwise stack behave like this TCP; the names are those of presets in experiment files [default: linux-6]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "PRESET", value_parser = preset::parser())]
    tcp: Option<Preset>,

    /// Connect from this address or network (repeatable, or comma-separated); use the next address when one
    /// has no free port left
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "ADDRESS|NET", value_delimiter = ',')]
    source: Vec<SourceNet>,

    /// Count the server's TIME-WAIT connections in the network namespace of process PID [default:
    /// ackwise's own namespace]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "PID", value_parser = whole(1_u32..))]
    server_pid: Option<u32>,

    /// Accept any certificate of an https server
    #[arg(hide_short_help = true)]
    #[arg(long, conflicts_with = "ca_file")]
    insecure: bool,

    /// Trust the certificates in this PEM file instead of the system's
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Allow changes to this host's packet filter and IP forwarding
    ///
    /// The ackwise stack needs them to reach another host, or a server that listens only on 127.0.0.1.
    /// Needs root: capabilities are not enough. Prints each change before making it, and undoes all changes at the end.
    #[arg(hide_short_help = true)]
    #[arg(long)]
    allow_host_changes: bool,

    /// Also load this server, alternating with the first one, and compare them
    ///
    /// Loads each server in ten rounds. --requests, --connections and --duration limit the sum of all rounds of
    /// a server.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "URL", conflicts_with = "hgrm")]
    against: Option<Target>,

    /// Capture the packets of the run, and report the causes of waiting as `ackwise explain` does
    ///
    /// Captures packets to and from the server's port on all interfaces, for at most 10 minutes. Needs Linux
    /// and root or CAP_NET_RAW, and uses processor time.
    #[arg(hide_short_help = true)]
    #[arg(long, conflicts_with = "against")]
    explain: bool,

    /// Write the latencies to FILE as percentiles, in HdrHistogram's text format (.hgrm)
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "FILE")]
    hgrm: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Loads, prints, and judges.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Outcome, Failure> {
    let stop = Stop::on_signal()?;
    let options = arguments.options()?;
    let mut line = Line::new(&options);
    let mut watch = |progress: Progress| {
        line.show(&progress);
        match stop.is_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let plan = arguments.planned.options(&options, arguments.paced.seed())?;
    let (document, is_complete) = match (&arguments.against, plan) {
        (_, Some(plan)) => {
            let report = load_site(&options, &plan, &mut watch)?;
            let document = match arguments.json {
                true => report.json(),
                false => report.text(output::columns().unwrap_or(WIDE)),
            };
            (document, report.is_complete())
        }
        (None, None) => {
            let capture = arguments.explain.then(|| Capture::begin(&options.target)).transpose()?;
            let mut report = load(&options, &mut watch)?;
            report.causes = capture.map(Capture::end);
            alone(arguments, &report)?
        }
        (Some(other), None) => {
            let comparison = load_against(&options, other, &mut watch)?;
            let document = match arguments.json {
                true => comparison_json(&comparison),
                false => comparison_text(&comparison, output::columns().unwrap_or(WIDE)),
            };
            (document, comparison.is_complete())
        }
    };
    drop(line);
    let outcome = if is_complete { Outcome::Good } else { Outcome::Bad };
    let outcome = output::print(&document, outcome)?;
    stop.signal().map_or(Ok(outcome), |signal| Err(Failure::Interrupted { signal }))
}

/// The report of one server, and whether it is good.
fn alone(arguments: &LoadArguments, report: &LoadReport) -> Result<(String, bool), Failure> {
    if let Some(path) = &arguments.hgrm {
        write_percentiles(report, path)?;
    }
    let document = match arguments.json {
        true => json(report),
        false => text(report, output::columns().unwrap_or(WIDE)),
    };
    Ok((document, is_good(&arguments.fail_on, report)))
}

/// Whether the run was as asked for, and no limit is exceeded. Says which one is.
fn is_good(limits: &[Limit], report: &LoadReport) -> bool {
    if limits.is_empty() {
        return report.is_complete();
    }
    let exceeded: Vec<_> = limits.iter().filter_map(|limit| limit.exceeded_by(report)).collect();
    for message in &exceeded {
        anstream::eprintln!("ackwise: {message}");
    }
    exceeded.is_empty() && report.is_whole()
}

impl LoadArguments {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    fn options(&self) -> Result<LoadOptions, Failure> {
        let mut options = LoadOptions {
            timeout: self.timeout,
            retry_closed: self.retry_closed,
            close: self.close.into(),
            drain: self.drain.into(),
            stack: self.stack.map(Into::into),
            preset: self.tcp,
            sources: self.source.clone(),
            server_process: self.server_pid,
            insecure: self.insecure,
            ca_file: self.ca_file.clone(),
            allow_host_changes: self.allow_host_changes,
            ..LoadOptions::new(self.url.clone())
        };
        self.paced.apply(&mut options, if self.planned.is_given() { 1 } else { 64 });
        self.asked.apply(&mut options, self.paced.seed())?;
        Ok(options)
    }
}

fn write_percentiles(report: &LoadReport, path: &Path) -> Result<(), Failure> {
    output_file::write(path, hgrm(report).as_bytes())
        .map_err(|error| Failure::File { path: path.to_owned(), error })
}

/// The progress line, at most a few times a second.
struct Line {
    line: ProgressLine,
    of: String,
    /// When, and how many responses there were.
    shown: Option<(Instant, u64)>,
}

impl Line {
    fn new(options: &LoadOptions) -> Self {
        let of = options.connections.map_or_else(String::new, |all| format!(" of {all}"));
        Self { line: ProgressLine::new(), of, shown: None }
    }

    fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::ChangingHost(change) => {
                self.line.say(&format!("changing this host until the end: {change}"));
            }
            Progress::Ready => privileges::give_up(),
            Progress::Loading { connections, answered, failed, held } => {
                let since = self.shown.map_or(Duration::ZERO, |(shown, _)| shown.elapsed());
                if self.shown.is_some() && since < SHOW_INTERVAL {
                    return;
                }
                let rate = self.shown.map_or_else(String::new, |(_, before)| {
                    // Another run may have begun (--against).
                    let answered = answered.saturating_sub(before);
                    let rate = Duration::from_secs(answered).div_duration_f64(since);
                    format!(" ({rate:.0} per second)")
                });
                self.shown = Some((Instant::now(), *answered));
                let Sample { server, client, .. } = held;
                let number =
                    |held: &Option<u64>| held.map_or("?".to_owned(), |held| held.to_string());
                self.line.show(&format!(
                    "{connections}{} connections, {answered} responses{rate}, {failed} failed, in TIME-WAIT: \
                     server {}, client {}",
                    self.of,
                    number(server),
                    number(client)
                ));
            }
            Progress::LoadingPages { loaded, failed } => {
                if self.shown.is_some_and(|(shown, _)| shown.elapsed() < SHOW_INTERVAL) {
                    return;
                }
                self.shown = Some((Instant::now(), *loaded));
                self.line.show(&format!("{loaded} pages loaded, {failed} failed"));
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum End {
    /// The server, because the client sends `Connection: close`
    #[default]
    Server,
    /// The client, without `Connection: close`
    Client,
    /// The client, after it sends CLIENT_CLOSE, an HTTP method proposed by Faber, Touch and Yue (1997) that few servers implement
    ClientClose,
    /// The server, but an RST moves TIME-WAIT to the client (ackwise stack only)
    Swap,
    /// The server, but both ends agree in their SYNs that the client holds TIME-WAIT (ackwise stack only)
    Negotiated,
}

impl From<End> for CloseMode {
    fn from(close: End) -> Self {
        match close {
            End::Server => Self::Server,
            End::Client => Self::Client,
            End::ClientClose => Self::ClientClose,
            End::Swap => Self::Swap,
            End::Negotiated => Self::Negotiated,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum DrainMode {
    /// Half-close, and read until the server closes
    #[default]
    HalfClose,
    /// Close both directions at once; a late response triggers an RST
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
    /// Kernel sockets; no privileges needed
    Kernel,
    /// Ackwise's own stack on a TUN device; needs root or CAP_NET_ADMIN
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

const SHORT_EXAMPLES: &str = "\
Examples:
  ackwise load http://localhost:8080/
      make 1000 connections, which the server closes
  ackwise load http://localhost:8080 --rate 500/s --duration 30s --requests-per-connection unlimited
      send 500 requests per second on kept connections for 30 s

--help describes more options.";

const EXAMPLES: &str = "\
Examples:
  ackwise load http://localhost:8080/
      make 1000 connections, which the server closes
  ackwise load http://localhost:8080 --rate 500/s --duration 30s --requests-per-connection unlimited
      send 500 requests per second on kept connections for 30 s
  ackwise load http://localhost:8080/form --data name=value --header 'Accept: text/html'
      send a POST with content
  ackwise load http://localhost:8080/large --workload surge --requests-per-connection 10 --json
      send range requests for the file sizes of the SURGE workload, and print JSON
  ackwise load http://localhost:8080/ --plan pipelined --pages 20
      load the page and its files 20 times, each time on one pipelined connection
  sudo ackwise load http://localhost:8080/ --close swap --allow-host-changes
      move TIME-WAIT from the server to the client with an RST

Exit codes:
  0    every request got the expected response
  1    some requests failed (see --fail-on) or were not sent, some connections did not close, or
       ports ran out
  2    the load test could not run, or no request got a response
  130  interrupted by SIGINT (143 by SIGTERM); prints the results so far

docs/load/report.md describes the measurements.";

const WIDE: usize = 100;
const SHOW_INTERVAL: Duration = Duration::from_millis(250);
