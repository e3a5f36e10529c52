//! The report for a terminal.

use std::{collections::BTreeMap, fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_capture::analysis::{ConnectionResult, ExchangeResult};
use ackwise_http::cause::Party;
use anstyle::Style;

use super::{
    reading::Explained,
    sentence::sentence,
    totals::{Over, Total, Totals},
};
use crate::check::report::printable;

/// What of a capture is shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// So many of the slowest exchanges, packet by packet.
    pub worst: usize,
    /// Only this connection.
    pub connection: Option<u32>,
    /// Totals of the exchanges slower than this, too.
    pub slower_than: Option<Duration>,
    /// The columns of the terminal.
    pub columns: usize,
}

impl Default for Shown {
    fn default() -> Self {
        Self { worst: 5, connection: None, slower_than: None, columns: 100 }
    }
}

impl Shown {
    /// Which totals are shown. With too few exchanges a percentile is one of them.
    pub(super) fn totals(&self, explained: &Explained) -> Vec<Totals> {
        /// A percentile of fewer exchanges is shown by the worst of them. Ours.
        const FEW: usize = 20;
        let analysis = &explained.analysis;
        let mut over = vec![Over::All];
        if analysis.exchanges.len() >= FEW {
            over.extend([Over::Percentile(95), Over::Percentile(99)]);
        }
        over.extend(self.slower_than.map(Over::Slower));
        over.into_iter().map(|over| Totals::of(analysis, over)).collect()
    }
}

/// The report as text.
#[must_use]
pub fn text(explained: &Explained, shown: &Shown) -> String {
    let mut out = String::new();
    let bold = Style::new().bold();
    for (number, line) in sentence(&explained.analysis).lines().enumerate() {
        let style = if number == 0 { bold } else { Style::new() };
        let line = textwrap::fill(line, shown.columns.max(LEAST_COLUMNS));
        let _ = writeln!(out, "{style}{line}{style:#}");
    }
    for totals in shown.totals(explained) {
        out += &totals_section(&totals);
    }
    out += &worst_section(explained, shown);
    out += &servers_section(explained);
    out += &notes(explained);
    out
}

/// Narrower text is not worth reading. Ours.
const LEAST_COLUMNS: usize = 40;

fn totals_section(totals: &Totals) -> String {
    let title = match totals.over {
        Over::All => "Where the time went".to_owned(),
        Over::Percentile(percent) => {
            format!("The slowest {} % (from {} on)", 100 - percent, millis(totals.shortest))
        }
        Over::Slower(limit) => format!("Slower than {}", millis(limit)),
    };
    let mut out = format!(
        "\n{title}: {} exchange{}, {}\n",
        totals.exchanges,
        if totals.exchanges == 1 { "" } else { "s" },
        span(totals.span)
    );
    let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    for total in &totals.causes {
        let share = total.span.as_secs_f64() / all * 100.0;
        if share < LEAST_SHOWN && !matches!(totals.over, Over::All) {
            continue;
        }
        let _ = writeln!(
            out,
            "  {:>10}  {share:5.1} %  {:24} {:7} {:>7} times in {} exchanges",
            span(total.span),
            total.cause.name(),
            party(total),
            total.times,
            total.exchanges,
        );
    }
    out
}

/// What is a smaller part of slow exchanges does not make them slow, in percent. Ours.
pub(super) const LEAST_SHOWN: f64 = 1.0;

fn party(total: &Total) -> &'static str {
    total.party().map_or("-", Party::name)
}

fn worst_section(explained: &Explained, shown: &Shown) -> String {
    let mut exchanges: Vec<&ExchangeResult> = explained
        .analysis
        .exchanges
        .iter()
        .filter(|it| shown.connection.is_none_or(|connection| connection == it.connection))
        .collect();
    if shown.connection.is_none() {
        exchanges.sort_by_key(|it| std::cmp::Reverse(it.duration));
        exchanges.truncate(shown.worst);
    }
    if exchanges.is_empty() {
        return String::new();
    }
    let mut out = match shown.connection {
        Some(connection) => format!("\nConnection {connection}\n"),
        None => "\nSlowest exchanges\n".to_owned(),
    };
    for exchange in exchanges {
        out += &one_exchange(explained, exchange);
    }
    out
}

