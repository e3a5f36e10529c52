//! How long an exchange that failed took.

use std::time::Duration;

use ackwise_capture::analysis::{ConnectionResult, Ending, ExchangeResult};
use ackwise_cause::{FailureKind as Kind, Party};
use ackwise_tcp::Instant;

use super::attempts::Attempts;

/// What an exchange that failed is proved to have taken, and the most that it can have.
pub(super) fn time_of(
    attempts: &Attempts,
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
    ending: Ending,
    kind: Kind,
) -> (Duration, Option<Duration>) {
    let since = |at: Instant| at.saturating_since(exchange.start);
    let next_after =
        |proved: Duration| attempts.next(connection, exchange.start + proved).map(since);
    let next = || next_after(Duration::ZERO);
    match kind {
        // Its FIN is there: whoever reads, knows at once.
        Kind::IgnoredClose => {
            let end = exchange.duration;
            (Duration::ZERO, Some(next().map_or(end, |next| next.min(end))))
        }
        // What the client sends meets the RST, after a FIN perhaps.
        Kind::EarlyResponseReset => {
            let reset = connection.last_seen;
            (since(connection.server_closed.unwrap_or(reset)), Some(since(reset)))
        }
        // A kernel goes on for a program that has given up.
        Kind::AcceptQueueFull => {
            let proved = connection.opening_ignored.map_or(exchange.duration, since);
            let end = connection.client_closed.map_or(exchange.duration, since);
            (proved, Some(next_after(proved).map_or(end, |next| next.min(end))))
        }
        _ if ending.sent_again.is_some() => {
            let proved = ending.sent_again.map_or(exchange.duration, since);
            (proved, next_after(proved))
        }
        _ if ending.by == Some(Party::Client) || kind == Kind::PathMtuBlackHole => {
            let closed = connection.client_closed.map(since).filter(|it| !it.is_zero());
            (closed.map_or(exchange.duration, |it| it.min(exchange.duration)), None)
        }
        _ => {
            let next = kind.ends_with_next_try().then(|| next_after(exchange.duration));
            (exchange.duration, next.flatten())
        }
    }
}
