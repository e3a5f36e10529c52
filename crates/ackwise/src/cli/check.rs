//! `ackwise check [URL]`: arguments in, a report and an exit code out.

use std::{fs, path::PathBuf, time::Duration};

use ackwise_check::{
    Baseline, MAX_REQUESTS, Options, Progress, StackChoice,
    builtin::{BuiltInProgress, Network, check_built_in},
    card::{CheckId, Role, Verdict},
    check_streams, check_versions,
    report::{Exporter, Json, Junit, Markdown, Report, Text},
};
use ackwise_net::Target;
use ackwise_tcp::policy::Preset;
use ackwise_text::{Name, output_file, printable};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

pub(in crate::cli) mod asked;
mod far;
#[cfg(unix)]
mod listen;

use asked::Asked;
use far::Far;
#[cfg(unix)]
use listen::Listen;

use super::{
    colour::Colour,
    interrupt::{Wanted, until_interrupted},
    number::whole,
    outcome::{Failure, Outcome},
    output, preset, privileges,
    progress::ProgressLine,
    quantity,
};

/// Check a live HTTP server for stalls caused by TCP, and show how to fix them
///
/// Sends requests and detects where responses wait for an ACK or a timer. Reports the length of each
/// wait, the packets that show it, and the fix. Without a URL, checks two built-in servers, one that
/// behaves like a 1996 server and one with every fix, and prints the results side by side.
///
/// Contacts only the given host and sends at most --max-requests requests.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = LONG_END)]
pub(crate) struct Check {
    // Not a comment for rustdoc, which would take the brackets for links.
    #[arg(
        group = "subject",
        help = "Check this server: http://…, https://… or HOST[:PORT] [default: two built-in \
                                     servers]"
    )]
    url: Option<Target>,

    /// Select the client's TCP stack
    #[arg(long, value_enum, default_value_t)]
    stack: Stack,

    /// Use the congestion control, loss detection, timers and initial window of this TCP (ackwise stack only)
    ///
    /// The names are those of experiment files. When to acknowledge, window and TCP options stay those of each check.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "PRESET", value_parser = preset::parser(), requires = "url")]
    tcp: Option<Preset>,

    /// Run only this check (repeatable, or comma-separated)
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = check_ids())]
    #[arg(hide_possible_values = true, long_help = only_help())]
    only: Vec<CheckId>,

    /// Run only the checks for stalls, in at most 4 s for each version of HTTP
    #[arg(long, requires = "url", conflicts_with_all = ["only", "thorough"])]
    quick: bool,

    /// Check a stream of events (server-sent events, JSON lines, gRPC messages), and report what delays them
    ///
    /// Sends the request up to five times in each version of HTTP, and reads each stream for up to 5 s.
    #[arg(hide_short_help = true)]
    #[arg(long, requires = "url")]
    #[arg(conflicts_with_all = ["quick", "thorough", "behind", "paths", "follow", "data_split", "rtt"])]
    stream: bool,

    /// Also run slow tests: long idle periods, idle timeout and request limit of a connection, more
    /// response sizes
    #[arg(long)]
    thorough: bool,

    /// Limit the run to TIME, for each version of HTTP and each built-in server [default: 15s, with --thorough 120s,
    /// with --quick 4s]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    timeout: Option<Duration>,

    /// Wait at most TIME for connection setup, a response, or the server to close an idle connection
    #[arg(long, value_name = "TIME", value_parser = quantity::time, default_value = "10s")]
    max_wait: Duration,

    /// Warn if the server closes idle connections before TIME, the idle timeout of the client or load balancer in front
    ///
    /// Keeps one connection idle for TIME, and adds TIME to the default of --timeout. A server with a single worker
    /// serves no other client during this.
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, requires = "url", conflicts_with = "quick")]
    behind: Option<Duration>,

    /// Send at most N requests to the server, in each version of HTTP
    #[arg(long, value_name = "N", value_parser = whole(1..=10_000_u32))]
    #[arg(default_value_t = MAX_REQUESTS)]
    max_requests: u32,

    /// Also request these paths (repeatable, or comma-separated)
    #[arg(long, value_name = "PATH", value_delimiter = ',', requires = "url")]
    #[arg(value_parser = Options::parse_path)]
    paths: Vec<String>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    far: Far,

    #[cfg(unix)]
    #[command(flatten)]
    listen: Listen,

    /// Accept any TLS certificate
    #[arg(long, requires = "url")]
    insecure: bool,

    /// Trust only the certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "url")]
    ca_file: Option<PathBuf>,

    /// Allow changes to this host's packet filter and IP forwarding
    ///
    /// The ackwise stack needs them to reach another host, or a server that listens only on 127.0.0.1.
    /// Needs root: capabilities are not enough. Prints each change before making it, and undoes all changes at the end.
    #[arg(long, requires = "url")]
    allow_host_changes: bool,

    /// Exit with 1 if a verdict is this bad or worse; has no effect without a URL or --listen
    #[arg(long, value_enum, value_name = "VERDICT", default_value_t)]
    fail_on: FailOn,

    /// Fail only on findings that are new since FILE, an earlier --json output, or whose cost has since more than doubled
    /// and grown by 10 ms
    #[arg(long, value_name = "FILE", requires = "url", hide_short_help = true)]
    baseline: Option<PathBuf>,

    /// Also write a JUnit file, with one case for each check
    #[arg(long, value_name = "FILE", requires = "url", hide_short_help = true)]
    junit: Option<PathBuf>,

    /// Print JSON
    #[arg(long, group = "format")]
    json: bool,

    /// Print Markdown, ready to paste into an issue
    #[arg(long, group = "format")]
    markdown: bool,

    /// Colour the output; auto also obeys NO_COLOR
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    color: Colour,
}

