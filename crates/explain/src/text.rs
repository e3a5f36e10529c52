//! The report for a terminal.

use std::fmt::Write as _;

use ackwise_capture::attribution::Vantage;
use ackwise_cause::Party;
use ackwise_text::{
    layout,
    words::{counted, grouped, millis, rounded, span},
};
use anstyle::Style;

use super::{
    arrival::Unarrived,
    connections, exchanges,
    failures::{self, Failure},
    hops,
    notes::notes,
    paths,
    quality::CaptureQuality,
    reading::Explained,
    sentence,
    servers::{Ends, Server},
    shown::{
        LEAST_SHOWN, ReportOptions, Shown, at_or_above, is_visible, sureness, towards,
        without_repetition,
    },
    totals::{Total, TotalsScope},
};

/// The report as text.
#[must_use]
pub fn text(explained: &Explained, options: &ReportOptions) -> String {
    let mut out = String::new();
    let width = options.columns.max(LEAST_COLUMNS);
    let quality = CaptureQuality::of(explained).to_string();
    let _ = writeln!(out, "{}", layout::block(&quality, 0, width));
    if let Some(unarrived) = Unarrived::sentence(&explained.analysis) {
        let _ = writeln!(out, "{}", layout::block(&unarrived, 0, width));
    }
    out.push('\n');
    let bold = Style::new().bold();
    let tables = without_repetition(options.totals(explained));
    let all = &tables[0].totals;
    let failures = Failure::all(&explained.analysis);
    let sentences = sentence::of_totals(&explained.analysis, all, &failures);
    for (number, line) in sentences.lines().enumerate() {
        let style = if number == 0 { bold } else { Style::new() };
        let line = layout::block(line, 0, width);
        let _ = writeln!(out, "{style}{line}{style:#}");
    }
    out += &failures::section(&failures);
    out += &hops::section(&explained.analysis);
    for table in tables {
        if table.totals.exchanges > 0 {
            out += &totals_section(&table);
        }
    }
    if options.by_path {
        out += &paths::text(&explained.analysis, &failures, width);
    }
    if options.connections {
        out += &connections::text(&explained.analysis, width);
    }
    out += &exchanges::section(explained, options);
    out += &servers_section(explained);
    for note in notes(explained) {
        let _ = writeln!(out, "\n{}", layout::block(&note, 0, width));
    }
    out
}

/// Narrower text is hard to read (our choice).
const LEAST_COLUMNS: usize = 40;

fn totals_section(Shown { totals, percentiles }: &Shown) -> String {
    let title = match totals.scope {
        TotalsScope::All => "Where the time went".to_owned(),
        TotalsScope::Percentile(_) => at_or_above(percentiles, totals),
        TotalsScope::Slower(limit) => format!("Exchanges slower than {}", millis(limit)),
    };
    let mut out = format!(
        "\n{title}: {}, {}\n  {:>10}  {:>6}   {:23} {:9}  {:7} {:>6} {:>10}  {}\n",
        counted(totals.exchanges as u64, "exchange"),
        span(totals.span),
        "time",
        "share",
        "cause",
        "data",
        "due to",
        "count",
        "exchanges",
        "confidence",
    );
    let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    for total in totals.causes.iter().filter(|it| is_visible(it.span)) {
        let share = total.span.as_secs_f64() / all * 100.0;
        if share < LEAST_SHOWN && !matches!(totals.scope, TotalsScope::All) {
            continue;
        }
        let _ = writeln!(
            out,
            "  {:>10}  {share:5.1} %  {:23} {:9}  {:7} {:>6} {:>10}  {}",
            span(total.span),
            total.cause.name(),
            towards(total.direction),
            party(total),
            grouped(total.times),
            grouped(total.exchanges as u64),
            sureness(total),
        );
    }
    out
}

fn party(total: &Total) -> &'static str {
    total.party().map_or("-", Party::name)
}

fn servers_section(explained: &Explained) -> String {
    let servers = Server::all(&explained.analysis);
    let mut out: String = servers.iter().take(MOST_SERVERS).map(one_server).collect();
    if servers.len() > MOST_SERVERS {
        let _ = writeln!(out, "\nand {} more servers", servers.len() - MOST_SERVERS);
    }
    out
}

/// Servers shown: those with the most connections (our choice).
pub(super) const MOST_SERVERS: usize = 10;

fn one_server(server: &Server) -> String {
    let mut out = format!(
        "\n{}: {}, {}, {}\n",
        server.address,
        counted(server.connections, "connection"),
        counted(server.exchanges, "exchange"),
        captured(server.vantage),
    );
    for fact in facts(server) {
        let _ = writeln!(out, "  {fact}");
    }
    out
}

const fn captured(vantage: Vantage) -> &'static str {
    match vantage {
        Vantage::At(Party::Client) => "captured at the client",
        Vantage::At(Party::Server) => "captured at the server",
        Vantage::At(Party::Path) | Vantage::Between => "captured between client and server",
        Vantage::Both => "captured at both ends",
        Vantage::OneHost => "captured on one host (round trip below 60 µs)",
        Vantage::Unknown => "capture point unknown",
    }
}

/// What the connections show about a server, apart from lost time.
pub(super) fn facts(server: &Server) -> Vec<String> {
    let Server { closed_first, time_wait, reset, idle, .. } = server;
    let mut facts = vec![format!(
        "closed first: client {}, server {}; ended by RST: {reset}",
        closed_first.client, closed_first.server,
    )];
    if *time_wait != Ends::default() {
        let Ends { client, server } = time_wait;
        facts.push(format!("held TIME-WAIT: client {client}, server {server}"));
    }
    if idle.open > 0 {
        let (count, longest) = (counted(idle.open, "connection"), span(idle.open_for));
        facts.push(format!("idle at the end of the capture: {count}, for up to {longest}"));
    }
    if idle.closed > 0 {
        let (count, longest) = (counted(idle.closed, "connection"), span(idle.closed_after));
        facts.push(format!("closed while idle: {count}, after up to {longest}"));
    }
    if let Some(window) = server.initial_window {
        facts.push(format!("initial window: {}", counted(window.into(), "segment")));
    }
    if let Some(delay) = server.delayed_ack {
        facts.push(format!("clients' ACK delay: up to {}", rounded(delay)));
    }
    facts.extend(server.paced.fact());
    facts
}
