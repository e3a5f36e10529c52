//! The report of pages that were loaded by a plan: text and JSON.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ackwise_http::page::Transfer;
use ackwise_text::{
    format::{self, Format},
    layout,
    words::{counted, grouped},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{KeptConnections, LoadedPage, LoadedPages, PageLoad};
use crate::{LoadOptions, StackMode};

/// What `ackwise load --plan --json` prints.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PagesReport {
    /// The version of the program.
    ackwise: &'static str,
    /// The summary, as in the text report.
    summary: String,
    /// The page.
    target: String,
    /// Its server's address.
    server: String,
    /// The clients' TCP stack.
    stack: &'static str,
    /// How the files of a page were transferred: the name on the command line.
    plan: String,
    /// Whether connections were kept for the user's next page.
    kept_connections: bool,
    /// Number of users.
    users: usize,
    /// Files of the page, or of the largest page of a workload.
    files_of_page: usize,
    /// Pages that were loaded completely.
    pages: u64,
    /// Pages that were not.
    failed: u64,
    /// Number of failed pages by reason.
    failures: BTreeMap<&'static str, u64>,
    /// Connections opened.
    connections: u64,
    /// Requests sent.
    requests: u64,
    /// Files received.
    files: u64,
    /// Bytes of content received.
    content_bytes: u64,
    /// Bytes of requests sent.
    sent_bytes: u64,
    /// Bytes received, heads included.
    received_bytes: u64,
    /// Seconds from the first start to the last end of a page.
    elapsed_s: f64,
    /// Times of the pages that were loaded completely, in milliseconds; null if there is none.
    page_ms: Option<PageTimes>,
    /// Connections that the server did not close in time, so that the client reset them.
    not_closed: u64,
    /// What limits the results.
    notes: Vec<String>,
}

/// Times of pages in milliseconds, from the start of a page to the last byte of its last response.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
pub struct PageTimes {
    /// The shortest.
    pub min: f64,
    /// The first quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The third quartile.
    pub p75: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl format::Document for PagesReport {
    const FORMAT: Format = Format::first("ackwise-load-pages");
    const ABOUT: &'static str = "What `ackwise load --plan --json` prints.";
}

impl PageTimes {
    /// Of the pages that were loaded completely.
    #[must_use]
    pub fn of(pages: &[LoadedPage]) -> Option<Self> {
        let complete = pages.iter().filter(|page| page.failure.is_none());
        let mut times: Vec<Duration> = complete.map(|page| page.took).collect();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        let at = |percent: usize| millis(times[last * percent / 100]);
        let mean = times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64 * 1e3;
        Some(Self {
            min: at(0),
            p25: at(25),
            p50: at(50),
            p75: at(75),
            p99: at(99),
            max: at(100),
            mean: (mean * 1e3).round() / 1e3,
        })
    }
}

impl PagesReport {
    pub(super) fn new(
        options: &LoadOptions,
        stack: StackMode,
        server: SocketAddr,
        load: &PageLoad,
        loaded: &LoadedPages,
    ) -> Self {
        let LoadedPages { pages, elapsed, ran_out_of_ports: _, not_closed } = loaded;
        let sum = |of: fn(&LoadedPage) -> u64| pages.iter().map(of).sum::<u64>();
        let mut failures = BTreeMap::new();
        for failure in pages.iter().filter_map(|page| page.failure) {
            *failures.entry(failure.as_str()).or_default() += 1;
        }
        let failed: u64 = failures.values().sum();
        let mut report = Self {
            ackwise: env!("CARGO_PKG_VERSION"),
            summary: String::new(),
            target: options.target.to_string(),
            server: server.to_string(),
            stack: stack.as_str(),
            plan: plan_name(load.transfer),
            kept_connections: load.connections == KeptConnections::Kept,
            users: load.users,
            files_of_page: load.site.iter().map(|page| page.files.len()).max().unwrap_or(0),
            pages: pages.len() as u64 - failed,
            failed,
            notes: notes(load, loaded, &failures),
            failures,
            connections: sum(|page| page.connections.into()),
            requests: sum(|page| page.requests.into()),
            files: sum(|page| page.files.into()),
            content_bytes: sum(|page| page.content),
            sent_bytes: sum(|page| page.sent),
            received_bytes: sum(|page| page.received),
            elapsed_s: (elapsed.as_secs_f64() * 1e6).round() / 1e6,
            page_ms: PageTimes::of(pages),
            not_closed: *not_closed,
        };
        report.summary = report.summarised();
        report
    }

