//! A connection that is left idle, while nothing else is asked: on servers that have one worker, an idle
//! connection keeps everybody else waiting.

use std::time::Duration;

use ackwise_http::ConnectionOption;

use super::Options;
use crate::{
    http_client::{Client, Exchange},
    server::{Facts, Front, Idle, IdleEnd},
    stack::Receiver,
};

/// Asks once on a new connection and waits for the server to close it: until the server's own
/// announcement makes that needless, or for [`WATCH`] or [`Options::max_wait`], or as long as what is in front of the
/// server does ([`Options::behind`]), and never longer than the budget allows if a reserve is kept. `None` if there was
/// no answer. `waiting` gets how long it has waited, and how long it will.
pub(super) fn watch(
    client: &mut Client,
    facts: &Facts,
    options: &Options,
    waiting: &mut dyn FnMut(Duration, Duration),
) -> Option<Idle> {
    if client.hold().is_some() && facts.front().is_none() && !options.thorough {
        return None;
    }
    // By default it was closed; one that persists on request starts to be idle only now.
    let option = (!facts.first.persists()).then_some(ConnectionOption::KeepAlive);
    let request = client.ask_for(&facts.page_to_its_end(), option).ok()?;
    let mut connection = client.open(Receiver::ETHERNET).ok()?;
    let first = connection.request(&request, &mut client.budget).ok()?;
    let since = connection.now();
    let wait = match (facts.front().map(Front::needs), options.thorough) {
        _ if !first.persists() => Duration::ZERO,
        (Some(needed), false) => needed,
        (needed, true) => options.max_wait.max(needed.unwrap_or_default()),
        (None, false) if announces(&first) => Duration::ZERO,
        (None, false) => options.max_wait.min(WATCH),
    };
    let left = client.budget.time_left(since);
    let wait = wait.min(left - RESERVE.min(left / 4));
    let mut waited = Duration::ZERO;
    while waited < wait && connection.closed().is_none() {
        waiting(waited, wait);
        waited = wait.min(waited + STEP);
        connection.observe_until(since + waited);
    }
    connection.observe_until(connection.now());
    let closed = connection.closed();
    let end = closed.map_or_else(|| connection.now(), |closed| closed.at);
    let lasted = end.saturating_duration_since(since);
    let says_goaway = connection.http2().is_some_and(|http2| http2.goaway().is_some());
    let end = match (closed.is_some(), says_goaway) {
        (false, _) => IdleEnd::StillOpen,
        (true, false) => IdleEnd::Closed,
        (true, true) => IdleEnd::ClosedAfterGoaway,
    };
    Some(Idle { lasted, end })
}

fn announces(exchange: &Exchange) -> bool {
    exchange.head.keep_alive.is_some_and(|said| said.timeout.is_some())
}

/// How long an idle connection is watched unless the check is thorough. Our choice: short, because a server
/// with one worker serves nobody else meanwhile, and most servers that close sooner than others say so.
const WATCH: Duration = Duration::from_secs(2);

/// How often progress is reported.
const STEP: Duration = Duration::from_secs(1);

/// This much time, or a quarter of what is left if that is less, is kept for what comes after the wait (our choice).
pub(super) const RESERVE: Duration = Duration::from_secs(5);
