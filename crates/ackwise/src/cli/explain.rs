//! `ackwise explain CAPTURE…`: arguments in, a report and an exit code out.

mod export;
mod keys;
mod live;
mod opener;
mod outputs;
mod sample;

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use ackwise_capture::{
    analysis::Analyser, attribution::Rule, filter::Filter, keys::KeyLog, read::Source,
};
use ackwise_cause::{Cause, FailureKind as Kind};
use ackwise_explain::{
    End, Explained, Failure as Failed, Frames, Reading, ReportOptions, TimeFormat, html, markdown,
    rules, text, write_json,
};
use ackwise_text::words::{counted, grouped, millis};
use clap::{Args, ValueEnum};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

use outputs::Outputs;

use super::{
    colour::Colour,
    files,
    number::whole,
    outcome::{Failure, Outcome},
    output, privileges,
    progress::ProgressLine,
    quantity,
};

/// Show where each millisecond of the HTTP exchanges in a capture went
///
/// Reads pcap and pcapng files (plain, gzip or zstd), standard input (`-`), or a live interface. Several
/// files count as one capture. Attributes the time of each exchange to causes, and lists the packets
/// that show each cause. Ctrl-C stops reading and prints the report so far.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// Read these captures; `-` is standard input
    #[arg(value_name = "CAPTURE")]
    captures: Vec<PathBuf>,

    /// Explain a recording that comes with Ackwise: a stall, a failure and a healthy server
    #[arg(long)]
    sample: bool,

    /// Write the recording of --sample to FILE, and exit
    #[arg(long, value_name = "FILE", exclusive = true)]
    save_sample: Option<PathBuf>,

    /// Join two captures of the same connections, one from each end; their clocks may differ
    ///
    /// The limits in docs/limits.md apply to both captures together.
    #[arg(long, num_args = 2, value_names = ["CLIENT", "SERVER"])]
    #[arg(conflicts_with = "save_stripped")]
    pair: Option<Vec<PathBuf>>,

    /// Decrypt TLS with the secrets in this file (SSLKEYLOGFILE's format); may be repeated
    ///
    /// Decrypts TLS 1.2 and 1.3 with AES-GCM and ChaCha20-Poly1305 if the capture has the handshake and whole packets
    /// (`tcpdump -s 0`). Reports show methods, paths and statuses, as without TLS.
    #[arg(long, value_name = "FILE")]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    live: live::Arguments,

    /// Analyse only matching packets, for example `tcp port 80 and host 10.0.0.1`
    ///
    /// Supports a subset of tcpdump's filters: ip, ip6, tcp, udp, [tcp|udp] [src|dst] port NUMBER,
    /// [src|dst] host ADDRESS and [src|dst] net ADDRESS/LENGTH, combined with and, or, not and
    /// parentheses. For tunnelled packets, the filter applies to the innermost headers of files, and to
    /// the outer headers of live captures.
    #[arg(long, value_name = "EXPRESSION", value_parser = Filter::from_str)]
    filter: Option<Filter>,

    /// Show the N slowest exchanges, at most 10,000 (--json has all)
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(0..=10_000_usize))]
    worst: usize,

    /// Show all exchanges of this connection (the summary still covers all)
    #[arg(long, value_name = "ID", value_parser = whole(0_u32..))]
    connection: Option<u32>,

    /// Add totals for exchanges slower than TIME
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    slower_than: Option<Duration>,

    /// Add a table of exchanges grouped by URL path, without the query
    ///
    /// Columns: number of exchanges, median and 95th percentile of their durations, largest cause, and the share of the
    /// time that a remedy would save.
    /// The largest total comes first. Paths that differ in a number or ID are not merged. JSON always has this table.
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,

    /// Add a table of connections: bytes, round trips, retransmissions, windows, who closed
    ///
    /// JSON always has this table.
    #[arg(long)]
    connections: bool,

    /// Select the format of start times: seconds since the first packet, or date and time in UTC
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    time: Time,

    /// Exit with 1 if an exchange loses more than TIME to CAUSE, or if more than N requests and connects
    /// have failed; TIME and N are 0 by default
    ///
    /// `failures` counts all failures. The name of a kind (docs/failures.md) in its place counts only that kind.
    #[arg(long, value_name = "CAUSE[=TIME]|failures[=N]", value_parser = Limit::parse)]
    fail_on: Vec<Limit>,

    /// List the rules that decide the cause, and those that lower confidence
    ///
    /// JSON gives the rule of each verdict, and the doubt that limits its confidence.
    #[arg(long)]
    rules: bool,

    /// Explain one rule
    #[arg(long, value_name = "NAME", value_parser = rule)]
    explain_rule: Option<Rule>,

    /// Print JSON
    #[arg(long, group = "format")]
    json: bool,

    /// Print Markdown, ready to paste into an issue
    #[arg(long, group = "format")]
    markdown: bool,

    /// Also write a self-contained interactive HTML report
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also write the time of each exchange by cause to a Parquet file
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Also write an anonymised copy for sharing: no addresses, names, paths or content, but all sizes and
    /// times; explain reports the same causes for it
    #[arg(long, value_name = "FILE")]
    save_stripped: Option<PathBuf>,

    /// Also write the packets of exchange N (as the report numbers them) to a pcapng file
    ///
    /// Writes the TCP handshake, and all packets of the connection from the request to the ACK of the
    /// response's last byte, unchanged. Reads the files a second time. Does not work with --pair or standard
    /// input.
    #[arg(long, num_args = 2, value_names = ["N", "FILE"], conflicts_with = "pair")]
    export: Option<Vec<PathBuf>>,

    /// With --export, also write the TLS secrets of the connection, so that Wireshark can decrypt the file
    ///
    /// Takes the secrets from --keys and the capture. Writes those of this connection alone, and the connection's earlier
    /// packets, which decryption needs. Without this option, --export never writes secrets.
    #[arg(long, requires = "export")]
    export_secrets: bool,

    /// Use N threads; the report is the same for any number [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = whole(NonZeroUsize::MIN..=MOST_THREADS))]
    threads: Option<NonZeroUsize>,

    /// Colour the output; auto also obeys NO_COLOR
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    color: Colour,
}

