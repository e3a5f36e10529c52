//! `keep-alive`: is the connection kept, how long, for how many requests?
//!
//! A connection is left idle after the other checks, so that no other waits for it.
//!
//! What is in front of the server keeps idle connections, too. If the server closes first, a request may cross the FIN,
//! and nobody knows whether it was carried out: so the server has to keep them longer.

use std::time::Duration;

use ackwise_cause::{Remedy, Software};
use ackwise_http::ConnectionOption;
use ackwise_text::words::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, HttpConnection, Request, ReusedConnection},
    milliseconds::rounded,
    no_verdict::NoVerdict,
    server::{Facts, Front, Idle, IdleEnd},
    stack::{Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "keep-alive",
        "whether connections persist, for how long, and for how many requests",
    ),
    is_stall: false,
    remedies: &[ALWAYS, IDLE_TIMEOUT],
    run: Run::Server(ServerCheck::new(15, [2, u32::MAX], 1.0, run).of_idle_connections()),
};

/// Values of `keep-alive`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct KeepAlive {
    /// How long the client or balancer in front keeps idle connections (`--behind`).
    pub behind_s: Option<f64>,
    /// Whether the last response of a full connection says that the server closes it; null if `max_requests` was not
    /// observed.
    pub limit_announced: Option<bool>,
    /// How much longer than `behind_s` the server has to keep them.
    pub margin_s: Option<f64>,
    /// Number of requests per connection, as observed, or as announced if the limit was not reached.
    pub max_requests: Option<u32>,
    /// Lower bound of `max_requests`, if that is unknown.
    pub more_than_requests: Option<u32>,
    /// Whether connections persist after a request with `Connection: Keep-Alive`.
    pub on_request: Option<bool>,
    /// Whether connections persist by default.
    pub persistent: Option<bool>,
    /// Lower bound of `timeout_s`, if that is unknown.
    pub timeout_more_than_s: Option<f64>,
    /// Idle timeout as announced, or as observed if none was announced.
    pub timeout_s: Option<f64>,
    /// Idle timeout as observed.
    pub timeout_seen_s: Option<f64>,
}

/// Uses up what is left of the requests, to see the server's limit.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
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
    let remedy = judged.and_then(|_| Remedy::choose(IDLE_TIMEOUT, software));
    Ok(report(&seen).remedied_by(remedy))
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

