//! The report as a block for an issue.

use std::fmt::Write as _;

use ackwise_cause::Party;
use ackwise_text::{
    escape,
    words::{counted, grouped, millis, span},
};

use super::{
    arrival::Unarrived,
    connections,
    exchanges::{chosen, request},
    failures::{self, Failure},
    hops,
    notes::notes,
    paths,
    quality::CaptureQuality,
    reading::Explained,
    sentence::sentence,
    servers::Server,
    shown::{
        ReportOptions, Shown, doubt, is_visible, named, sureness, towards, without_repetition,
    },
    text::{MOST_SERVERS, facts},
    totals::TotalsScope,
    tunnels::TunnelIndex,
};

/// The report as Markdown: the sentence, the totals, the slowest exchanges.
#[must_use]
pub fn markdown(explained: &Explained, options: &ReportOptions) -> String {
    let mut out = format!("{}\n\n", CaptureQuality::of(explained));
    if let Some(unarrived) = Unarrived::sentence(&explained.analysis) {
        let _ = writeln!(out, "{unarrived}\n");
    }
    let _ = writeln!(out, "**{}**", sentence(&explained.analysis).replace('\n', "**\n\n**"));
    let failures = failures::section(&Failure::all(&explained.analysis));
    for section in [failures, hops::section(&explained.analysis)].iter().filter(|it| !it.is_empty())
    {
        let _ = writeln!(out, "\n```text\n{}\n```", section.trim());
    }
    for Shown { totals, percentiles } in without_repetition(options.totals(explained)) {
        let _ = writeln!(
            out,
            "\n{} of {}:\n\n| time | share | cause | data | due to | count | exchanges | \
             confidence |\n| ---: | ---: | --- | --- | --- | ---: | ---: | --- |",
            match totals.scope {
                TotalsScope::All => "Time".to_owned(),
                TotalsScope::Percentile(_) => format!("Time (at or above {percentiles})"),
                TotalsScope::Slower(limit) => format!("Time (slower than {})", millis(limit)),
            },
            counted(totals.exchanges as u64, "exchange"),
        );
        let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
        for total in totals.causes.iter().filter(|it| is_visible(it.span)) {
            let _ = writeln!(
                out,
                "| {} | {:.1} % | {} | {} | {} | {} | {} | {} |",
                span(total.span),
                total.span.as_secs_f64() / all * 100.0,
                total.cause,
                towards(total.direction),
                total.party().map_or("-", Party::name),
                grouped(total.times),
                grouped(total.exchanges as u64),
                sureness(total),
            );
        }
    }
    if options.by_path {
        out += &paths::markdown(&explained.analysis);
    }
    if options.connections {
        out += &connections::markdown(&explained.analysis);
    }
    out += &slowest(explained, options);
    out += &servers(explained);
    for note in notes(explained) {
        let _ = writeln!(out, "\n{}", escape::markdown(&note));
    }
    out
}

fn slowest(explained: &Explained, options: &ReportOptions) -> String {
    let tunnels = TunnelIndex::of(&explained.analysis);
    let mut out = String::from("\nSlowest exchanges:\n\n");
    for (number, exchange) in chosen(explained, options) {
        let request = escape::code(&request(exchange));
        let _ = write!(out, "- {number}: {request}, {}:", millis(exchange.duration));
        let mut comma = "";
        for share in exchange.shares.iter().filter(|it| is_visible(it.span)) {
            let (span, cause, doubt) = (millis(share.span), named(&share), doubt(&share));
            let _ = write!(out, "{comma} {span} {cause}{doubt}");
            comma = ",";
        }
        if let Some(tunnel) = tunnels.opened_by(exchange) {
            let _ = write!(out, "; {tunnel}");
        }
        out.push('\n');
    }
    out
}

fn servers(explained: &Explained) -> String {
    let servers = Server::all(&explained.analysis);
    let mut out = String::new();
    if !servers.is_empty() {
        out += "\nServers:\n\n";
    }
    for server in servers.iter().take(MOST_SERVERS) {
        let connections = counted(server.connections, "connection");
        let _ = writeln!(out, "- {}, {connections}: {}", server.address, facts(server).join("; "));
    }
    out
}
