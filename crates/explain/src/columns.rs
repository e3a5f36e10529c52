//! The report for data frames: tables whose columns have the names and the units of the JSON document.
//!
//! Two values by direction are two columns, `…_to_server` and `…_to_client`. Lists and tables within a row are left to
//! JSON, except what each exchange owes to each cause: [`causes()`] has a row for each.

mod causes;

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::{
    analysis::{ConnectionResult, ExchangeResult},
    attribution::Confidence,
};
use ackwise_cause::{Cause, GrpcStatus, Party};
use ackwise_report::columns::Column;

pub use causes::causes;

use super::{
    clock_time::utc,
    connections,
    failures::Failure,
    reading::Explained,
    shown::ReportOptions,
    totals::{Total, Totals},
};

/// All exchanges, with the cause that took most of each.
#[must_use]
pub fn exchanges(explained: &Explained) -> Vec<Column> {
    let analysis = &explained.analysis;
    let rows = &analysis.exchanges;
    let ends: BTreeMap<u32, &ConnectionResult> =
        analysis.connections.iter().map(|it| (it.id, it)).collect();
    let integers = |name, value: fn(&ExchangeResult) -> Option<i64>| {
        Column::integers(name, rows.iter().map(value))
    };
    let numbers = |name, value: fn(&ExchangeResult) -> Option<f64>| {
        Column::numbers(name, rows.iter().map(value))
    };
    let flags = |name, value: fn(&ExchangeResult) -> bool| {
        Column::flags(name, rows.iter().map(|it| Some(value(it))))
    };
    let end = |name, value: fn(&ConnectionResult) -> String| {
        Column::texts(name, rows.iter().map(|it| Some(value(ends.get(&it.connection)?))))
    };
    let start = |it: &ExchangeResult| Some(it.start.saturating_since(analysis.first).as_secs_f64());
    vec![
        Column::integers("id", (0..).take(rows.len()).map(Some)),
        integers("connection", |it| Some(it.connection.into())),
        end("client", |it| it.client.to_string()),
        end("server", |it| it.server.to_string()),
        integers("stream", |it| Some(it.stream.into())),
        Column::numbers("start", rows.iter().map(start)),
        Column::texts("start_time", rows.iter().map(|it| Some(utc(it.start)))),
        numbers("duration_ms", |it| Some(millis(it.duration))),
        numbers("acknowledged_after_ms", |it| it.acknowledged_after().map(millis)),
        Column::texts("request", rows.iter().map(|it| it.request.as_deref())),
        integers("status", |it| it.status.map(Into::into)),
        integers("grpc_status", |it| it.grpc_status.map(|it| it.0.into())),
        integers("request_bytes", |it| whole(it.bytes[0])),
        integers("response_bytes", |it| whole(it.bytes[1])),
        flags("complete", |it| it.complete),
        Column::texts("outcome", rows.iter().map(|it| it.ending.map(|it| it.outcome.name()))),
        flags("exact", |it| it.exact),
        integers("packet", |it| whole(it.packet)),
        Column::texts("cause", rows.iter().map(|it| Some(largest(it)?.0.name()))),
        numbers("cause_ms", |it| Some(millis(largest(it)?.1))),
    ]
}

/// The cause that took most of an exchange, in both directions together.
fn largest(exchange: &ExchangeResult) -> Option<(Cause, Duration)> {
    let owed = exchange.shares.iter().map(|it| (it.cause, exchange.owed_to(it.cause)));
    owed.max_by_key(|it| it.1)
}