/// By what exchanges are grouped.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum By {
    Path,
}

/// How text reports print points in time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum Time {
    #[default]
    Relative,
    Absolute,
}

const EXAMPLES: &str = "\
Examples:
  ackwise explain --sample
  ackwise explain capture.pcap
  ackwise explain --json client.pcapng.gz | jq '.totals[] | {cause, ms}'
  kubectl exec POD -- tcpdump -U -s 0 -w - port 80 | ackwise explain -
  ackwise explain --html report.html capture.pcap
  ackwise explain --pair client.pcap server.pcap
  SSLKEYLOGFILE=keys curl https://localhost/; ackwise explain --keys keys capture.pcap
  sudo ackwise explain --interface any --filter 'tcp port 80 or tcp port 8080'
  ackwise explain --fail-on nagle-delayed-ack=10ms capture.pcap
  ackwise explain --filter 'host 10.0.0.1 and port 80' --by path --time absolute capture.pcap
  ackwise explain --export 17 exchange.pcapng capture.pcap
  ackwise explain --keys keys --export 17 exchange.pcapng --export-secrets capture.pcap
  ackwise explain --explain-rule nagle-held

Exit codes:
  0  the report was printed, and no limit was exceeded
  1  an exchange, or the number of failures, exceeds a --fail-on limit
  2  no report could be produced; standard error gives the reason

docs/stalls.md describes each cause; docs/gallery.md shows twelve common bugs.";

const NO_INPUT: &str =
    "nothing to read (expected a capture file, --interface NAME, --pair CLIENT SERVER or --sample)";

/// More share no work.
const MOST_THREADS: NonZeroUsize =
    NonZeroUsize::new(Analyser::MOST_THREADS).expect("some threads are allowed");

/// `--html` and `--save-stripped` together leave this part of what the limits allow, and each capture of a pair has it
/// (our choice: with all of it, captures of 50 MB took 636 and 540 MB, with half of it below 512).
const SHARED: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

/// How much of a cause is too much.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Time {
        cause: Cause,
        above: Duration,
    },
    /// All failures, or those of a kind.
    Failures {
        kind: Option<Kind>,
        most: usize,
    },
}