fn one_exchange(explained: &Explained, exchange: &ExchangeResult) -> String {
    let connection = &explained.analysis.connections[exchange.connection as usize];
    let mut out = format!(
        "  {} {} {}{} at {:.6} s, connection {} ({} > {}), packet {}\n",
        millis(exchange.duration),
        printable(exchange.request.as_deref().unwrap_or("exchange")),
        exchange.status.map_or(String::new(), |status| format!("{status} ")),
        if exchange.complete { "" } else { "not answered completely," },
        exchange.start.saturating_since(explained.analysis.first).as_secs_f64(),
        connection.id,
        connection.client,
        connection.server,
        exchange.packet,
    );
    for share in &exchange.shares {
        let packets: Vec<String> =
            share.evidence.packets().map(|number| number.to_string()).collect();
        let _ = writeln!(
            out,
            "    {:>12}  {:24} {:7} {}{}{}",
            millis(share.span),
            share.cause.name(),
            share.cause.party(share.direction).map_or("-", Party::name),
            if packets.is_empty() { "" } else { "packets " },
            packets.join(" "),
            match share.confidence {
                ackwise_capture::attribution::Confidence::High => String::new(),
                unsure => format!(" ({} confidence)", unsure.name()),
            },
        );
    }
    out
}

fn servers_section(explained: &Explained) -> String {
    let mut servers: BTreeMap<SocketAddr, Vec<&ConnectionResult>> = BTreeMap::new();
    for connection in &explained.analysis.connections {
        servers.entry(connection.server).or_default().push(connection);
    }
    let mut out = String::new();
    for (server, connections) in servers.iter().take(MOST_SERVERS) {
        out += &one_server(*server, connections);
    }
    if servers.len() > MOST_SERVERS {
        let _ = writeln!(out, "and {} more servers", servers.len() - MOST_SERVERS);
    }
    out
}

fn one_server(server: SocketAddr, connections: &[&ConnectionResult]) -> String {
    let closed = |party| connections.iter().filter(|it| it.closed_first == Some(party)).count();
    let [by_client, by_server] = [Party::Client, Party::Server].map(closed);
    let vantage = connections.first().map_or("unknown", |it| it.vantage.name());
    let mut out = format!(
        "\n{server}: {} connections, captured at: {vantage}\n  closed first by the client: \
         {by_client}, by the server: {by_server}\n",
        connections.len(),
    );
    if let Some(window) = connections.iter().filter_map(|it| it.initial_window).max() {
        let _ = writeln!(out, "  initial window: {window} segments");
    }
    if let Some(delay) = connections.iter().filter_map(|it| it.delayed_ack).max() {
        let _ = writeln!(out, "  delayed acknowledgements of clients: up to {}", millis(delay));
    }
    out
}

/// So many servers are shown. Ours.
const MOST_SERVERS: usize = 10;

fn notes(explained: &Explained) -> String {
    let mut out = String::new();
    let left_out = &explained.left_out;
    if left_out.total() > 0 {
        let _ = write!(out, "\nLeft out of {} packets:", explained.packets);
        let mut comma = "";
        for (why, count) in left_out.iter().filter(|it| it.1 > 0) {
            let _ = write!(out, "{comma} {count} {}", why.as_str());
            comma = ",";
        }
        out.push('\n');
    }
    if explained.drops.packets() > 0 {
        let lost = explained.drops.packets();
        let _ = writeln!(out, "\nThe capture itself lost {lost} packets.");
    }
    for trouble in &explained.troubles {
        let _ = writeln!(out, "\nwarning: {}", printable(trouble));
    }
    out
}

/// `12.345 ms`.
pub(super) fn millis(span: Duration) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1e3)
}

/// `12.345 ms` or `12.345 s`, whichever is easier to read.
pub(super) fn span(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        millis(span)
    } else {
        format!("{:.3} s", span.as_secs_f64())
    }
}
