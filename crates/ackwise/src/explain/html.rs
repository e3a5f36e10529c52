//! The report as a page.

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult},
    series::{Series, Stretch},
};
use ackwise_http::cause::{Direction, Party};

use super::{
    reading::Explained,
    sentence::sentence,
    text::{LEAST_SHOWN, Shown, millis, span},
    totals::{Over, Totals},
};
use crate::{
    check::report::printable,
    report::{Block, Cell, Connection, Exchange, Page, Span, Table, Timeline},
};

/// The report as one self-contained HTML page: totals, a waterfall of exchanges, the packets of
/// each connection. `name` says of what.
///
/// Of a capture that was read without [`Reading::with_series`](super::Reading::with_series) there
/// are no packets to draw.
#[must_use]
pub fn html(explained: &Explained, shown: &Shown, name: &str) -> String {
    let mut page = Page::new(format!("ackwise explain {name}"));
    for line in sentence(&explained.analysis).lines() {
        page.add_lead(line);
    }
    let totals = shown.totals(explained);
    page.add_section("Where the time went", totals.iter().map(|it| Block::Table(table(it))));
    let (timeline, notes) = timeline(&explained.analysis);
    let notes = notes.into_iter().chain(doubts(explained)).map(Block::Text);
    let timeline = Block::Timeline(Box::new(timeline));
    page.add_section("Exchanges and packets", std::iter::once(timeline).chain(notes));
    page.render()
}

fn table(totals: &Totals) -> Table {
    let which = match totals.over {
        Over::All => "All".to_owned(),
        Over::Percentile(percent) => {
            format!("The slowest {} % (from {} on):", 100 - percent, millis(totals.shortest))
        }
        Over::Slower(limit) => format!("Slower than {}:", millis(limit)),
    };
    let caption = format!("{which} {} exchanges, {}", totals.exchanges, span(totals.span));
    let columns = ["cause", "data", "share", "time", "who has to change", "times", "exchanges"];
    let mut table = Table::new(caption, columns);
    let all = totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    for total in &totals.causes {
        let share = total.span.as_secs_f64() / all;
        if share * 100.0 < LEAST_SHOWN && !matches!(totals.over, Over::All) {
            continue;
        }
        table.add([
            Cell::Cause(total.cause),
            Cell::text(match total.direction {
                Direction::ToServer => "to server",
                Direction::ToClient => "to client",
            }),
            Cell::Share(share, total.cause),
            Cell::number(span(total.span)),
            Cell::text(total.party().map_or("-", Party::name)),
            Cell::number(total.times.to_string()),
            Cell::number(total.exchanges.to_string()),
        ]);
    }
    table
}

/// What can be drawn, and in words what cannot.
fn timeline(analysis: &Analysis) -> (Timeline, Vec<String>) {
    let mut timeline = Timeline {
        first: analysis.first,
        connections: analysis.connections.iter().map(connection).collect(),
        exchanges: analysis.exchanges.iter().map(exchange).collect(),
    };
    let mut notes = Vec::new();
    let dropped = timeline.keep_slowest();
    if dropped > 0 {
        notes.push(format!("{dropped} exchanges are not shown: these are the slowest."));
    }
    let series = analysis.connections.iter().filter_map(|it| it.series.as_deref());
    let left_out: u64 = series.map(Series::left_out).sum();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} segments are not drawn: what is kept of a capture is bounded. A capture of \
             fewer connections shows all of each."
        ));
    }
    (timeline, notes)
}

fn connection(it: &ConnectionResult) -> Connection {
    Connection { name: format!("{} > {}", it.client, it.server), series: it.series.clone() }
}

fn exchange(it: &ExchangeResult) -> Exchange {
    let mut label = printable(it.request.as_deref().unwrap_or("exchange")).to_string();
    if let Some(status) = it.status {
        label += &format!(" {status}");
    }
    if !it.complete {
        label += " (not answered completely)";
    }
    Exchange {
        connection: it.connection as usize,
        label,
        start: it.start,
        duration: it.duration,
        packet: it.packet,
        shares: it.shares.iter().map(|it| (it.cause, it.direction, it.span)).collect(),
        spans: it.stretches.iter().map(drawn).collect(),
    }
}

fn drawn(it: &Stretch) -> Span {
    let mut packets = [0; 3];
    for (place, packet) in packets.iter_mut().zip(it.evidence.packets()) {
        *place = packet;
    }
    Span { from: it.from, until: it.until, cause: it.cause, direction: it.direction, packets }
}

fn doubts(explained: &Explained) -> Vec<String> {
    let mut doubts: Vec<String> =
        explained.troubles.iter().map(|it| printable(it).to_string()).collect();
    let lost = explained.drops.packets();
    if lost > 0 {
        doubts.push(format!("The capture itself lost {lost} packets."));
    }
    let left_out = &explained.left_out;
    if left_out.total() > 0 {
        let reasons: Vec<String> = left_out
            .iter()
            .filter(|it| it.1 > 0)
            .map(|(why, count)| format!("{count} {}", why.as_str()))
            .collect();
        let packets = explained.packets;
        doubts.push(format!("Left out of {packets} packets: {}.", reasons.join(", ")));
    }
    doubts
}