impl Limit {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, limit) =
            text.split_once('=').map_or((text, None), |(name, it)| (name, Some(it)));
        let kind = Kind::ALL.into_iter().find(|it| it.name() == name);
        if name == FAILURES || kind.is_some() {
            let limit = limit.unwrap_or("0");
            let most = limit.parse().map_err(|_| format!("{limit:?} is no number of failures"))?;
            return Ok(Self::Failures { kind, most });
        }
        let cause = name.parse().map_err(|_| {
            let causes = Cause::ALL.iter().map(|cause| cause.name());
            let kinds = Kind::ALL.iter().map(|kind| kind.name());
            let names: BTreeSet<_> = causes.chain([FAILURES]).chain(kinds).collect();
            let meant: Vec<_> = names.iter().filter(|it| it.contains(name)).copied().collect();
            let known = if meant.is_empty() { Vec::from_iter(names) } else { meant };
            format!("unknown cause (expected one of {})", known.join(", "))
        })?;
        let above = limit.map_or(Ok(Duration::ZERO), ackwise_units::parse);
        let above = above.map_err(|expected| format!("expected {expected}"))?;
        Ok(Self::Time { cause, above })
    }

    /// What exceeds it, in a message; `None` if nothing does.
    fn exceeded_by(self, explained: &Explained) -> Option<String> {
        match self {
            Self::Time { cause, above } => Self::time_exceeded(explained, cause, above),
            Self::Failures { kind, most } => {
                let mut failures = Failed::all(&explained.analysis);
                failures.retain(|it| kind.is_none_or(|kind| it.kind == kind));
                let name = kind.map_or(FAILURES, Kind::name);
                let count = failures.len();
                let is_beyond = count > most;
                is_beyond.then(|| format!("--fail-on {name}={most}: exceeded by {count}"))
            }
        }
    }

    /// Which exchanges lose more to a cause.
    fn time_exceeded(explained: &Explained, cause: Cause, limit: Duration) -> Option<String> {
        let analysis = &explained.analysis;
        let owed = analysis.exchanges.iter().map(|it| it.owed_to(cause));
        let above: Vec<_> = owed.enumerate().filter(|(_, owed)| *owed > limit).collect();
        let folded = analysis.folded.causes.iter().filter(|((it, _), _)| *it == cause);
        let folded = folded.map(|(_, it)| it.most).max().filter(|most| *most > limit);
        let most = above.iter().max_by_key(|(number, owed)| (*owed, Reverse(*number)));
        let by = match (most, folded) {
            (Some((number, owed)), _) => format!(
                "{} of {}, most by exchange {number} ({})",
                grouped(above.len() as u64),
                counted(analysis.exchanges.len() as u64, "exchange"),
                millis(*owed),
            ),
            (None, Some(most)) => format!("an exchange that is not listed ({})", millis(most)),
            (None, None) => return None,
        };
        let limit = limit.as_secs_f64() * 1e3;
        Some(format!("--fail-on {cause}={limit}ms: exceeded by {by}"))
    }
}

/// Failures of all kinds.
const FAILURES: &str = "failures";

fn rule(name: &str) -> Result<Rule, String> {
    let rule = Rule::ALL.iter().find(|rule| rule.name() == name);
    rule.copied().ok_or_else(|| "unknown rule (expected a name from --rules)".to_owned())
}

fn explained(rule: Rule) -> String {
    format!("{rule} ({}): {}\n", rule.kind().name(), rule.text())
}

/// Reads, prints, and judges.
pub(crate) fn run(explain: &Explain) -> Result<Outcome, Failure> {
    explain.color.apply();
    if explain.rules {
        return output::print(&rules(), Outcome::Good);
    }
    if let Some(rule) = explain.explain_rule {
        return output::print(&explained(rule), Outcome::Good);
    }
    if let Some(path) = &explain.save_sample {
        return sample::save(path);
    }
    explain.check_input()?;
    explain.check_files()?;
    let is_live = explain.live.interface.is_some() || explain.reads_standard_input();
    let mut keys = keys::read(&explain.keys, is_live)?;
    let export = explain.export_request(&mut keys)?;
    let live = explain.live.open(explain.filter.as_ref())?;
    let reading = explain.confined_reading(keys.as_ref());
    let outputs = Outputs::begin(explain)?;
    if let Some(stripped) = &outputs.stripped {
        stripped.save_stripped(&reading)?;
    }
    let mut explained = match (live, explain.pair.as_deref()) {
        (Some(live), _) => live.read(reading)?,
        (None, Some(pair)) => explain.read_pair(pair, reading, keys.as_ref())?,
        (None, None) if explain.sample => read(sample::source, reading, packets)?,
        (None, None) => read(source(&explain.captures), reading, packets)?,
    };
    if let Some(stripped) = outputs.stripped {
        let error = explained.not_saved.take();
        stripped.complete_with(|_| error.map_or(Ok(()), Err))?;
    }
    let explained = readable(explained)?;
    let options = explain.options(&explained)?;
    if let (Some(export), Some(exported)) = (export, outputs.exported) {
        export.write(&explained, exported)?;
    }
    if let Some(page) = outputs.html {
        page.complete(html(&explained, &options, &explain.name()).as_bytes())?;
    }
    #[cfg(feature = "parquet")]
    if let Some(parquet) = outputs.parquet {
        let columns = ackwise_explain::columns::causes(&explained);
        let bytes = ackwise_report::columns::write(&columns);
        parquet.complete(&bytes.map_err(|error| Failure::Usage(error.to_string()))?)?;
    }
    let exceeded: Vec<_> =
        explain.fail_on.iter().filter_map(|limit| limit.exceeded_by(&explained)).collect();
    let outcome = if exceeded.is_empty() { Outcome::Good } else { Outcome::Bad };
    for message in exceeded {
        anstream::eprintln!("ackwise: {message}");
    }
    let printed = match (explain.json, explain.markdown) {
        (true, _) => output::write(|it| write_json(&explained, &options, it), outcome),
        (_, true) => output::print(&markdown(&explained, &options), outcome),
        _ => output::print(&text(&explained, &options), outcome),
    };
    // The process ends: its memory need not be given back in a million pieces.
    std::mem::forget(explained);
    printed
}

