//! The report as a page.

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult},
    attribution::Share,
    series::{Series, Stretch},
};
use ackwise_cause::Party;
use ackwise_report::{
    Block, Cell, HtmlTable, Page, Span, Timeline, TimelineConnection, TimelineExchange,
    TimelineShare,
};
use ackwise_text::{
    printable,
    words::{counted, grouped, millis, span},
};

use super::{
    arrival::Unarrived,
    connections,
    exchanges::request,
    failures::{self, Failure},
    grpc, hops,
    notes::notes,
    paths,
    quality::CaptureQuality,
    reading::Explained,
    sentence,
    servers::Server,
    shown::{
        LEAST_SHOWN, ReportOptions, Shown, at_or_above, is_visible, sureness, towards,
        without_repetition,
    },
    text::{MOST_SERVERS, facts},
    totals::{Totals, TotalsScope},
    tunnels::TunnelIndex,
};

/// The report as one self-contained HTML page: totals, a waterfall of exchanges, the packets of
/// each connection. `name` says of what.
///
/// Of a capture that was read without [`Reading::with_series`](super::Reading::with_series) there
/// are no packets to draw.
#[must_use]
pub fn html(explained: &Explained, options: &ReportOptions, name: &str) -> String {
    let mut page = Page::new(format!("ackwise explain {}", printable(name)));
    let quality = CaptureQuality::of(explained).to_string();
    let unarrived = Unarrived::sentence(&explained.analysis);
    page.set_preface(
        [Some(quality), unarrived].into_iter().flatten().collect::<Vec<_>>().join(" "),
    );
    let totals = without_repetition(options.totals(explained));
    let failures = Failure::all(&explained.analysis);
    let sentences = sentence::of_totals(&explained.analysis, &totals[0].totals, &failures);
    for line in sentences.lines() {
        page.add_lead(line);
    }
    if let Some(table) = failures::table(&failures) {
        page.add_section("Failures", [Block::Table(table)]);
    }
    if let Some(table) = hops::table(&explained.analysis) {
        page.add_section("Proxies", [Block::Table(table)]);
    }
    page.add_section("Where the time went", totals.iter().map(|it| Block::Table(table(it))));
    if options.by_path {
        let (table, about) = paths::html(&explained.analysis, &failures);
        page.add_section("By path", [Block::Table(table), Block::Text(about)]);
    }
    if options.connections {
        let (table, about) = connections::html(&explained.analysis);
        page.add_section("Connections", [Block::Table(table), Block::Text(about)]);
    }
    page.add_section("Exchanges and packets", timeline(&explained.analysis));
    let servers = Server::all(&explained.analysis);
    if !servers.is_empty() {
        page.add_section("Servers", [Block::Table(servers_table(&servers))]);
    }
    let notes = notes(explained);
    if !notes.is_empty() {
        page.add_section("Limits of this report", notes.into_iter().map(Block::Text));
    }
    page.render()
}

/// What all exchanges owe to each cause.
#[must_use]
pub fn totals_table(analysis: &Analysis) -> HtmlTable {
    let totals = Totals::of(analysis, TotalsScope::All);
    table(&Shown { totals, percentiles: String::new() })
}

fn table(Shown { totals, percentiles }: &Shown) -> HtmlTable {
    let which = match totals.scope {
        TotalsScope::All => "All".to_owned(),
        TotalsScope::Percentile(_) => {
            format!("{}:", at_or_above(percentiles, totals))
        }
        TotalsScope::Slower(limit) => format!("Exchanges slower than {}:", millis(limit)),
    };
    let caption =
        format!("{which} {}, {}", counted(totals.exchanges as u64, "exchange"), span(totals.span));
    let columns = ["cause", "data", "share", "time", "due to", "count", "exchanges", "confidence"];
    let mut table = HtmlTable::new(caption, columns);
    let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    for total in totals.causes.iter().filter(|it| is_visible(it.span)) {
        let share = total.span.as_secs_f64() / all;
        if share * 100.0 < LEAST_SHOWN && !matches!(totals.scope, TotalsScope::All) {
            continue;
        }
        table.add([
            Cell::Cause(total.cause),
            Cell::text(towards(total.direction)),
            Cell::Share(share, total.cause),
            Cell::number(span(total.span)),
            Cell::text(total.party().map_or("-", Party::name)),
            Cell::number(grouped(total.times)),
            Cell::number(grouped(total.exchanges as u64)),
            Cell::text(sureness(total)),
        ]);
    }
    table
}

