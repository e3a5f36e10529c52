//! `keep-alive`: is the connection kept, how long, for how many requests?
//!
//! A connection is left idle after the other probes, so that no other waits for it.
//!
//! What is in front of the server keeps idle connections, too. If the server closes first, a request may cross the FIN,
//! and nobody knows whether it was carried out: so the server has to keep them longer.

use std::time::Duration;

use ackwise_cause::FindingId;
use ackwise_http::ConnectionOption;
use ackwise_text::words::counted;

use super::{Facts, Front, Idle, IdleEnd, NoVerdict, ProbeResult, rounded};
use crate::{
    card::{KeepAlive, Reason, Verdict},
    http_client::{Client, Exchange, ExchangeError, HttpConnection, Request, ReusedConnection},
    stack::{Acknowledge, Receiver},
};

/// Uses up what is left of the requests, to see the server's limit.
pub(super) fn probe(client: &mut Client, facts: &Facts) -> Result<ProbeResult, NoVerdict> {
    facts.end()?;
    let by_default = facts.first.persists();
    let request = client.ask_for(&facts.page_to_its_end(), Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let kept = match reused.request(&request, Acknowledge::Promptly, client) {
        // A slow server has used up the budget; what its first answer said is known all the same.
        Err(ExchangeError::LimitReached(_)) => None,
        kept => Some(kept?),
    };
    let announced = [kept.as_ref(), Some(&facts.first)];
    let announced = announced.into_iter().flatten().find_map(|answer| answer.head.keep_alive);
    let (taken, full) = match &kept {
        // It was we who did not read on, or who want no more, so the connection is not full.
        Some(answer) if answer.complete && client.hold().is_none() => {
            count(answer, &mut reused, &request, client)?
        }
        _ => (1, None),
    };
    let seen = Seen {
        by_default,
        on_request: kept.as_ref().map_or(by_default, Exchange::persists),
        said_timeout: announced.and_then(|announced| announced.timeout),
        // The field of a first response counts the requests after it.
        said_max: announced.and_then(|announced| announced.max).map(|max| max.saturating_add(1)),
        idle: facts.idle,
        front: facts.front(),
        taken,
        full,
    };
    // Settings of servers are about time, not about what the last response says.
    let software = facts.software().filter(|_| full != Some(Full::Silently));
    let judged = facts.front().filter(|_| seen.by_default || seen.on_request);
    Ok(report(&seen).remedied_by(judged.map(|_| FindingId::idle_timeout_remedy(software))))
}

/// How a connection ends that takes no more requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Full {
    /// The last response says so, or GOAWAY.
    Announced,
    /// Without a word.
    Silently,
}

/// How many requests the connection of `reused` takes, as far as they are allowed, and how it ended if it is full
/// then. It has taken one, answered by `first`.
fn count(
    first: &Exchange,
    reused: &mut ReusedConnection,
    request: &Request,
    client: &mut Client,
) -> Result<(u32, Option<Full>), ExchangeError> {
    let until = client.budget.cap(client.now() + COUNTING);
    let (mut taken, mut persists) = (1, first.persists());
    let end = |persists| if persists { Full::Silently } else { Full::Announced };
    while client.budget.requests_left() > 0 && client.now() < until {
        if !reused.current().is_some_and(HttpConnection::accepts_requests) {
            return Ok((taken, Some(end(persists && !says_goaway(reused)))));
        }
        let answer = match reused.request(request, Acknowledge::Promptly, client) {
            Err(ExchangeError::LimitReached(_)) => break,
            // The time is over in the middle of it: no word about what the connection takes.
            Ok(answer) if !answer.complete => return Ok((taken, None)),
            answer => answer?,
        };
        match reused.current().map_or(0, HttpConnection::requests) {
            now if now > taken => (taken, persists) = (now, answer.persists()),
            _ => return Ok((taken, Some(end(persists)))), // A new one took its place.
        }
    }
    let full = !reused.current().is_some_and(HttpConnection::accepts_requests);
    Ok((taken, full.then(|| end(persists && !says_goaway(reused)))))
}

fn says_goaway(reused: &ReusedConnection) -> bool {
    let http2 = reused.current().and_then(HttpConnection::http2);
    http2.is_some_and(|http2| http2.goaway().is_some())
}

/// All that the verdict depends on.
#[derive(Clone, Copy, Debug)]
struct Seen {
    by_default: bool,
    on_request: bool,
    said_timeout: Option<Duration>,
    said_max: Option<u32>,
    idle: Option<Idle>,
    front: Option<Front>,
    /// Requests that one connection has taken.
    taken: u32,
    /// How it ended, if it did not take another.
    full: Option<Full>,
}