impl Explain {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Threads that judge packets are started with it, and open nothing.
    fn confined_reading(&self, keys: Option<&Arc<KeyLog>>) -> Reading {
        let start = || {
            privileges::confine();
            self.reading(keys)
        };
        thread::scope(|scope| scope.spawn(start).join().expect("it does not panic"))
    }

    fn reading(&self, keys: Option<&Arc<KeyLog>>) -> Reading {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.threads.unwrap_or_else(cores).min(MOST_THREADS);
        let reading = match self.html {
            Some(_) => Reading::with_series(),
            None => Reading::new().with_threads(threads),
        };
        // What an HTML page draws and a stripped copy take memory of their own; so does the other capture of a pair.
        let has_both = self.html.is_some() && self.save_stripped.is_some();
        let reading = match has_both || self.pair.is_some() {
            true => reading.with_limits_divided(SHARED),
            false => reading,
        };
        let reading = match self.json || self.connections {
            true => reading.with_measures(),
            false => reading,
        };
        let reading = match keys {
            Some(keys) => reading.with_keys(keys),
            None => reading,
        };
        // Of an interface, the kernel hands over only what matches.
        if let (Some(filter), None) = (&self.filter, &self.live.interface) {
            reading.set_filter(filter.clone());
        }
        reading
    }

    /// What is written may not take the place of a capture.
    fn check_files(&self) -> Result<(), Failure> {
        let captures = self.captures.iter().chain(self.pair.iter().flatten());
        let written = [self.html.as_deref(), self.save_stripped.as_deref(), self.exported()];
        #[cfg(feature = "parquet")]
        let written = written.into_iter().chain([self.parquet.as_deref()]);
        files::check(captures.map(PathBuf::as_path), written.into_iter().flatten())
    }

    /// Whether packets may come as they are captured.
    fn reads_standard_input(&self) -> bool {
        self.captures.iter().any(|it| it.as_os_str() == "-")
    }