/// Checks, prints, and judges.
pub(crate) fn run(check: Check) -> Result<Outcome, Failure> {
    check.color.apply();
    let exporter = check.exporter();
    let (fail_on, junit) = (check.fail_on, check.junit.clone());
    let baseline = check.baseline()?;
    let report = check.run()?;
    let report = Report { baseline, ..report };
    if let Some(path) = junit {
        let written = output_file::write(&path, Junit.export(&report).as_bytes());
        written.map_err(|error| Failure::File { path, error })?;
    }
    finish(&report, fail_on, &*exporter)
}

fn finish(report: &Report, fail_on: FailOn, exporter: &dyn Exporter) -> Result<Outcome, Failure> {
    let outcome = outcome(report, fail_on);
    if outcome == Outcome::Unanswered {
        anstream::eprintln!("ackwise: {}", printable(&report.unanswered().unwrap_or_default()));
    }
    output::print(&exporter.export(report), outcome)
}

impl Check {
    /// Checks what is asked for.
    fn run(self) -> Result<Report, Failure> {
        #[cfg(unix)]
        if self.listen.is_wanted() {
            return listen::report(&self);
        }
        let grades = if self.stream { Role::Stream } else { Role::Server };
        if let Some(id) = self.only.iter().find(|id| id.role() != grades) {
            let (what, expected) = match id.role() {
                Role::Server => ("servers", "no --stream"),
                Role::Client => ("clients", "--listen"),
                Role::Stream => ("streams", "--stream"),
            };
            return Err(Failure::Usage(format!(
                "--only {id}: grades {what} (expected {expected})"
            )));
        }
        // Before any thread: an unprivileged process moves as a whole or not at all.
        let built_in = self.url.is_none() && !matches!(self.stack, Stack::Kernel);
        let network = if built_in { Network::private() } else { Network::Host };
        until_interrupted(move |wanted| self.report(network, wanted))?
    }

    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    fn exporter(&self) -> Box<dyn Exporter> {
        match (self.json, self.markdown) {
            (true, _) => Box::new(Json),
            (_, true) => Box::new(Markdown),
            _ => Box::new(Text::new(output::columns().unwrap_or(Text::WIDE))),
        }
    }