    /// Whether every page was loaded.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.failed == 0 && self.pages > 0
    }

    /// Times of the pages.
    #[must_use]
    pub const fn times(&self) -> Option<PageTimes> {
        self.page_ms
    }

    fn summarised(&self) -> String {
        let pages = counted(self.pages, "page");
        let times = match self.page_ms {
            None => String::new(),
            Some(times) => format!(
                ": median {} ms (quartiles {} and {} ms, longest {} ms)",
                times.p50, times.p25, times.p75, times.max
            ),
        };
        format!("Loaded {pages} by the plan {}{times}.", self.plan)
    }

    /// Formats the report in at most `columns` columns.
    #[must_use]
    pub fn text(&self, columns: usize) -> String {
        let mut text = String::new();
        let mut paragraph =
            |words: &str, indent| text += &layout::paragraph(words, indent, columns);
        paragraph(&self.summary, 0);
        paragraph("", 0);
        let of = counted(self.files_of_page as u64, "file");
        paragraph(&format!("Page:        {}, {of}", self.target), 2);
        let users = counted(self.users as u64, "user");
        let kept = if self.kept_connections { ", connections kept between pages" } else { "" };
        paragraph(&format!("Clients:     {users}, {} stack{kept}", self.stack), 2);
        let (connections, requests, files) = (self.connections, self.requests, self.files);
        let line = format!(
            "Sent:        {} on {}, {} bytes",
            counted(requests, "request"),
            counted(connections, "connection"),
            grouped(self.sent_bytes)
        );
        paragraph(&line, 2);
        let line = format!(
            "Received:    {} in {} bytes, of which {} are content",
            counted(files, "file"),
            grouped(self.received_bytes),
            grouped(self.content_bytes)
        );
        paragraph(&line, 2);
        for (reason, count) in &self.failures {
            paragraph(&format!("Failed:      {}: {reason}", counted(*count, "page")), 2);
        }
        for note in &self.notes {
            paragraph(&format!("Note: {note}"), 2);
        }
        text
    }

    /// Formats the report as one JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        format::to_json(self)
    }
}

fn notes(
    load: &PageLoad,
    loaded: &LoadedPages,
    failures: &BTreeMap<&'static str, u64>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if loaded.ran_out_of_ports {
        notes.push("the run ended because no local port was free (use --source)".to_owned());
    }
    let is_getweb = load.transfer == Transfer::GetWeb;
    if is_getweb && (failures.contains_key("status-5xx") || failures.contains_key("status-4xx")) {
        let note = "does the server support GETWEB? `ackwise serve DIRECTORY --getweb` does";
        notes.push(note.to_owned());
    }
    let one_file = load.site.iter().all(|page| page.files.len() == 1);
    if one_file && load.transfer != Transfer::Serial {
        let note = "the page shows no files of its own server, so all plans are the same";
        notes.push(note.to_owned());
    }
    notes
}

/// The name on the command line, which is that in experiment files.
fn plan_name(transfer: Transfer) -> String {
    match transfer {
        Transfer::Serial => "serial".to_owned(),
        Transfer::Parallel { connections } => format!("parallel:{connections}"),
        Transfer::Persistent => "persistent".to_owned(),
        Transfer::Pipelined => "pipelined".to_owned(),
        Transfer::SegmentFilled { segment } => format!("segment-filled:{segment}"),
        Transfer::GetWeb => "get-web".to_owned(),
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