    /// What `--export` asks for. Secrets come from `keys`, to which those of the capture are added.
    fn export_request(
        &self,
        keys: &mut Option<Arc<KeyLog>>,
    ) -> Result<Option<export::Request<'_>>, Failure> {
        let Some(values) = &self.export else { return Ok(None) };
        let request = export::Request::parse(values, &self.captures)?;
        Ok(Some(match self.export_secrets {
            true => request.with_secrets(keys.get_or_insert_default()),
            false => request,
        }))
    }

    /// The file of `--export N FILE`.
    fn exported(&self) -> Option<&Path> {
        self.export.iter().flatten().nth(1).map(PathBuf::as_path)
    }

    /// Exactly one of files, a pair and an interface is read. clap's own messages for this print a usage
    /// line that repeats the mistake.
    fn check_input(&self) -> Result<(), Failure> {
        let live = self.live.interface.is_some();
        if let Some(option) = self.live.option().filter(|_| !live) {
            return Err(Failure::Usage(format!(
                "{option} works only with --interface, not with capture files"
            )));
        }
        if self.export.is_some() {
            let other = if live { Some("--interface") } else { self.sample.then_some("--sample") };
            if let Some(other) = other {
                return Err(Failure::Usage(format!(
                    "--export works only with capture files, not with {other}"
                )));
            }
        }
        let inputs = [
            (!self.captures.is_empty(), "capture files"),
            (self.pair.is_some(), "--pair"),
            (live, "--interface"),
            (self.sample, "--sample"),
        ];
        let given: Vec<_> = inputs.iter().filter(|(given, _)| *given).map(|(_, it)| *it).collect();
        match given[..] {
            [] => Err(Failure::Usage(NO_INPUT.to_owned())),
            [_] => Ok(()),
            _ => Err(Failure::Usage(format!(
                "cannot combine {} (use one or the other)",
                given.join(" and ")
            ))),
        }
    }

    /// What is explained: a path may say more than a page should that is passed on.
    fn name(&self) -> String {
        if let Some(interface) = &self.live.interface {
            return format!("--interface {interface}");
        }
        if self.sample {
            return sample::NAME.to_owned();
        }
        let captures = self.pair.as_deref().unwrap_or(&self.captures);
        let names = captures.iter().map(|it| it.file_name().unwrap_or(it.as_os_str()));
        names.map(|it| it.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Reads one after the other, and joins them.
    fn read_pair(
        &self,
        pair: &[PathBuf],
        reading: Reading,
        keys: Option<&Arc<KeyLog>>,
    ) -> Result<Explained, Failure> {
        let [client, server] = pair else { unreachable!("clap takes two values") };
        let ends = [End::default(), End::default()];
        // What a report draws is the client's; the server's draws what is joined into it.
        let other = self.confined_reading(keys);
        let recorded = |end: &End, file| {
            let (end, source) = (end.clone(), source(std::slice::from_ref(file)));
            move || end.record(source())
        };
        let client = read(recorded(&ends[0], client), reading, packets)?;
        let server = read(recorded(&ends[1], server), other, packets)?;
        let (client, server) = (readable(client)?, readable(server)?);
        let joined = End::join((&ends[0], client), (&ends[1], server));
        joined.map_err(|error| Failure::Usage(format!("--pair: {error}")))
    }

    fn options(&self, explained: &Explained) -> Result<ReportOptions, Failure> {
        let connections = explained.analysis.connections.len();
        if let Some(id) = self.connection.filter(|&id| id as usize >= connections) {
            return Err(Failure::Usage(format!(
                "cannot show connection {id}: the capture has {connections} connections, numbered from 0"
            )));
        }
        let mut options = ReportOptions::default();
        options.worst = self.worst;
        options.connection = self.connection;
        options.slower_than = self.slower_than;
        options.by_path = self.by == Some(By::Path);
        options.connections = self.connections;
        options.time = match self.time {
            Time::Relative => TimeFormat::Relative,
            Time::Absolute => TimeFormat::Absolute,
        };
        options.columns = output::columns().unwrap_or(options.columns);
        Ok(options)
    }
}

/// A capture without a single packet is an error if it could not be read. One that was begun is reported,
/// also if its first packet is cut off.
fn readable(explained: Explained) -> Result<Explained, Failure> {
    match &explained.nothing_read {
        Some(error) if explained.packets == 0 => Err(Failure::Usage(error.clone())),
        _ => Ok(explained),
    }
}

/// Opens capture files, in the thread that reads them and may open nothing itself.
fn source(captures: &[PathBuf]) -> impl FnOnce() -> Source + Send + 'static + use<> {
    let (captures, open) = (captures.to_owned(), opener::start(captures));
    move || Source::open_by(open, captures)
}

/// What the progress line says of a file.
fn packets(count: u64) -> String {
    format!("{count} packets")
}

/// Reads what `begin` begins, until there is no more or the user wants no more. `progress` says how it goes, by the
/// number of packets.
fn read<F: Frames>(
    begin: impl FnOnce() -> F + Send + 'static,
    reading: Reading,
    progress: impl Fn(u64) -> String,
) -> Result<Explained, Failure> {
    /// How often the progress line is new.
    const REFRESH: Duration = Duration::from_millis(200);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::Signals)?;
    let (tell, hear) = mpsc::channel();
    let (reader, done) = (reading.clone(), tell.clone());
    thread::spawn(move || {
        privileges::confine();
        reader.read(&mut begin());
        // The command has ended if nobody listens; so below.
        let _ = done.send(());
    });
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = tell.send(());
        }
    });
    let line = ProgressLine::new();
    while let Err(mpsc::RecvTimeoutError::Timeout) = hear.recv_timeout(REFRESH) {
        line.show(&progress(reading.packets()));
    }
    drop(line);
    Ok(reading.end().expect("nobody else ends it"))
}
