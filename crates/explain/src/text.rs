//! The report for a terminal.

use std::{fmt::Write as _, time::Duration};

use ackwise_capture::analysis::ExchangeResult;
use ackwise_cause::{Direction, Party};
use ackwise_report::{
    printable,
    words::{counted, grouped, millis, span},
};
use anstyle::Style;

use super::{
    notes::notes,
    reading::Explained,
    sentence::sentence,
    servers::{Ends, Server},
    totals::{Total, Totals, TotalsScope},
};

/// Which part of a capture the reports show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportOptions {
    /// So many of the slowest exchanges, packet by packet.
    pub worst: usize,
    /// Only this connection.
    pub connection: Option<u32>,
    /// Totals of the exchanges slower than this, too.
    pub slower_than: Option<Duration>,
    /// The columns of the terminal.
    pub columns: usize,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { worst: 5, connection: None, slower_than: None, columns: 100 }
    }
}

impl ReportOptions {
    /// Which totals are shown. With too few exchanges a percentile is one of them.
    pub(super) fn totals(&self, explained: &Explained) -> Vec<Totals> {
        /// A percentile of fewer exchanges is shown by the worst of them. Ours.
        const FEW: usize = 20;
        let analysis = &explained.analysis;
        let mut scopes = vec![TotalsScope::All];
        if analysis.exchanges.len() >= FEW {
            scopes.extend([TotalsScope::Percentile(95), TotalsScope::Percentile(99)]);
        }
        scopes.extend(self.slower_than.map(TotalsScope::Slower));
        scopes.into_iter().map(|scope| Totals::of(analysis, scope)).collect()
    }
}

/// The report as text.
#[must_use]
pub fn text(explained: &Explained, options: &ReportOptions) -> String {
    let mut out = String::new();
    let bold = Style::new().bold();
    for (number, line) in sentence(&explained.analysis).lines().enumerate() {
        let style = if number == 0 { bold } else { Style::new() };
        let line = textwrap::fill(line, options.columns.max(LEAST_COLUMNS));
        let _ = writeln!(out, "{style}{line}{style:#}");
    }
    for totals in options.totals(explained) {
        out += &totals_section(&totals);
    }
    out += &worst_section(explained, options);
    out += &servers_section(explained);
    for note in notes(explained) {
        let _ = writeln!(out, "\n{}", textwrap::fill(&note, options.columns.max(LEAST_COLUMNS)));
    }
    out
}

/// Narrower text is not worth reading. Ours.
const LEAST_COLUMNS: usize = 40;

fn totals_section(totals: &Totals) -> String {
    let title = match totals.scope {
        TotalsScope::All => "Where the time went".to_owned(),
        TotalsScope::Percentile(percent) => {
            format!("The slowest {} % ({} and more)", 100 - percent, millis(totals.shortest))
        }
        TotalsScope::Slower(limit) => format!("Slower than {}", millis(limit)),
    };
    let mut out = format!(
        "\n{title}: {}, {}\n",
        counted(totals.exchanges as u64, "exchange"),
        span(totals.span)
    );
    let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    for total in &totals.causes {
        let share = total.span.as_secs_f64() / all * 100.0;
        if share < LEAST_SHOWN && !matches!(totals.scope, TotalsScope::All) {
            continue;
        }
        let _ = writeln!(
            out,
            "  {:>10}  {share:5.1} %  {:23} {:9}  {:7} {:>6} {} in {}",
            span(total.span),
            total.cause.name(),
            towards(total.direction),
            party(total),
            grouped(total.times),
            if total.times == 1 { "time" } else { "times" },
            counted(total.exchanges as u64, "exchange"),
        );
    }
    out
}

/// What is a smaller part of slow exchanges does not make them slow, in percent. Ours.
pub(super) const LEAST_SHOWN: f64 = 1.0;

fn party(total: &Total) -> &'static str {
    total.party().map_or("-", Party::name)
}

fn worst_section(explained: &Explained, options: &ReportOptions) -> String {
    let mut exchanges: Vec<&ExchangeResult> = explained
        .analysis
        .exchanges
        .iter()
        .filter(|it| options.connection.is_none_or(|connection| connection == it.connection))
        .collect();
    if options.connection.is_none() {
        exchanges.sort_by_key(|it| std::cmp::Reverse(it.duration));
        exchanges.truncate(options.worst);
    }
    if exchanges.is_empty() {
        return String::new();
    }
    let mut out = match options.connection {
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
        if exchange.complete { "" } else { "incomplete response," },
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
            "    {:>12}  {:23} {:9}  {:7} {}{}{}",
            millis(share.span),
            share.cause.name(),
            towards(share.direction),
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
    let servers = Server::all(&explained.analysis);
    let mut out: String = servers.iter().take(MOST_SERVERS).map(one_server).collect();
    if servers.len() > MOST_SERVERS {
        let _ = writeln!(out, "\nand {} more servers", servers.len() - MOST_SERVERS);
    }
    out
}

/// So many servers are shown: those with the most connections. Ours.
pub(super) const MOST_SERVERS: usize = 10;

fn one_server(server: &Server) -> String {
    let mut out = format!(
        "\n{}: {}, {}, captured at: {}\n",
        server.address,
        counted(server.connections, "connection"),
        counted(server.exchanges, "exchange"),
        server.vantage.name(),
    );
    for fact in facts(server) {
        let _ = writeln!(out, "  {fact}");
    }
    out
}

/// What is known of a server beside what its exchanges cost.
pub(super) fn facts(server: &Server) -> Vec<String> {
    let Server { closed_first, time_wait, reset, idle, .. } = server;
    let mut facts = vec![format!(
        "first close by the client: {}, by the server: {}; reset: {reset}",
        closed_first.client, closed_first.server,
    )];
    if *time_wait != Ends::default() {
        let Ends { client, server } = time_wait;
        facts.push(format!("TIME-WAIT at the client: {client}, at the server: {server}"));
    }
    if idle.open > 0 {
        let (count, longest) = (counted(idle.open, "connection"), span(idle.open_for));
        facts.push(format!("idle at the end: {count}, for up to {longest}"));
    }
    if idle.closed > 0 {
        let (count, longest) = (counted(idle.closed, "connection"), span(idle.closed_after));
        facts.push(format!("closed while idle: {count}, after up to {longest}"));
    }
    if let Some(window) = server.initial_window {
        facts.push(format!("initial window: {window} segments"));
    }
    if let Some(delay) = server.delayed_ack {
        facts.push(format!("delayed ACKs of clients: up to {}", millis(delay)));
    }
    facts
}

/// Where the data goes that was waited for: both ways there is distance.
pub(super) const fn towards(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "to server",
        Direction::ToClient => "to client",
    }
}