/// All connections.
#[must_use]
pub fn connections(explained: &Explained) -> Vec<Column> {
    let analysis = &explained.analysis;
    let rows = &analysis.connections;
    let integers = |name, value: fn(&ConnectionResult) -> Option<i64>| {
        Column::integers(name, rows.iter().map(value))
    };
    let numbers = |name, value: fn(&ConnectionResult) -> Option<f64>| {
        Column::numbers(name, rows.iter().map(value))
    };
    let texts = |name, value: fn(&ConnectionResult) -> Option<&'static str>| {
        Column::texts(name, rows.iter().map(value))
    };
    let start =
        |it: &ConnectionResult| Some(it.first_seen.saturating_since(analysis.first).as_secs_f64());
    vec![
        integers("id", |it| Some(it.id.into())),
        Column::texts("client", rows.iter().map(|it| Some(it.client.to_string()))),
        Column::texts("server", rows.iter().map(|it| Some(it.server.to_string()))),
        texts("protocol", |it| it.protocol.map(|it| it.name())),
        integers("exchanges", |it| Some(it.exchanges.into())),
        Column::numbers("start", rows.iter().map(start)),
        Column::texts("start_time", rows.iter().map(|it| Some(utc(it.first_seen)))),
        numbers("duration_ms", |it| Some(millis(connections::duration(it)))),
        integers("bytes_to_server", |it| whole(it.bytes[0])),
        integers("bytes_to_client", |it| whole(it.bytes[1])),
        texts("closed_first", |it| it.closed_first.map(Party::name)),
        texts("time_wait", |it| it.time_wait.map(Party::name)),
        Column::flags("reset", rows.iter().map(|it| Some(it.reset))),
        integers("initial_window_segments", |it| it.initial_window.map(Into::into)),
        numbers("delayed_ack_ms", |it| it.delayed_ack.map(millis)),
        texts("vantage", |it| Some(it.vantage.name())),
        numbers("round_trip_ms", |it| Some(millis(it.round_trip))),
        integers("retransmitted_to_server", |it| Some(it.repeated[0].into())),
        integers("retransmitted_to_client", |it| Some(it.repeated[1].into())),
        integers("reordered_to_server", |it| Some(it.measures().reordered[0].into())),
        integers("reordered_to_client", |it| Some(it.measures().reordered[1].into())),
        integers("lost_by_capture", |it| whole(it.quality.missing_packets())),
        texts("confidence", |it| it.quality.confidence().map(Confidence::name)),
    ]
}

/// Requests without an answer, and attempts to connect that brought no connection, in order of time.
#[must_use]
pub fn failures(explained: &Explained) -> Vec<Column> {
    let analysis = &explained.analysis;
    let rows = Failure::all(analysis);
    let integers =
        |name, value: fn(&Failure) -> Option<i64>| Column::integers(name, rows.iter().map(value));
    let numbers =
        |name, value: fn(&Failure) -> Option<f64>| Column::numbers(name, rows.iter().map(value));
    let texts = |name, value: fn(&Failure) -> Option<&'static str>| {
        Column::texts(name, rows.iter().map(value))
    };
    let at = |it: &Failure| Some(it.at.saturating_since(analysis.first).as_secs_f64());
    vec![
        texts("kind", |it| Some(it.kind.name())),
        texts("outcome", |it| Some(it.outcome)),
        integers("exchange", |it| i64::try_from(it.exchange?).ok()),
        integers("connection", |it| Some(it.connection.into())),
        Column::texts("server", rows.iter().map(|it| Some(it.server.to_string()))),
        Column::numbers("at", rows.iter().map(at)),
        numbers("ms", |it| Some(millis(it.span))),
        numbers("ms_at_most", |it| it.at_most.map(millis)),
        texts("party", |it| it.party.map(Party::name)),
        texts("ended_by", |it| it.ended_by.map(Party::name)),
        texts("confidence", |it| Some(it.confidence.name())),
        texts("rival", |it| it.rival),
        integers("packet", |it| whole(it.packet?)),
        texts("grpc_status", |it| it.grpc_status.and_then(GrpcStatus::name)),
        texts("alert", |it| it.alert.and_then(|it| it.name())),
        integers("recovered_by", |it| i64::try_from(it.recovered_by?).ok()),
        integers("made_for", |it| i64::try_from(it.made_for?).ok()),
    ]
}

/// Time by cause: sums over all exchanges, and over the slowest ones.
#[must_use]
pub fn totals(explained: &Explained, options: &ReportOptions) -> Vec<Column> {
    let all = options.totals(explained);
    let rows: Vec<_> =
        all.iter().flat_map(|of| of.causes.iter().map(move |total| (of, total))).collect();
    let integers = |name, value: fn(&(&Totals, &Total)) -> Option<i64>| {
        Column::integers(name, rows.iter().map(value))
    };
    let texts = |name, value: fn(&(&Totals, &Total)) -> Option<&'static str>| {
        Column::texts(name, rows.iter().map(value))
    };
    vec![
        Column::texts("over", rows.iter().map(|it| Some(it.0.scope.name()))),
        integers("of_exchanges", |it| i64::try_from(it.0.exchanges).ok()),
        texts("cause", |it| Some(it.1.cause.name())),
        integers("exchanges", |it| i64::try_from(it.1.exchanges).ok()),
        integers("times", |it| whole(it.1.times)),
        texts("direction", |it| Some(it.1.direction.name())),
        texts("party", |it| it.1.party().map(Party::name)),
        Column::numbers("ms", rows.iter().map(|it| Some(millis(it.1.span)))),
        texts("confidence", |it| Some(it.1.confidence.name())),
        texts("rival", |it| it.1.rival.map(Cause::name)),
    ]
}

fn whole(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
