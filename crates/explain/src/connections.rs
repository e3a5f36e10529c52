//! The table of connections: how long, how much, how far, and what went wrong.

use std::{fmt::Write as _, time::Duration};

use ackwise_capture::{
    analysis::{AdvertisedWindows, Analysis, ConnectionResult, RoundTripTimes, TimeWaitRule},
    attribution::Confidence,
    conversation::Protocol,
};
use ackwise_cause::Party;
use ackwise_report::{Cell, HtmlTable};
use ackwise_tcp::TimeWaitHolder;
use ackwise_text::{
    layout,
    words::{counted, grouped, span},
};

use super::pacing;

/// From the first packet to the last.
pub(super) fn duration(it: &ConnectionResult) -> Duration {
    it.last_seen.saturating_since(it.first_seen)
}

/// Connections shown: the first ones of the capture (our choice; JSON has all).
const MOST_CONNECTIONS: usize = 1_000;

/// Said below each table.
const ABOUT: &str = "Round trips are from the capture point to that end and back, delays of ACKs \
                     included: minimum / median / 95th percentile (number of samples).";

/// The table as text: two lines or three for each connection.
pub(super) fn text(analysis: &Analysis, width: usize) -> String {
    let all = &analysis.connections;
    let mut out = format!(
        "\nConnections: {}\n  {:>4}  {:10} {:>9} {:>12} {:>11} {:>11}  {:12} {:18} client > server\n",
        grouped(all.len() as u64),
        "id",
        "protocol",
        "exchanges",
        "duration",
        "to server",
        "to client",
        "closed first",
        "quality",
    );
    for it in all.iter().take(MOST_CONNECTIONS) {
        let [to_server, to_client] = it.bytes.map(size);
        let _ = writeln!(
            out,
            "  {:>4}  {:10} {:>9} {:>12} {to_server:>11} {to_client:>11}  {:12} {:18} {} > {}",
            it.id,
            it.protocol.map_or("-", Protocol::name),
            grouped(it.exchanges.into()),
            span(duration(it)),
            closed(it),
            quality(it),
            it.client,
            it.server,
        );
        for line in facts(it) {
            let _ = writeln!(out, "        {line}");
        }
    }
    let about = format!("{ABOUT}{}", omitted(analysis));
    let _ = writeln!(out, "{}", layout::block(&about, 0, width));
    out
}

/// What was measured of a connection, in words.
fn facts(it: &ConnectionResult) -> Vec<String> {
    let measures = it.measures();
    let mut facts = Vec::new();
    let [server, client] = measures.round_trips.map(|times| times.as_ref().map(round_trips));
    let trips: Vec<_> = [("server", server), ("client", client)]
        .into_iter()
        .filter_map(|(end, times)| Some(format!("to the {end} {}", times?)))
        .collect();
    if !trips.is_empty() {
        facts.push(format!("round trip {}", trips.join(", ")));
    }
    let [client, server] = measures.windows.map(|windows| windows.as_ref().map(window));
    let mut rest: Vec<_> = [("client", client), ("server", server)]
        .into_iter()
        .filter_map(|(end, windows)| Some(format!("{end}'s window {}", windows?)))
        .collect();
    for (what, counts) in [("retransmitted", it.repeated), ("reordered", measures.reordered)] {
        if counts != [0, 0] {
            rest.push(format!("{what} {}", both(counts)));
        }
    }
    if !rest.is_empty() {
        facts.push(rest.join("; "));
    }
    facts.extend(paced(it));
    facts.extend(papers(it));
    facts
}

/// What the connection shows of pacing, at either end.
fn paced(it: &ConnectionResult) -> Vec<String> {
    let ends = ["client", "server"].into_iter().zip(&it.pacing);
    ends.filter_map(|(end, pacing)| Some(pacing::of_end(end, pacing.as_deref()?)))
        .flatten()
        .collect()
}