    /// Read before the check, so that a mistake costs no time.
    fn baseline(&self) -> Result<Option<Baseline>, Failure> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let read = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"));
        let baseline =
            read.and_then(|json| Baseline::read(&json).map_err(|error| error.to_string()));
        let refuse = |why| Failure::Usage(format!("--baseline {}: {why}", path.display()));
        baseline.map(Some).map_err(refuse)
    }

    fn options(&self) -> Result<Options, Failure> {
        let default = match (self.quick, self.thorough) {
            (true, _) => QUICK_TIMEOUT,
            (_, true) => THOROUGH_TIMEOUT,
            _ => TIMEOUT,
        };
        let distance = self.far.distance();
        let farther = distance.map(|it| it.extra_time()).unwrap_or_default();
        let judged = self.only.is_empty() || self.only.contains(&CheckId::KeepAlive);
        if self.behind.is_some() && !judged {
            let id = CheckId::KeepAlive;
            return Err(Failure::Usage(format!(
                "--behind: --only does not have {id} (expected it)"
            )));
        }
        let waits = self.behind.map(|it| it + AROUND_IDLE).unwrap_or_default();
        let only = match (self.quick, &self.only[..]) {
            (true, _) => Some(CheckId::stalls().collect()),
            (_, []) => None,
            (_, only) => Some(only.iter().copied().collect()),
        };
        Ok(Options {
            stack: match self.stack {
                Stack::Auto => StackChoice::Auto,
                Stack::Kernel => StackChoice::Kernel,
                Stack::Ackwise => StackChoice::Ackwise,
            },
            http: self.asked.http(),
            preset: self.tcp,
            only,
            thorough: self.thorough,
            max_wait: self.max_wait,
            behind: self.behind,
            max_requests: self.max_requests,
            time: self.timeout.unwrap_or(default + farther + waits),
            paths: self.paths.clone(),
            template: self.asked.template()?,
            expect: self.asked.expect,
            resolve: self.asked.resolve.clone(),
            family: self.asked.family(),
            distance,
            follow: self.asked.follow(),
            insecure: self.insecure,
            ca_file: self.ca_file.clone(),
            allow_host_changes: self.allow_host_changes,
        })
    }

    fn report(&self, network: Network, wanted: &Wanted) -> Result<Report, Failure> {
        let line = ProgressLine::new();
        let show = |step: Shown| {
            wanted.or_unwind();
            match step {
                Shown::Passing(step) => line.show(&step),
                Shown::Lasting(step) => line.say(&step),
            }
        };
        let options = self.options()?;
        let Some(target) = &self.url else {
            return Ok(check_built_in(network, &options, &mut |step| {
                show(describe_built_in(step))
            })?);
        };
        let target = self.asked.target(target)?;
        let check = if self.stream { check_streams } else { check_versions };
        let cards = check(&target, &options, &mut |step| {
            if step == Progress::Ready {
                privileges::give_up();
            }
            show(describe(step));
        })?;
        Ok(Report { cards, ..Report::default() })
    }
}

/// What to say about a step, and for how long.
enum Shown {
    /// Until the next step.
    Passing(String),
    /// For good: the user must be able to read it afterwards.
    Lasting(String),
}

fn describe_built_in(step: BuiltInProgress) -> Shown {
    Shown::Passing(match step {
        BuiltInProgress::Checking(server, step) => match describe(step) {
            Shown::Passing(step) => format!("{}: {step}", Name(server)),
            lasting @ Shown::Lasting(_) => return lasting,
        },
        BuiltInProgress::TimingPage(server, page) => format!("{}: page {page}", Name(server)),
        _ => String::new(),
    })
}

fn describe(step: Progress) -> Shown {
    Shown::Passing(match step {
        Progress::Resolving => "resolving the name".to_owned(),
        Progress::Connecting(address) => format!("connecting to {address}"),
        Progress::Checking { id, done, of } => format!("{id} ({}/{of})", done + 1),
        Progress::Idle { waited, of } => format!(
            "waiting for the server to close an idle connection: {} of {:.0} s",
            waited.as_secs(),
            of.as_secs_f64().ceil()
        ),
        Progress::ChangingHost(change) => {
            return Shown::Lasting(format!("changing this host until the end: {change}"));
        }
        _ => String::new(),
    })
}