fn report(seen: &Seen) -> Judged {
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
        return Judged::new(
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
    let (verdict, against) = match seen.front {
        Some(front) => judge(front, seen.idle, full),
        None => (Verdict::Pass, String::new()),
    };
    let summary = format!("{kept}{idle}{count}{against}");
    let judged = Judged::new(verdict, summary, values);
    match verdict {
        Verdict::Unknown => judged.because(Reason::Limit),
        _ => judged,
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
                    "{end} after {} idle, longer than the client or balancer in front keeps them ({keeps} and \
                     {margin} of margin)",
                    secs(idle.lasted)
                ),
            )
        }
        Some(idle) if idle.end == IdleEnd::ClosedAfterGoaway => (
            Verdict::Pass,
            format!(
                "closed with GOAWAY after {} idle: a request in transit at that moment is not processed, and is safe to repeat",
                secs(idle.lasted)
            ),
        ),
        Some(idle) if idle.closed_by_server() => (
            Verdict::Warn,
            format!(
                "closed after {} idle, but the client or balancer in front keeps them for {keeps} (margin \
                 {margin}): it can send a request on a connection that the server is closing, and \
                 the request is lost",
                secs(idle.lasted)
            ),
        ),
        Some(idle) => (
            Verdict::Unknown,
            format!(
                "still open after {} idle, when the time limit (--timeout) ended the wait; the client \
                 or balancer in front keeps them for {keeps} (margin {margin})",
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

const ALWAYS_CLOSES: &str = "no setting keeps connections open: put a proxy in front that keeps them, such as nginx, or use a \
    server for production";

/// The text of an idle timeout's remedy, from its setting.
macro_rules! outlasts {
    ($setting:literal $(, $note:literal)?) => {
        concat!($setting, " longer than the timeout of the client or balancer in front" $(, $note)?)
    };
}

/// For connections that do not persist.
#[rustfmt::skip]
const ALWAYS: &[Remedy] = &[
    Remedy::of(Software::Nginx, "keepalive_timeout 75s; keepalive_requests 1000;").tried(),
    Remedy::of(Software::Apache, "KeepAlive On").tried(),
    Remedy::of(Software::Lighttpd, "set server.max-keep-alive-requests and \
             server.max-keep-alive-idle above 0").tried(),
    Remedy::of(Software::HaProxy, "option http-keep-alive").tried(),
    Remedy::of(Software::Envoy, "max_requests_per_connection of common_http_protocol_options unset, or larger").tried(),
    Remedy::of(Software::Squid, "client_persistent_connections on").tried(),
    Remedy::of(Software::PythonHttpServer, "set protocol_version = \"HTTP/1.1\" in the handler class, and \
             send Content-Length in each response").tried(),
    Remedy::of(Software::Gunicorn, "--worker-class gthread, or asgi for an ASGI application: the default worker, sync, \
             closes every connection").tried(),
    Remedy::of(Software::Waitress, "send Content-Length in each response: waitress closes the connection after others").tried(),
    Remedy::of(Software::Werkzeug, ALWAYS_CLOSES).tried(),
    Remedy::of(Software::Php, ALWAYS_CLOSES).tried(),
    Remedy::of(Software::Tomcat, "maxKeepAliveRequests of the connector above 1 (the default is 100)").tried(),
    Remedy::new("keep connections open: use HTTP/1.1, with Content-Length or \
             chunked coding in each response"),
];

/// For those that the server closes while what is in front of it keeps them.
#[rustfmt::skip]
const IDLE_TIMEOUT: &[Remedy] = &[
    Remedy::of(Software::Nginx, outlasts!("keepalive_timeout")).tested("nginx_keepalive_timeout_outlasts_what_is_in_front"),
    Remedy::of(Software::Apache, outlasts!("KeepAliveTimeout")).tried(),
    Remedy::of(Software::Lighttpd, outlasts!("server.max-keep-alive-idle")).tried(),
    Remedy::of(Software::Caddy, outlasts!("timeouts { idle } of the global option servers")).tried(),
    Remedy::of(Software::HaProxy, outlasts!("timeout http-keep-alive")).tried(),
    Remedy::of(Software::Envoy, outlasts!("common_http_protocol_options.idle_timeout")).tried(),
    Remedy::of(Software::Traefik, outlasts!("transport.respondingTimeouts.idleTimeout of the entry point", " (from its documentation, not tried)")),
    Remedy::of(Software::Squid, outlasts!("client_idle_pconn_timeout")).tried(),
    Remedy::of(Software::PythonHttpServer, outlasts!("timeout of the handler class")).tried(),
    Remedy::of(Software::Gunicorn, outlasts!("--keep-alive")).tried(),
    Remedy::of(Software::Uvicorn, outlasts!("--timeout-keep-alive (as a worker of gunicorn: --keep-alive)")).tried(),
    Remedy::of(Software::Hypercorn, outlasts!("--keep-alive")).tried(),
    Remedy::of(Software::Aiohttp, outlasts!("keepalive_timeout of web.run_app()")).tried(),
    Remedy::of(Software::Waitress, outlasts!("--channel-timeout")).tried(),
    Remedy::of(Software::Tornado, outlasts!("idle_connection_timeout of HTTPServer")).tried(),
    Remedy::of(Software::Node, outlasts!("server.keepAliveTimeout")).tried(),
    Remedy::of(Software::Express, outlasts!("keepAliveTimeout of the server that app.listen() returns")).tried(),
    Remedy::of(Software::Fastify, outlasts!("the option keepAliveTimeout")).tried(),
    Remedy::of(Software::Puma, outlasts!("persistent_timeout")).tried(),
    Remedy::of(Software::Webrick, outlasts!(":RequestTimeout")).tried(),
    Remedy::of(Software::Go, outlasts!("http.Server.IdleTimeout")).tried(),
    Remedy::of(Software::Jdk, outlasts!("-Dsun.net.httpserver.idleInterval, in seconds,")).tried(),
    Remedy::of(Software::Netty, outlasts!("the time of IdleStateHandler, if it closes idle channels,")).tried(),
    Remedy::of(Software::Undertow, outlasts!("UndertowOptions.NO_REQUEST_TIMEOUT, in milliseconds,")).tried(),
    Remedy::of(Software::Jetty, outlasts!("ServerConnector.setIdleTimeout")).tried(),
    Remedy::of(Software::Tomcat, outlasts!("keepAliveTimeout of the connector")).tried(),
    Remedy::of(Software::Kestrel, outlasts!("KestrelServerLimits.KeepAliveTimeout", " (from its documentation, not tried)")),
    Remedy::new("let the server keep idle connections longer than the client or balancer in front, or let that one \
             close them sooner; send Connection: close in the last response of a connection"),
];

#[cfg(test)]
mod tests {
    use super::{IdleEnd::*, *};
    use crate::checks::Values;

    fn facts(found: Judged) -> KeepAlive {
        match found.values {
            Some(Values::KeepAlive(facts)) => facts,
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
