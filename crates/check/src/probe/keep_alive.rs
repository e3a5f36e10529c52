//! `keep-alive`: is the connection kept, how long, for how many requests?
//!
//! A connection is left idle after the other probes, so that no other waits for it.

use std::time::Duration;

use ackwise_http::ConnectionOption;
use ackwise_report::words::counted;

use super::{Facts, Idle, ProbeResult, rounded};
use crate::{
    card::{KeepAlive, Verdict},
    http_client::{Client, Exchange, ExchangeError, HttpConnection, Request, ReusedConnection},
    stack::{Acknowledge, Receiver},
};

/// Uses up what is left of the requests, to see the server's limit.
pub(super) fn probe(client: &mut Client, facts: &Facts) -> Result<ProbeResult, ExchangeError> {
    if let Some(reason) = facts.unknown_end() {
        let found = ProbeResult::new(Verdict::Unknown, reason, KeepAlive::default());
        return Ok(found.shown_by(Some(&facts.first)));
    }
    let by_default = facts.first.persists();
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let kept = match reused.request(&request, Acknowledge::Promptly, client) {
        // A slow server has used up the budget; what its first answer said is known all the same.
        Err(ExchangeError::LimitReached(_)) => None,
        kept => Some(kept?),
    };
    let announced = [kept.as_ref(), Some(&facts.first)];
    let announced = announced.into_iter().flatten().find_map(|answer| answer.head.keep_alive);
    let (taken, full) = match &kept {
        // It was we who did not read on, so the connection is not full.
        Some(answer) if answer.complete => count(&mut reused, &request, client)?,
        _ => (1, false),
    };
    Ok(report(&Seen {
        by_default,
        on_request: kept.as_ref().map_or(by_default, Exchange::persists),
        said_timeout: announced.and_then(|announced| announced.timeout),
        // The field of a first response counts the requests after it.
        said_max: announced.and_then(|announced| announced.max).map(|max| max.saturating_add(1)),
        idle: facts.idle,
        taken,
        full,
    }))
}

/// How many requests the connection of `reused` takes, as far as they are allowed, and whether it is
/// full then.
fn count(
    reused: &mut ReusedConnection,
    request: &Request,
    client: &mut Client,
) -> Result<(u32, bool), ExchangeError> {
    let until = client.budget.cap(client.now() + COUNTING);
    let mut taken = 1;
    while client.budget.requests_left() > 0 && client.now() < until {
        if !reused.current().is_some_and(HttpConnection::accepts_requests) {
            return Ok((taken, true));
        }
        match reused.request(request, Acknowledge::Promptly, client) {
            Err(ExchangeError::LimitReached(_)) => break,
            // The time is over in the middle of it: no word about what the connection takes.
            Ok(answer) if !answer.complete => return Ok((taken, false)),
            answer => answer?,
        };
        match reused.current().map_or(0, HttpConnection::requests) {
            now if now > taken => taken = now,
            _ => return Ok((taken, true)), // Closed without a word; a new one took its place.
        }
    }
    Ok((taken, !reused.current().is_some_and(HttpConnection::accepts_requests)))
}

/// All that the verdict depends on.
#[derive(Clone, Copy, Debug)]
struct Seen {
    by_default: bool,
    on_request: bool,
    said_timeout: Option<Duration>,
    said_max: Option<u32>,
    idle: Option<Idle>,
    /// Requests that one connection has taken.
    taken: u32,
    /// It did not take another.
    full: bool,
}

fn report(seen: &Seen) -> ProbeResult {
    let requests = |number: u32| counted(u64::from(number), "request");
    let tenths = |span: Duration| rounded((span.as_secs_f64() * 10.0).round() / 10.0);
    let closed_after = seen.idle.filter(|idle| idle.closed_by_server).map(|idle| idle.lasted);
    let open_after = seen.idle.filter(|idle| !idle.closed_by_server).map(|idle| idle.lasted);
    let timeout = seen.said_timeout.or(closed_after);
    let persists = seen.by_default || seen.on_request;
    let max = if seen.full && persists { Some(seen.taken) } else { seen.said_max };
    let values = KeepAlive {
        persistent: Some(seen.by_default),
        on_request: Some(seen.on_request),
        timeout_s: timeout.map(tenths),
        timeout_seen_s: closed_after.map(tenths),
        timeout_more_than_s: if timeout.is_none() { open_after.map(tenths) } else { None },
        max_requests: max,
        more_than_requests: if max.is_none() && persists { Some(seen.taken) } else { None },
    };
    let kept = match (seen.by_default, seen.on_request) {
        (true, _) => "connections persist by default",
        (false, true) => "connections persist if the client requests it",
        (false, false) => "each connection takes one request",
    };
    if !persists {
        return ProbeResult::new(
            Verdict::Warn,
            format!("{kept} and pays for its own handshake and slow start"),
            values,
        );
    }
    let idle = match (seen.said_timeout, closed_after, open_after) {
        (Some(said), ..) => format!("; the server announces an idle timeout of {} s", tenths(said)),
        (None, Some(after), _) => {
            format!("; the server closes them after {} s idle", tenths(after))
        }
        (None, None, Some(after)) => format!("; idle timeout above {} s", tenths(after)),
        (None, None, None) => String::new(),
    };
    let count = match (seen.full, max) {
        (true, Some(taken)) => format!("; closed after {}", requests(taken)),
        (_, Some(said)) => format!("; the server announces a limit of {}", requests(said)),
        (_, None) => format!("; more than {} per connection", requests(seen.taken)),
    };
    ProbeResult::new(Verdict::Pass, format!("{kept}{idle}{count}"), values)
}

/// How long the requests of one connection are counted.
const COUNTING: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Values;

    fn facts(found: ProbeResult) -> KeepAlive {
        match found.values {
            Values::KeepAlive(facts) => facts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_seen_goes_before_what_was_said_and_neither_is_guessed() {
        let seen = Seen {
            by_default: true,
            on_request: true,
            said_timeout: None,
            said_max: None,
            idle: Some(Idle { lasted: Duration::from_millis(10_010), closed_by_server: false }),
            taken: 37,
            full: false,
        };
        let values = facts(report(&seen));
        assert_eq!(values.timeout_s, None);
        assert_eq!(values.timeout_more_than_s, Some(10.0));
        assert_eq!((values.max_requests, values.more_than_requests), (None, Some(37)));

        let values = facts(report(&Seen { said_max: Some(100), full: true, ..seen }));
        assert_eq!(values.max_requests, Some(37), "seen");

        let closed = Some(Idle { lasted: Duration::from_millis(5_004), closed_by_server: true });
        let values = facts(report(&Seen { idle: closed, ..seen }));
        assert_eq!(values.timeout_s, Some(5.0));

        let found =
            report(&Seen { by_default: false, on_request: false, taken: 1, full: true, ..seen });
        assert_eq!(found.verdict, Verdict::Warn);
        assert_eq!(facts(found).max_requests, None);
    }
}
