//! Hops in words: grouped by proxy and the server behind it.

use std::{collections::BTreeMap, fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_capture::{analysis::Analysis, attribution::Confidence};
use ackwise_report::{Cell, HtmlTable};
use ackwise_text::words::{counted, grouped, rounded};
use ackwise_units::statistics::middle;

use super::{Fronts, Hop};

/// What the time was that a client waited for a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Waits {
    pub all: Duration,
    /// Until the proxy asked the server behind it.
    pub before: Duration,
    /// Until it had the first byte of the response.
    pub behind: Duration,
    /// Until it passed that on.
    pub held: Duration,
}

impl Waits {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.before += other.before;
        self.behind += other.behind;
        self.held += other.held;
    }

    /// What a proxy did with most of the time that its clients waited, and what to change; `None` if that is less than
    /// half of `span`, or not known.
    pub(in super::super) fn advice(analysis: &Analysis, span: Duration) -> Option<String> {
        let hops = Fronts::of(analysis).hops(analysis);
        let sure: Vec<Hop> =
            hops.into_iter().filter(|it| it.confidence > Confidence::Low).collect();
        let groups = Group::all(analysis, &sure);
        let waits = |it: &Group<'_>| {
            let mut sum = Self::default();
            it.hops.iter().filter_map(|it| it.waits(analysis)).for_each(|it| sum.add(&it));
            sum
        };
        let (group, sum) =
            groups.iter().map(|it| (it, waits(it))).max_by_key(|(_, waits)| waits.all)?;
        let (most, what) = [(sum.before, 0), (sum.behind, 1), (sum.held, 2)].into_iter().max()?;
        if sum.all * 2 < span || most * 2 < sum.all {
            return None;
        }
        let Group { proxy, behind, hops } = group;
        let (did, remedy) = match what {
            0 => (
                format!(
                    "forwarded requests to {behind} after {}",
                    group.median(|it| Some(it.asked_after))
                ),
                "look for the reason: it may read whole requests first (nginx: \
                 proxy_request_buffering), or wait for a connection"
                    .to_owned(),
            ),
            1 => (format!("waited for {behind}"), format!("profile {behind}")),
            _ => (
                format!(
                    "received the first bytes of responses from {behind} after {}, and forwarded them after {}",
                    group.median(|it| it.answered_after),
                    group.median(|it| it.passed_on_after),
                ),
                "let it forward data as it arrives (nginx: proxy_buffering off, or the field \
                 X-Accel-Buffering: no)"
                    .to_owned(),
            ),
        };
        let is_high = hops.iter().all(|it| it.confidence == Confidence::High);
        let (label, sure) = if is_high { ("Fix", "high") } else { ("If so", "medium") };
        let count = counted(hops.len() as u64, "request");
        Some(format!(
            "The proxy {proxy} {did}: {} of these {} ({count}, {sure} confidence).\n{label}: {remedy}.",
            rounded(most),
            rounded(sum.all),
        ))
    }
}

/// The hops of a proxy to one server.
struct Group<'a> {
    proxy: SocketAddr,
    behind: SocketAddr,
    hops: Vec<&'a Hop>,
}

impl<'a> Group<'a> {
    /// The largest first.
    fn all(analysis: &Analysis, hops: &'a [Hop]) -> Vec<Self> {
        let server = |exchange: usize| {
            analysis.connections[analysis.exchanges[exchange].connection as usize].server
        };
        let mut by: BTreeMap<[SocketAddr; 2], Vec<&Hop>> = BTreeMap::new();
        for it in hops {
            by.entry([server(it.front), server(it.back)]).or_default().push(it);
        }
        let group =
            |([proxy, behind], hops): ([SocketAddr; 2], Vec<&'a Hop>)| Self { proxy, behind, hops };
        let mut groups: Vec<_> = by.into_iter().map(group).collect();
        groups.sort_by_key(|it| std::cmp::Reverse(it.hops.len()));
        groups
    }

    fn median(&self, span: impl Fn(&Hop) -> Option<Duration>) -> String {
        middle(self.hops.iter().filter_map(|it| span(it))).map_or_else(|| "-".to_owned(), rounded)
    }

    fn cells(&self) -> [String; 6] {
        let behind = |it: &Hop| Some(it.answered_after?.saturating_sub(it.asked_after));
        let confidence = self.hops.iter().map(|it| it.confidence).min().unwrap_or_default();
        let rival = self.hops.iter().find_map(|it| it.rival());
        let rival = rival.map_or(String::new(), |it| format!(", rival {it}"));
        [
            grouped(self.hops.len() as u64),
            self.median(|it| Some(it.asked_after)),
            self.median(behind),
            self.median(Hop::held),
            format!("{} > {}", self.proxy, self.behind),
            format!("{}{rival}", confidence.name()),
        ]
    }

    /// The one that was held longest.
    fn example(&self) -> Option<String> {
        let (held, it) =
            self.hops.iter().filter_map(|it| Some((it.held()?, it))).max_by_key(|it| it.0)?;
        let exchanges = format!("exchange {} for {}", it.back, it.front);
        Some(format!("held longest: {exchanges}, {}", rounded(held)))
    }
}

/// Groups shown: those with the most hops (our choice).
const MOST_GROUPS: usize = 10;

const COLUMNS: [&str; 6] =
    ["count", "passed on", "answered", "held", "proxy > server behind", "confidence"];

/// The table of proxies, as lines of cells; empty if none shows.
pub(in super::super) fn section(analysis: &Analysis) -> String {
    let hops = Fronts::of(analysis).hops(analysis);
    if hops.is_empty() {
        return String::new();
    }
    let [count, passed, answered, held, server, confidence] = COLUMNS;
    let mut out = format!(
        "\nProxies: {} passed on (medians)\n  {count:>6}  {passed:>9}  {answered:>9}  {held:>9}  {server:40} {confidence}\n",
        counted(hops.len() as u64, "request"),
    );
    for group in Group::all(analysis, &hops).iter().take(MOST_GROUPS) {
        let [count, passed, answered, held, server, confidence] = group.cells();
        let _ = writeln!(
            out,
            "  {count:>6}  {passed:>9}  {answered:>9}  {held:>9}  {server:40} {confidence}",
        );
        if let Some(example) = group.example() {
            let _ = writeln!(out, "          {example}");
        }
    }
    out
}

/// The same as a table of a page; `None` if no proxy shows.
pub(in super::super) fn table(analysis: &Analysis) -> Option<HtmlTable> {
    let hops = Fronts::of(analysis).hops(analysis);
    let caption = "Requests forwarded by proxies; times are medians".to_owned();
    let mut table = HtmlTable::new(caption, COLUMNS);
    for group in Group::all(analysis, &hops).iter().take(MOST_GROUPS) {
        let [count, passed, answered, held, server, confidence] = group.cells();
        let figures = [count, passed, answered, held].map(Cell::number);
        table.add(figures.into_iter().chain([server, confidence].map(Cell::text)));
    }
    (!hops.is_empty()).then_some(table)
}