/// What the papers' three mechanisms had to do with it: negotiated or swapped TIME-WAIT, CLIENT_CLOSE, GETWEB.
fn papers(it: &ConnectionResult) -> Option<String> {
    let mut parts = Vec::new();
    let ordinary = matches!(it.time_wait_rule, None | Some(TimeWaitRule::ClosedFirst));
    if !ordinary {
        parts.push(format!("TIME-WAIT: {}", time_wait(it)));
    }
    let [client, server] = it.closing.offers;
    if client.is_some() || server.is_some() {
        let [client, server] = [client, server].map(offer);
        parts.push(format!("TIME-WAIT option: {client} in the SYN, {server} in the SYN-ACK"));
    }
    if it.closing.client_close && it.time_wait_rule != Some(TimeWaitRule::ClientClose) {
        parts.push("the client sent CLIENT_CLOSE".to_owned());
    }
    if it.closing.getwebs > 0 {
        parts.push(counted(it.closing.getwebs.into(), "GETWEB request"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Who held TIME-WAIT, and by which rule if not for closing first.
fn time_wait(it: &ConnectionResult) -> String {
    let Some((end, rule)) = it.time_wait.zip(it.time_wait_rule) else { return "-".to_owned() };
    let end = end.name();
    match rule {
        TimeWaitRule::ClientClose => format!("{end} (CLIENT_CLOSE)"),
        TimeWaitRule::Swap => format!("{end} (took it over by RST)"),
        TimeWaitRule::Negotiated => format!("{end} (agreed in the SYNs)"),
        _ => end.to_owned(),
    }
}

/// The value of the TIME-WAIT option, as on the wire (docs/time-wait.md).
pub(super) const fn offer(holder: Option<TimeWaitHolder>) -> &'static str {
    match holder {
        Some(TimeWaitHolder::Mine) => "mine",
        Some(TimeWaitHolder::Yours) => "yours",
        None => "none",
    }
}

/// The table as Markdown.
pub(super) fn markdown(analysis: &Analysis) -> String {
    let rule = "--- | ".repeat(COLUMNS.len() - 1);
    let mut out = format!("\nConnections:\n\n| {} |\n| {rule}--- |\n", COLUMNS.join(" | "));
    for it in analysis.connections.iter().take(MOST_CONNECTIONS) {
        let _ = writeln!(out, "| {} |", cells(it).join(" | "));
    }
    let _ = writeln!(out, "\n{ABOUT}{}", omitted(analysis));
    out
}

/// The table of a page, and what to say below it.
pub(super) fn html(analysis: &Analysis) -> (HtmlTable, String) {
    let caption = counted(analysis.connections.len() as u64, "connection");
    let mut table = HtmlTable::new(caption, COLUMNS);
    for it in analysis.connections.iter().take(MOST_CONNECTIONS) {
        table.add(cells(it).map(Cell::text));
    }
    (table, format!("{ABOUT}{}", omitted(analysis)))
}

const COLUMNS: [&str; 18] = [
    "id",
    "client",
    "server",
    "protocol",
    "exchanges",
    "duration",
    "bytes to server",
    "bytes to client",
    "round trip to server",
    "round trip to client",
    "retransmitted",
    "reordered",
    "client's window",
    "server's window",
    "pacing",
    "closed first",
    "TIME-WAIT",
    "quality",
];

fn cells(it: &ConnectionResult) -> [String; 18] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let [server, client] =
        it.measures().round_trips.map(|it| or_dash(it.as_ref().map(round_trips)));
    let [clients, servers] = it.measures().windows.map(|it| or_dash(it.as_ref().map(window)));
    let [to_server, to_client] = it.bytes.map(grouped);
    [
        it.id.to_string(),
        it.client.to_string(),
        it.server.to_string(),
        it.protocol.map_or("-", Protocol::name).to_owned(),
        grouped(it.exchanges.into()),
        span(duration(it)),
        to_server,
        to_client,
        server,
        client,
        both(it.repeated),
        both(it.measures().reordered),
        clients,
        servers,
        or_dash(Some(paced(it).join("; ")).filter(|it| !it.is_empty())),
        closed(it),
        time_wait(it),
        quality(it),
    ]
}

/// `40.1 / 40.3 / 44.0 ms (58)`.
fn round_trips(times: &RoundTripTimes) -> String {
    let [least, median, p95] = [times.least(), times.median(), times.p95()].map(short_millis);
    format!("{least} / {median} / {p95} ms ({})", grouped(times.samples().into()))
}

/// Milliseconds with three digits, or to the microsecond.
fn short_millis(span: Duration) -> String {
    let millis = span.as_secs_f64() * 1e3;
    let decimals = match millis {
        ..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{millis:.decimals$}")
}

/// `64,240 to 131,072 bytes, zero 2 times`.
fn window(windows: &AdvertisedWindows) -> String {
    let [smallest, largest] = [windows.smallest, windows.largest].map(|it| grouped(it.into()));
    let zero = match windows.closed {
        0 => String::new(),
        times => format!(", zero {}", counted(times.into(), "time")),
    };
    match smallest == largest {
        true => format!("{largest} bytes{zero}"),
        false => format!("{smallest} to {largest} bytes{zero}"),
    }
}

/// `2 to server, 3 to client`, or `0`.
fn both([to_server, to_client]: [u32; 2]) -> String {
    let [server, client] = [to_server, to_client].map(|count| grouped(count.into()));
    match (to_server, to_client) {
        (0, 0) => "0".to_owned(),
        (_, 0) => format!("{server} to server"),
        (0, _) => format!("{client} to client"),
        _ => format!("{server} to server, {client} to client"),
    }
}

/// The end that sent the first FIN or RST.
fn closed(it: &ConnectionResult) -> String {
    let first = it.closed_first.map_or("open", Party::name);
    format!("{first}{}", if it.reset { " (RST)" } else { "" })
}

/// The highest confidence of a verdict, and what is missing.
fn quality(it: &ConnectionResult) -> String {
    let limit = it.quality.confidence().map_or("one direction", Confidence::name);
    match it.quality.missing_packets() {
        0 => limit.to_owned(),
        missing => format!("{limit}, {} missing", grouped(missing)),
    }
}

/// `512 B`, `12.3 kB`.
fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 1e3 {
            break;
        }
        (value, unit) = (value / 1e3, larger);
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

fn omitted(analysis: &Analysis) -> String {
    match analysis.connections.len().saturating_sub(MOST_CONNECTIONS) {
        0 => String::new(),
        more => format!(" {} are not shown.", counted(more as u64, "later connection")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        let sizes = [0, 999, 1_000, 12_345, 3_400_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "12.3 kB", "3.4 MB"]);
        let spans = [24, 1_250, 40_123, 250_400].map(Duration::from_micros).map(short_millis);
        assert_eq!(spans, ["0.024", "1.25", "40.1", "250"]);
        let counts = [[0, 0], [2, 0], [0, 3_000], [1, 1]].map(both);
        assert_eq!(counts, ["0", "2 to server", "3,000 to client", "1 to server, 1 to client"]);
    }
}
