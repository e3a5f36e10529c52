//! Exchanges grouped by URL path.
//!
//! Paths are compared as they are, without the query: `/users/1` and `/users/2` are two. What part of a
//! path is a parameter only the server's program knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_report::{Cell, HtmlTable};
use ackwise_text::{
    escape, layout,
    words::{counted, grouped, rounded, span},
};
use ackwise_units::statistics::percentile;

use super::failures::Failure;
use super::grpc::Statuses;
use super::path_streams::PathStreams;
use super::totals::{Total, Totals, TotalsScope};
use super::tunnels::TunnelIndex;

/// What the exchanges with one path have in common.
#[derive(Clone, Debug)]
pub(super) struct PathGroup<'a> {
    /// `None` if it was not captured or is encrypted.
    pub path: Option<&'a str>,
    /// In alphabetical order.
    pub methods: Vec<&'a str>,
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How gRPC calls ended.
    pub statuses: Statuses,
    /// The streams that they opened.
    pub streams: Option<PathStreams>,
    pub total: Duration,
    pub median: Duration,
    pub p95: Duration,
    /// What took the largest part of the total, whatever it is.
    pub largest: Option<Total>,
    /// The same of one direction of the data.
    pub largest_one_way: Option<Total>,
    /// The stalls' part of the total, which some setting can avoid.
    pub avoidable: Duration,
}

impl<'a> PathGroup<'a> {
    /// All of them, that with the largest total first.
    pub(super) fn all(analysis: &'a Analysis, failures: &[Failure]) -> Vec<Self> {
        let failed: BTreeSet<_> = failures.iter().filter_map(|it| it.exchange).collect();
        let mut groups: BTreeMap<Option<&str>, (Vec<&ExchangeResult>, u64)> = BTreeMap::new();
        for (number, exchange) in analysis.exchanges.iter().enumerate() {
            let group = groups.entry(method_and_path(exchange).map(|it| it.1)).or_default();
            group.0.push(exchange);
            group.1 += u64::from(failed.contains(&number));
        }
        let tunnels = TunnelIndex::of(analysis);
        let group = |(path, (exchanges, failed)): (_, (Vec<_>, _))| {
            Self::of(path, &exchanges, failed, &tunnels)
        };
        let mut groups: Vec<_> = groups.into_iter().map(group).collect();
        // A stable sort: equal totals stay in the order of their paths.
        groups.sort_by_key(|it| std::cmp::Reverse(it.total));
        groups
    }

