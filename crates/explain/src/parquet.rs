//! The report for data frames: a row for what each exchange owes to each cause.

use std::{collections::BTreeMap, time::Duration};

use ::parquet::errors::Result;
use ackwise_capture::{
    analysis::{ConnectionResult, ExchangeResult},
    attribution::Share,
};
use ackwise_cause::Party;
use ackwise_report::columns::{self, Column};

use super::reading::Explained;

/// What every exchange owes to every cause, as the bytes of a Parquet file.
///
/// Times are milliseconds but for `start`, seconds since the first packet. Rows of one exchange have the
/// same `exchange`, which counts from 0 in the order in which they began, and their `ms` add up to its
/// `duration_ms`.
///
/// # Errors
///
/// If the library refuses, which it has no reason to.
pub fn parquet(explained: &Explained) -> Result<Vec<u8>> {
    let analysis = &explained.analysis;
    let connections: BTreeMap<u32, &ConnectionResult> =
        analysis.connections.iter().map(|it| (it.id, it)).collect();
    let rows: Vec<Row<'_>> = (0_i64..)
        .zip(&analysis.exchanges)
        .flat_map(|(number, exchange)| {
            let connection = connections.get(&exchange.connection).copied();
            exchange.shares.iter().map(move |share| Row { number, exchange, connection, share })
        })
        .collect();
    let integers =
        |name, value: fn(&Row<'_>) -> Option<i64>| Column::integers(name, rows.iter().map(value));
    let numbers = |name, value: fn(&Row<'_>) -> f64| {
        Column::numbers(name, rows.iter().map(|row| Some(value(row))))
    };
    let texts =
        |name, value: fn(&Row<'_>) -> Option<String>| Column::texts(name, rows.iter().map(value));
    let since = |row: &Row<'_>| row.exchange.start.saturating_since(analysis.first).as_secs_f64();
    columns::write(&[
        integers("exchange", |row| Some(row.number)),
        integers("connection", |row| Some(row.exchange.connection.into())),
        texts("client", |row| Some(row.connection?.client.to_string())),
        texts("server", |row| Some(row.connection?.server.to_string())),
        integers("stream", |row| Some(row.exchange.stream.into())),
        Column::numbers("start", rows.iter().map(|row| Some(since(row)))),
        numbers("duration_ms", |row| millis(row.exchange.duration)),
        texts("request", |row| row.exchange.request.as_deref().map(str::to_owned)),
        integers("status", |row| row.exchange.status.map(Into::into)),
        texts("cause", |row| Some(row.share.cause.name().to_owned())),
        texts("direction", |row| Some(row.share.direction.name().to_owned())),
        texts("party", |row| row.party().map(|party| party.name().to_owned())),
        numbers("ms", |row| millis(row.share.span)),
        integers("times", |row| Some(row.share.times.into())),
        numbers("longest_ms", |row| millis(row.share.longest)),
        texts("confidence", |row| Some(row.share.confidence.name().to_owned())),
    ])
}

struct Row<'a> {
    number: i64,
    exchange: &'a ExchangeResult,
    connection: Option<&'a ConnectionResult>,
    share: Share,
}

impl Row<'_> {
    fn party(&self) -> Option<Party> {
        self.share.cause.party(self.share.direction)
    }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