fn servers_table(servers: &[Server]) -> HtmlTable {
    let caption = match servers.len().saturating_sub(MOST_SERVERS) {
        0 => "Connections by server".to_owned(),
        more => format!("Connections by server; {more} with fewer connections are not shown"),
    };
    let columns = ["server", "connections", "observations"];
    let mut table = HtmlTable::new(caption, columns);
    for server in servers.iter().take(MOST_SERVERS) {
        table.add([
            Cell::text(server.address.to_string()),
            Cell::number(grouped(server.connections)),
            Cell::prose(format!(
                "{}; {}",
                counted(server.exchanges, "exchange"),
                facts(server).join("; ")
            )),
        ]);
    }
    table
}

/// What can be drawn, and in words what cannot.
#[must_use]
pub fn timeline(analysis: &Analysis) -> Vec<Block> {
    let tunnels = TunnelIndex::of(analysis);
    let mut exchanges: Vec<(u64, &ExchangeResult)> = (0..).zip(&analysis.exchanges).collect();
    let dropped = Timeline::keep_slowest(&mut exchanges, |(_, it)| it.duration);
    let drawn = exchanges.into_iter().map(|(number, it)| exchange(number, it, &tunnels));
    let timeline = Timeline {
        first: analysis.first,
        connections: analysis.connections.iter().map(connection).collect(),
        exchanges: drawn.collect(),
    };
    let mut blocks = vec![Block::Timeline(Box::new(timeline))];
    if dropped > 0 {
        let which = format!("Only the slowest exchanges are shown; {dropped} are omitted.");
        blocks.push(Block::Text(which));
    }
    let series = analysis.connections.iter().filter_map(|it| it.series.as_deref());
    let left_out: u64 = series.map(Series::left_out).sum();
    if left_out > 0 {
        blocks.push(Block::Text(format!(
            "{left_out} segments are not drawn: the report keeps a limited number. A capture of \
             fewer connections shows all of them."
        )));
    }
    blocks
}

fn connection(it: &ConnectionResult) -> TimelineConnection {
    TimelineConnection { name: format!("{} > {}", it.client, it.server), series: it.series.clone() }
}

fn exchange(number: u64, it: &ExchangeResult, tunnels: &TunnelIndex<'_>) -> TimelineExchange {
    let request = request(it);
    let mut label = match request.char_indices().nth(MOST_LABEL) {
        None => format!("{number}: {request}"),
        Some((end, _)) => format!("{number}: {}…", &request[..end]),
    };
    label += &grpc::statuses(it);
    if !it.complete {
        label += " (incomplete response)";
    }
    if let Some(tunnel) = tunnels.opened_by(it) {
        label += &format!(" ({tunnel})");
    }
    TimelineExchange {
        connection: it.connection as usize,
        label,
        start: it.start,
        duration: it.duration,
        packet: it.packet,
        shares: it.shares.iter().map(share).collect(),
        spans: it.stretches.iter().map(drawn).collect(),
    }
}

/// Characters of a request that a page shows: a browser's row has room for fewer. Our choice.
const MOST_LABEL: usize = 256;

fn share(it: Share) -> TimelineShare {
    let Share { cause, direction, span, confidence, rival, .. } = it;
    TimelineShare { cause, direction, span, confidence, rival }
}

fn drawn(it: &Stretch) -> Span {
    let mut packets = [0; 3];
    for (place, packet) in packets.iter_mut().zip(it.evidence.packets()) {
        *place = packet;
    }
    Span {
        from: it.from,
        until: it.until,
        cause: it.cause,
        direction: it.direction,
        confidence: it.confidence,
        rival: it.rival,
        packets,
    }
}