    fn of(
        path: Option<&'a str>,
        exchanges: &[&'a ExchangeResult],
        failed: u64,
        tunnels: &TunnelIndex<'_>,
    ) -> Self {
        let totals = Totals::over(exchanges.iter().copied(), None, TotalsScope::All);
        let mut durations: Vec<_> = exchanges.iter().map(|it| it.duration).collect();
        durations.sort_unstable();
        let mut methods: Vec<_> =
            exchanges.iter().filter_map(|it| Some(method_and_path(it)?.0)).collect();
        methods.sort_unstable();
        methods.dedup();
        let stalls = totals.causes.iter().filter(|it| it.cause.is_stall());
        Self {
            path,
            methods,
            count: exchanges.len() as u64,
            failed,
            streams: PathStreams::of(exchanges, tunnels),
            statuses: Statuses::of(exchanges.iter().copied()),
            total: totals.span,
            median: percentile(&durations, 50).unwrap_or_default(),
            p95: percentile(&durations, 95).unwrap_or_default(),
            avoidable: stalls.map(|it| it.span).sum(),
            largest: totals.largest(),
            largest_one_way: totals.causes.into_iter().next(),
        }
    }

    /// The part of the total that `time` is.
    pub(super) fn share(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.total.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// `GET, POST /path`, how gRPC calls ended, and what streams carried.
    fn name(&self) -> String {
        let streams = self.streams.as_ref().map_or_else(String::new, PathStreams::listed);
        self.request() + &self.statuses.listed() + &streams
    }

    fn request(&self) -> String {
        match self.path {
            Some(path) if self.methods == [path] => escape::name(path).into_owned(),
            Some(path) => escape::name(&format!("{} {path}", self.methods.join(", "))).into_owned(),
            None => "not captured, or encrypted".to_owned(),
        }
    }

    fn largest(&self) -> String {
        self.largest.map_or_else(String::new, |it| {
            let percent = self.share(it.span) * 100.0;
            format!("{} {percent:.0} % ({})", it.cause, it.confidence.name())
        })
    }

    fn avoidable(&self) -> String {
        format!("{:.0} %", self.share(self.avoidable) * 100.0)
    }
}

/// Of a request as the reports print it: `GET /path`. The command of a protocol without paths is both.
fn method_and_path(exchange: &ExchangeResult) -> Option<(&str, &str)> {
    let request = exchange.request.as_deref()?;
    request.split_once(' ').or(Some((request, request))).filter(|(_, path)| *path != "?")
}

/// Paths shown: those with the largest totals (our choice).
const MOST_PATHS: usize = 30;

/// Said below each table.
const ABOUT: &str = "Grouped by path without the query; numbers and IDs in paths are not merged. \
                     Avoidable: the share of stalls that a setting or a code change removes.";

const COLUMNS: [&str; 8] = [
    "total",
    "count",
    "failed",
    "median",
    "p95",
    "avoidable",
    "largest cause (confidence)",
    "request",
];

/// The table as text.
pub(super) fn text(analysis: &Analysis, failures: &[Failure], width: usize) -> String {
    let groups = PathGroup::all(analysis, failures);
    let [total, count, failed, median, p95, avoidable, largest, request] = COLUMNS;
    let mut out = format!(
        "\nBy path: {}\n  {total:>10} {count:>7} {failed:>7} {median:>8} {p95:>8}  {avoidable:>9}  {largest:36}  \
         {request}\n",
        counted(groups.len() as u64, "path"),
    );
    for group in groups.iter().take(MOST_PATHS) {
        let _ = writeln!(
            out,
            "  {:>10} {:>7} {:>7} {:>8} {:>8}  {:>9}  {:36}  {}",
            span(group.total),
            grouped(group.count),
            grouped(group.failed),
            rounded(group.median),
            rounded(group.p95),
            group.avoidable(),
            group.largest(),
            group.name(),
        );
    }
    let about = format!("{ABOUT}{}", omitted(&groups));
    let _ = writeln!(out, "{}", layout::block(&about, 0, width));
    out
}

/// The table as Markdown.
pub(super) fn markdown(analysis: &Analysis) -> String {
    let groups = PathGroup::all(analysis, &Failure::all(analysis));
    let mut out = format!(
        "\nBy path:\n\n| {} |\n| ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n",
        COLUMNS.join(" | ")
    );
    for group in groups.iter().take(MOST_PATHS) {
        let cells = cells(group).join(" | ");
        let _ = writeln!(out, "| {cells} | {} |", escape::code_cell(&group.name()));
    }
    let _ = writeln!(out, "\n{ABOUT}{}", omitted(&groups));
    out
}

/// The table of a page, and what to say below it.
pub(super) fn html(analysis: &Analysis, failures: &[Failure]) -> (HtmlTable, String) {
    let groups = PathGroup::all(analysis, failures);
    let mut table = HtmlTable::new(counted(groups.len() as u64, "path"), COLUMNS);
    for group in groups.iter().take(MOST_PATHS) {
        let [total, count, failed, median, p95, avoidable, largest] = cells(group);
        let figures = [total, count, failed, median, p95, avoidable].map(Cell::number);
        table.add(figures.into_iter().chain([Cell::text(largest), Cell::prose(group.name())]));
    }
    (table, format!("{ABOUT}{}", omitted(&groups)))
}

fn cells(group: &PathGroup<'_>) -> [String; 7] {
    [
        span(group.total),
        grouped(group.count),
        grouped(group.failed),
        rounded(group.median),
        rounded(group.p95),
        group.avoidable(),
        group.largest(),
    ]
}

fn omitted(groups: &[PathGroup<'_>]) -> String {
    match groups.len().saturating_sub(MOST_PATHS) {
        0 => String::new(),
        more => format!(" {} with smaller totals are not shown.", counted(more as u64, "path")),
    }
}
