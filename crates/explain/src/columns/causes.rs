//! For data frames: a row for what each exchange owes to each cause.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult},
    attribution::{Confidence, Share},
};
use ackwise_cause::Party;
use ackwise_report::columns::Column;
use ackwise_tcp::Instant;

use super::millis;
use crate::{failures::Failure, reading::Explained};

/// What every exchange owes to every cause, and what failed.
///
/// Times are milliseconds but for `start`, seconds since the first packet. Rows of one exchange have the
/// same `exchange`, which counts from 0 in the order in which they began, and their `ms` add up to its
/// `duration_ms`. An attempt to connect in vain has a row without `exchange` and `cause`.
#[must_use]
pub fn causes(explained: &Explained) -> Vec<Column> {
    let analysis = &explained.analysis;
    let connections: BTreeMap<u32, &ConnectionResult> =
        analysis.connections.iter().map(|it| (it.id, it)).collect();
    let failures = Failure::all(analysis);
    let rows = Row::all(analysis, &failures);
    let integers =
        |name, value: fn(&Row<'_>) -> Option<i64>| Column::integers(name, rows.iter().map(value));
    let numbers =
        |name, value: fn(&Row<'_>) -> Option<f64>| Column::numbers(name, rows.iter().map(value));
    let texts = |name, value: for<'r> fn(&'r Row<'_>) -> Option<&'r str>| {
        Column::texts(name, rows.iter().map(|row| value(row)))
    };
    let end = |name, value: fn(&ConnectionResult) -> SocketAddr| {
        let of = |row: &Row<'_>| Some(value(connections.get(&row.connection)?).to_string());
        Column::texts(name, rows.iter().map(of))
    };
    let start = |row: &Row<'_>| Some(row.start()?.saturating_since(analysis.first).as_secs_f64());
    vec![
        integers("exchange", |row| i64::try_from(row.exchange?.0).ok()),
        integers("connection", |row| Some(row.connection.into())),
        end("client", |it| it.client),
        end("server", |it| it.server),
        integers("stream", |row| Some(row.exchange?.1.stream.into())),
        Column::numbers("start", rows.iter().map(start)),
        numbers("duration_ms", |row| row.duration().map(millis)),
        texts("request", |row| row.exchange?.1.request.as_deref()),
        integers("status", |row| row.exchange?.1.status.map(Into::into)),
        integers("grpc_status", |row| row.exchange?.1.grpc_status.map(|it| it.0.into())),
        texts("outcome", |row| row.outcome()),
        texts("failure", |row| Some(row.failure?.kind.name())),
        texts("cause", |row| Some(row.share?.cause.name())),
        texts("direction", |row| Some(row.share?.direction.name())),
        texts("party", |row| row.party().map(Party::name)),
        numbers("ms", |row| Some(millis(row.share?.span))),
        integers("times", |row| Some(row.share?.times.into())),
        numbers("longest_ms", |row| Some(millis(row.share?.longest))),
        texts("confidence", |row| Some(row.confidence()?.name())),
    ]
}

/// A share of the time of an exchange, or an attempt to connect in vain.
struct Row<'a> {
    exchange: Option<(usize, &'a ExchangeResult)>,
    connection: u32,
    failure: Option<&'a Failure>,
    share: Option<Share>,
}

impl<'a> Row<'a> {
    /// Exchanges first.
    fn all(analysis: &'a Analysis, failures: &'a [Failure]) -> Vec<Self> {
        let failed = |it: &'a Failure| Some((it.exchange?, it));
        let failed: BTreeMap<_, _> = failures.iter().filter_map(failed).collect();
        let exchanges = analysis.exchanges.iter().enumerate();
        let of_exchanges =
            exchanges.flat_map(|it| Self::of_exchange(it, failed.get(&it.0).copied()));
        let attempts = failures.iter().filter(|it| it.exchange.is_none());
        of_exchanges.chain(attempts.map(Self::of_attempt)).collect()
    }

    /// One for each share, and one for a failure that took no time.
    fn of_exchange(
        exchange: (usize, &'a ExchangeResult),
        failure: Option<&'a Failure>,
    ) -> impl Iterator<Item = Self> {
        let connection = exchange.1.connection;
        let row = move |share| Self { exchange: Some(exchange), connection, failure, share };
        let shares = exchange.1.shares.iter().map(Some);
        let none = failure.filter(|_| exchange.1.shares.iter().next().is_none()).map(|_| None);
        shares.chain(none).map(row)
    }

    const fn of_attempt(failure: &'a Failure) -> Self {
        let connection = failure.connection;
        Self { exchange: None, connection, failure: Some(failure), share: None }
    }
}

impl Row<'_> {
    fn start(&self) -> Option<Instant> {
        self.exchange.map(|it| it.1.start).or_else(|| Some(self.failure?.at))
    }

    fn duration(&self) -> Option<Duration> {
        self.exchange.map(|it| it.1.duration).or_else(|| Some(self.failure?.span))
    }

    /// How the exchange ended, or the attempt.
    fn outcome(&self) -> Option<&'static str> {
        match self.exchange {
            Some((_, it)) => it.ending.map(|it| it.outcome.name()),
            None => self.failure.map(|it| it.outcome),
        }
    }

    /// Who can change it.
    fn party(&self) -> Option<Party> {
        match self.share {
            Some(share) => share.cause.party(share.direction),
            None => self.failure?.party,
        }
    }

    fn confidence(&self) -> Option<Confidence> {
        self.share.map(|it| it.confidence).or_else(|| Some(self.failure?.confidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::tests::{Host, Pair};

    #[test]
    fn what_failed_has_a_row_whether_there_is_an_exchange_or_not() {
        let mut host = Host::default();
        host.exchange(Pair(1_000, "10.0.0.2:80"), 0);
        host.cross(Pair(1_000, "10.0.0.2:80"), 5_000);
        host.refuse(Pair(1_001, "10.0.0.2:81"), 6_000);
        let analysis = host.finish();
        let failures = Failure::all(&analysis);
        let said = |it: &Row<'_>| {
            (it.exchange.map(|it| it.0), it.outcome(), it.failure.map(|it| it.kind.name()))
        };
        let mut rows: Vec<_> = Row::all(&analysis, &failures).iter().map(said).collect();
        // One for each cause.
        rows.dedup();
        assert_eq!(
            rows,
            [
                (Some(0), Some("answered"), None),
                (Some(1), Some("closed-unanswered"), Some("close-race")),
                (None, Some("connect-refused"), Some("connect-refused")),
            ]
        );
    }
}