fn outcome(report: &Report, fail_on: FailOn) -> Outcome {
    let built_in = report.cards.iter().any(|card| card.server.is_some());
    let bad = match fail_on {
        _ if built_in => !report.surprises.is_empty(),
        FailOn::Unknown => report.worst() >= Verdict::Warn || report.unanswered().is_some(),
        FailOn::Warn => report.worst() >= Verdict::Warn,
        FailOn::Fail => report.worst() >= Verdict::Fail,
    };
    match bad {
        true => Outcome::Bad,
        // The built-in servers say by their surprises what the run is worth.
        false if !built_in && report.unanswered().is_some() => Outcome::Unanswered,
        false => Outcome::Good,
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum Stack {
    /// The ackwise stack if it needs no changes to this host, otherwise the kernel stack
    #[default]
    Auto,
    /// Kernel sockets; no privileges needed
    Kernel,
    /// Ackwise's own stack on a TUN device; with a URL, needs root or CAP_NET_ADMIN
    Ackwise,
}

/// What makes the exit code 1; each includes those after it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum FailOn {
    /// A failure, a warning, or a stall check without a verdict
    Unknown,
    /// A failure or a warning
    Warn,
    /// A failure: an incorrect response, or a stall of at least 10 ms that ends when the client's ACK arrives
    #[default]
    Fail,
}

/// Names of checks, which shells complete.
fn check_ids() -> impl TypedValueParser<Value = CheckId> {
    let names = PossibleValuesParser::new(CheckId::ALL.map(CheckId::name));
    names.map(|name| name.parse().expect("only names of checks are possible"))
}

fn only_help() -> String {
    let ids = |role| CheckId::of(role).map(CheckId::name).collect::<Vec<_>>().join(", ");
    let [servers, clients, streams] = [Role::Server, Role::Client, Role::Stream].map(ids);
    format!(
        "Run only this check (repeatable, or comma-separated): {servers}; with --stream: {streams}; with --listen: {clients}"
    )
}

const EXAMPLES: &str = "\
Examples:
  ackwise check                            check two built-in servers, 1996 and fixed
  ackwise check http://localhost:8080/     check your own server
  ackwise check --only nagle-delayed-ack --json http://localhost:8080/
  ackwise check --markdown https://localhost:8443/ --ca-file ca.pem
  ackwise check --paths /small,/large --fail-on warn localhost:8080
  ackwise check --data 'q=1' --header 'Cookie: id=7' --expect 200 http://localhost:8080/search";

/// For a check of one server, unless `--timeout` says otherwise.
const TIMEOUT: Duration = Duration::from_secs(15);
const THOROUGH_TIMEOUT: Duration = Duration::from_secs(120);
const QUICK_TIMEOUT: Duration = Duration::from_secs(4);

/// What `--behind` takes beside its time: the margin, and what is asked after the wait. Our choice.
const AROUND_IDLE: Duration = Duration::from_secs(8);

const LONG_END: &str = "\
Examples:
  ackwise check
      check two built-in servers: one behaves as in 1996, one has every fix; needs no setup
  ackwise check http://localhost:8080/
      check your own server
  ackwise check --only nagle-delayed-ack --json http://localhost:8080/
      run one check and print JSON
  ackwise check --markdown https://localhost:8443/ --ca-file ca.pem
      print a report to paste into an issue
  ackwise check --paths /small,/large --fail-on warn localhost:8080
      check these pages too, and exit with 1 on warnings (for CI)
  ackwise check --data 'q=1' --header 'Cookie: id=7' --expect 200 http://localhost:8080/search
      check a POST; it is sent up to 200 times (--max-requests)
  ackwise check --grpc=/helloworld.Greeter/SayHello --data @hello.bin localhost:50051
      check a gRPC method with this message; --grpc alone checks grpc.health.v1.Health
  ackwise check --stream -d @chat.json -H 'Content-Type: application/json' localhost:8000/chat
      check what delays the tokens of a language model
  ackwise check --listen 127.0.0.1:0 -- curl -d name=value {url}
      check a client: run this command against a test server, once for each check

Exit codes:
  0    nothing failed; without a URL, both built-in servers gave the expected results
  1    something failed (see --fail-on); without a URL, a result was unexpected
  2    the check could not run, or a check for stalls has no verdict (a busy machine, a server
       that stopped answering, a limit); standard error gives the reason
  130  interrupted by SIGINT (143 by SIGTERM) without a report; with --listen, prints the
       results so far, and the exit code is as above

docs/check.md links to a description of each check: its meaning, its method and the fix.";