fn report(seen: &Seen) -> ProbeResult {
    let requests = |number: u32| counted(u64::from(number), "request");
    let tenths = |span: Duration| rounded((span.as_secs_f64() * 10.0).round() / 10.0);
    let closed_after = seen.idle.filter(|idle| idle.closed_by_server()).map(|idle| idle.lasted);
    let open_after = seen.idle.filter(|idle| !idle.closed_by_server()).map(|idle| idle.lasted);
    let timeout = seen.said_timeout.or(closed_after);
    let persists = seen.by_default || seen.on_request;
    let full = seen.full.filter(|_| persists);
    let max = if full.is_some() { Some(seen.taken) } else { seen.said_max };
    let values = KeepAlive {
        behind_s: seen.front.map(|it| rounded(it.keeps.as_secs_f64())),
        limit_announced: full.map(|it| it == Full::Announced),
        margin_s: seen.front.map(|it| rounded(it.margin.as_secs_f64())),
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
        _ if seen.front.is_some() => String::new(), // It is judged below.
        (None, Some(after), _) => {
            format!("; the server closes them after {} s idle", tenths(after))
        }
        (None, None, Some(after)) => format!("; idle timeout above {} s", tenths(after)),
        (None, None, None) => String::new(),
    };
    let count = match (full, max) {
        (Some(_), Some(taken)) => format!("; closed after {}", requests(taken)),
        (_, Some(said)) => format!("; the server announces a limit of {}", requests(said)),
        (_, None) => format!("; more than {} per connection", requests(seen.taken)),
    };
    let (verdict, judged) = match seen.front {
        Some(front) => judge(front, seen.idle, full),
        None => (Verdict::Pass, String::new()),
    };
    let summary = format!("{kept}{idle}{count}{judged}");
    match verdict {
        Verdict::Unknown => ProbeResult::unknown(Reason::Limit, summary, values),
        verdict => ProbeResult::new(verdict, summary, values),
    }
}

/// Whether requests of what is in front of the server may cross a close.
fn judge(front: Front, idle: Option<Idle>, full: Option<Full>) -> (Verdict, String) {
    let secs = |span: Duration| format!("{:.1} s", span.as_secs_f64());
    let (keeps, margin) = (secs(front.keeps), secs(front.margin));
    let (verdict, judged) = match idle {
        Some(idle) if idle.lasted >= front.needs() => {
            let end = if idle.closed_by_server() { "closed" } else { "still open" };
            (
                Verdict::Pass,
                format!(
                    "{end} after {} idle, longer than what is in front keeps them ({keeps} and \
                     {margin} of margin)",
                    secs(idle.lasted)
                ),
            )
        }
        Some(idle) if idle.end == IdleEnd::ClosedAfterGoaway => (
            Verdict::Pass,
            format!(
                "closed with GOAWAY after {} idle: a request that crosses it was not processed, and may be sent again",
                secs(idle.lasted)
            ),
        ),
        Some(idle) if idle.closed_by_server() => (
            Verdict::Warn,
            format!(
                "closed after {} idle, but what is in front keeps them for {keeps} (margin \
                 {margin}): it may send a request on a connection that the server is closing, and \
                 the request is lost",
                secs(idle.lasted)
            ),
        ),
        Some(idle) => (
            Verdict::Unknown,
            format!(
                "still open after {} idle, when the time limit (--timeout) ended the wait; what is \
                 in front keeps them for {keeps} (margin {margin})",
                secs(idle.lasted)
            ),
        ),
        None => (Verdict::Unknown, "the idle timeout could not be measured".to_owned()),
    };
    match full {
        Some(Full::Silently) => (
            Verdict::Warn,
            format!(
                "; {judged}; the last response does not announce the close (Connection: close, or GOAWAY), so \
                 a request sent right after it is lost"
            ),
        ),
        Some(Full::Announced) | None => (verdict, format!("; {judged}")),
    }
}

/// How long the requests of one connection are counted.
const COUNTING: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::{IdleEnd::*, *};
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
            idle: Some(Idle { lasted: Duration::from_millis(10_010), end: StillOpen }),
            front: None,
            taken: 37,
            full: None,
        };
        let values = facts(report(&seen));
        assert_eq!(values.timeout_s, None);
        assert_eq!(values.timeout_more_than_s, Some(10.0));
        assert_eq!((values.max_requests, values.more_than_requests), (None, Some(37)));

        let values =
            facts(report(&Seen { said_max: Some(100), full: Some(Full::Silently), ..seen }));
        assert_eq!(values.max_requests, Some(37), "seen");

        let closed = Some(Idle { lasted: Duration::from_millis(5_004), end: Closed });
        let values = facts(report(&Seen { idle: closed, ..seen }));
        assert_eq!(values.timeout_s, Some(5.0));

        let full = Some(Full::Announced);
        let found = report(&Seen { by_default: false, on_request: false, taken: 1, full, ..seen });
        assert_eq!(found.verdict, Verdict::Warn);
        assert_eq!(facts(found).max_requests, None);
    }

    #[test]
    fn a_server_must_keep_idle_connections_longer_than_what_is_in_front() {
        use Verdict::{Pass, Unknown, Warn};
        let secs = Duration::from_secs_f64;
        let front = Front { keeps: secs(60.0), margin: secs(1.1) };
        let idle = |lasted, end| Some(Idle { lasted: secs(lasted), end });
        #[rustfmt::skip]
        let table = [
            (idle(5.0, Closed),   Warn),
            (idle(60.0, Closed),  Warn),
            (idle(5.0, ClosedAfterGoaway), Pass),
            (idle(61.0, Closed),  Warn),
            (idle(61.1, Closed),  Pass),
            (idle(75.0, Closed),  Pass),
            (idle(61.1, StillOpen), Pass),
            (idle(9.7, StillOpen),  Unknown),
            (None,              Unknown),
        ];
        for (idle, verdict) in table {
            let judged = |full| judge(front, idle, full).0;
            assert_eq!([None, Some(Full::Announced)].map(judged), [verdict; 2], "{idle:?}");
            assert_eq!(judged(Some(Full::Silently)), Warn, "{idle:?}");
        }
    }
}
