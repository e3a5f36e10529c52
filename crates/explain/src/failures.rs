//! What failed: requests without an answer, and attempts to connect that brought no connection.
//!
//! What happened is a fact ([`Outcome`], [`ConnectOutcome`](ackwise_cause::ConnectOutcome)); why is a [`Kind`], with a confidence. docs/failures.md has
//! what shows each kind, and what looks like it.

mod attempts;
mod black_hole;
mod connects;
mod grpc;
mod on_the_way;
mod report;
mod retries;
#[cfg(test)]
pub(super) mod tests;
mod time;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

use ackwise_capture::{
    analysis::{Alert, Analysis, BlackHole, CloseOrder, ConnectionResult, Ending, ExchangeResult},
    attribution::{Confidence, Vantage},
    decode::IcmpError,
};
use ackwise_cause::{Direction, FailureKind as Kind, GrpcStatus, Outcome, Party};
use ackwise_tcp::Instant;

use attempts::Attempts;
use black_hole::{black_hole, blocked, has_lasted};
use connects::connect;
use on_the_way::Hosts;
pub use on_the_way::OnTheWay;
pub(super) use report::{Key, section, sentence, table};
use retries::Retries;
use time::time_of;

use crate::hops::Fronts;

/// Something that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Why, or what if the reason does not show.
    pub kind: Kind,
    /// What: the name of an [`Outcome`] or a [`ConnectOutcome`](ackwise_cause::ConnectOutcome).
    pub outcome: &'static str,
    /// The number of the exchange; `None` for an attempt to connect.
    pub exchange: Option<usize>,
    /// The number of the connection.
    pub connection: u32,
    /// The server's address.
    pub server: SocketAddr,
    /// When it began.
    pub at: Instant,
    /// What it is proved to have taken.
    pub span: Duration,
    /// From the beginning to the client's next attempt: it had given up by then.
    pub at_most: Option<Duration>,
    /// Who can change it; `None` if that is not known.
    pub party: Option<Party>,
    /// Whose FIN or RST ended it.
    pub ended_by: Option<Party>,
    /// How sure the kind is.
    pub confidence: Confidence,
    /// What the packets also admit.
    pub rival: Option<&'static str>,
    /// How long the connection had been idle when the server closed it, and when the client used it.
    pub idle: [Option<Duration>; 2],
    /// The packet with which the request begins.
    pub packet: Option<u64>,
    /// What full segments did not get through, if that is why.
    pub black_hole: Option<BlackHole>,
    /// What ICMP said of its packets.
    pub icmp: Option<IcmpError>,
    /// The error code of the HTTP/2 frame that ended it.
    pub http2_code: Option<u32>,
    /// The error code of a GOAWAY that the server had sent before it ended the connection, or with which it excluded the
    /// request.
    pub goaway_code: Option<u32>,
    /// The client's own deadline, which was over (gRPC).
    pub deadline: Option<Duration>,
    /// What gRPC's client reports of such a call.
    pub grpc_status: Option<GrpcStatus>,
    /// The alert that ended TLS's handshake.
    pub alert: Option<Alert>,
    /// The number of the exchange that did what this one could not: the client's next try.
    pub recovered_by: Option<usize>,
    /// The number of the exchange for which a proxy made the request, or tried to connect.
    pub made_for: Option<usize>,
    /// The RST that ended it came from neither end.
    pub on_the_way: Option<OnTheWay>,
}

impl Failure {
    /// All failures of a capture, in the order in which they began.
    #[must_use]
    pub fn all(analysis: &Analysis) -> Vec<Self> {
        let exchanges = Exchanges::of(analysis);
        let connects = || analysis.connections.iter().filter(|it| it.connect.is_some());
        let has_goaway = analysis.connections.iter().any(|it| it.goaway.is_some());
        if exchanges.failed.is_empty() && connects().next().is_none() && !has_goaway {
            return Vec::new();
        }
        let attempts = Attempts::of(analysis);
        let mut failures: Vec<_> = exchanges.failures(&attempts).collect();
        failures.extend(connects().filter_map(|it| connect(&attempts, it)));
        failures.extend(grpc::idle_pings(analysis, &failures));
        let retries = Retries::of(analysis, &failures);
        let fronts = Fronts::of(analysis);
        let hosts = Hosts::of(analysis);
        for it in &mut failures {
            hosts.tell(&analysis.connections[it.connection as usize], it);
            it.recovered_by = retries.of_failure(analysis, it);
            it.made_for = fronts.made_for(analysis, it.exchange, it.connection);
        }
        failures.sort_by_key(|it| (it.at, it.connection, it.exchange));
        agree(&mut failures);
        failures
    }
}

/// The exchanges that failed, and what preceded them on their connections.
struct Exchanges<'a> {
    analysis: &'a Analysis,
    /// By number, with the end of the exchange before on the same connection.
    failed: Vec<(usize, Ending, Option<Instant>)>,
}

impl<'a> Exchanges<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let exchanges = || analysis.exchanges.iter();
        let connection = |it: &ExchangeResult| &analysis.connections[it.connection as usize];
        let stuck = exchanges().enumerate().filter(|it| connection(it.1).black_hole.is_some());
        // The last of each.
        let stuck: BTreeMap<_, _> = stuck.map(|(number, it)| (it.connection, number)).collect();
        let ending = |(number, it): (usize, &ExchangeResult)| {
            let on = connection(it);
            let is_last = stuck.get(&it.connection) == Some(&number);
            let hole = on.black_hole.as_deref().filter(|_| is_last);
            let hole = hole.filter(|hole| has_lasted(on, hole, analysis.last));
            it.ending.filter(|ending| is_failure(on, it, ending, hole))
        };
        let failed = exchanges().enumerate().filter(|it| ending(*it).is_some());
        let on: BTreeSet<u32> = failed.map(|it| it.1.connection).collect();
        let mut ends: BTreeMap<u32, Instant> = BTreeMap::new();
        let mut failed = Vec::new();
        for (number, it) in exchanges().enumerate().filter(|(_, it)| on.contains(&it.connection)) {
            let before = ends.get(&it.connection).copied();
            failed.extend(ending((number, it)).map(|ending| (number, ending, before)));
            let end = ends.entry(it.connection).or_insert(it.start);
            *end = (*end).max(it.start + it.duration);
        }
        Self { analysis, failed }
    }

    fn failures(&self, attempts: &Attempts) -> impl Iterator<Item = Failure> {
        let one = |&(number, ending, before): &_| self.one(attempts, number, ending, before);
        self.failed.iter().map(one)
    }

    fn one(
        &self,
        attempts: &Attempts,
        number: usize,
        ending: Ending,
        before: Option<Instant>,
    ) -> Failure {
        let exchange = &self.analysis.exchanges[number];
        let connection = &self.analysis.connections[exchange.connection as usize];
        let idle = [connection.server_closed, Some(exchange.start)]
            .map(|until| Some(until?.saturating_since(before?)));
        let (kind, confidence, rival) = kind_of(attempts, connection, exchange, ending, before);
        let (span, at_most) = time_of(attempts, connection, exchange, ending, kind);
        Failure {
            kind,
            outcome: ending.outcome.name(),
            exchange: Some(number),
            connection: connection.id,
            server: connection.server,
            at: exchange.start,
            span,
            at_most,
            party: match kind {
                Kind::RequestCutOff => ending.by,
                _ => kind.party(),
            },
            ended_by: match kind {
                Kind::EarlyResponseReset => Some(Party::Server),
                _ => ending.by,
            },
            confidence,
            rival,
            idle: match kind {
                Kind::IdleFlowDropped => [None, idle[1]],
                _ if ending.close.is_some() => idle,
                _ => [None; 2],
            },
            packet: Some(exchange.packet),
            black_hole: blocked(connection, kind),
            icmp: connection.icmp.as_deref().copied(),
            http2_code: ending.code,
            goaway_code: grpc::goaway(connection, exchange, &ending).and_then(|it| it.says.code),
            deadline: ending.deadline.filter(|_| kind == Kind::DeadlineExceeded),
            grpc_status: grpc::client_status(exchange, &ending, kind),
            alert: None,
            recovered_by: None,
            made_for: None,
            on_the_way: None,
        }
    }
}

/// A server that ends a connection sooner after a response does not time out: it has a limit of requests, restarts, or
/// does not read on. Our choice: the shortest timeouts in use are 1 s.
const LEAST_TIMEOUT: Duration = Duration::from_secs(1);

/// Who gives up sooner has no timeout: a load generator ends so. Our choice.
const LEAST_PATIENCE: Duration = Duration::from_millis(10);

/// Whether an exchange that ended so has failed. A client that closes within a response may have seen enough of it, and
/// one that is answered early has the answer, unless an RST takes that away.
fn is_failure(
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
    ending: &Ending,
    hole: Option<&BlackHole>,
) -> bool {
    let small_passes = hole.is_some_and(|it| it.passes.is_some());
    match ending.outcome {
        // It was sent, and did not get through.
        Outcome::Answered => {
            small_passes && hole.is_some_and(|it| it.direction == Direction::ToClient)
        }
        Outcome::Open => small_passes,
        Outcome::AnsweredEarly => {
            let ended = exchange.start + exchange.duration;
            let soon = connection.last_seen.saturating_since(ended) < LEAST_TIMEOUT;
            connection.reset && connection.closed_first == Some(Party::Server) && soon
        }
        // What the client waited for may not have been able to come, or came too late.
        Outcome::Abandoned => {
            let begun = exchange.response_packets()[0].is_some();
            let closed = connection.client_closed.map(|it| it.saturating_since(exchange.start));
            let is_patient = closed.unwrap_or(exchange.duration) >= LEAST_PATIENCE;
            let waited = is_patient || ending.deadline.is_some();
            waited && (!begun || exchange.complete) || hole.is_some()
        }
        // The server noticed before the client that the deadline was over, in a response like a stream of events.
        Outcome::Truncated => ending.deadline.is_none(),
        _ => true,
    }
}

/// Why an exchange failed, how sure that is, and what looks the same.
fn kind_of(
    attempts: &Attempts,
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
    ending: Ending,
    before: Option<Instant>,
) -> (Kind, Confidence, Option<&'static str>) {
    /// A request and a FIN may cross within a host, between its kernel and a program. Our choice.
    const WITHIN_HOST: Duration = Duration::from_millis(1);
    let works_again = || attempts.works_again(connection, exchange.start);
    let last = attempts.last();
    if let Some((confidence, rival)) = black_hole(connection, last, works_again) {
        let idle = before.map_or(Duration::ZERO, |it| exchange.start.saturating_since(it));
        let nothing_passes = rival == Some(PATH_BROKEN);
        return match nothing_passes && idle >= LEAST_TIMEOUT {
            true => (Kind::IdleFlowDropped, confidence, Some(Kind::PathMtuBlackHole.name())),
            false => (Kind::PathMtuBlackHole, confidence, rival),
        };
    }
    if let Some((confidence, rival)) = accept_queue_full(connection).filter(|_| before.is_none()) {
        return (Kind::AcceptQueueFull, confidence, rival);
    }
    if let Some(kind) = grpc::kind(connection, exchange, &ending) {
        return (kind, Confidence::High, None);
    }
    match (ending.outcome, ending.close) {
        (Outcome::ClosedUnanswered, Some(CloseOrder::Crossed)) => {
            let idle = connection.server_closed.zip(before).map(|(at, it)| at.saturating_since(it));
            let rival = match idle {
                Some(idle) if idle < LEAST_TIMEOUT => "request-limit",
                _ => RESTART,
            };
            (Kind::CloseRace, Confidence::Medium, Some(rival))
        }
        (Outcome::ClosedUnanswered, Some(CloseOrder::Ignored)) => {
            let way = match connection.vantage {
                // Of two captures, the client's times count.
                Vantage::At(Party::Client) | Vantage::Both => Duration::ZERO,
                _ => connection.round_trip,
            };
            let known = connection.server_closed.map(|it| exchange.start.saturating_since(it));
            match known.unwrap_or_default().saturating_sub(way) > WITHIN_HOST {
                true => (Kind::IgnoredClose, Confidence::High, None),
                false => (Kind::CloseRace, Confidence::Medium, Some(Kind::IgnoredClose.name())),
            }
        }
        (Outcome::Silent, _) if before.is_some() && works_again() => {
            (Kind::IdleFlowDropped, Confidence::Medium, Some(PATH_BROKEN))
        }
        // The snap length hides whether the response is whole.
        (Outcome::AnsweredEarly, _) if !exchange.exact => {
            let rival = Some(Kind::Truncated.name());
            (Kind::EarlyResponseReset, Confidence::Medium, rival)
        }
        (outcome, _) => (Kind::of(outcome), Confidence::High, None),
    }
}

/// How sure it is that the server ignores what completes a connection; `None` if nothing shows that. Away from the
/// server, the path may drop it. A server that does not send its SYN-ACK again may have sent a SYN cookie.
fn accept_queue_full(connection: &ConnectionResult) -> Option<(Confidence, Option<&'static str>)> {
    let is_at_server = matches!(connection.vantage, Vantage::At(Party::Server) | Vantage::Both);
    match (is_at_server, connection.answered_again) {
        _ if connection.opening_ignored.is_none() => None,
        (true, true) => Some((Confidence::High, None)),
        (true, false) => Some((Confidence::Medium, Some("firewall"))),
        (false, true) => Some((Confidence::Medium, Some(PATH_BROKEN))),
        (false, false) => None,
    }
}

/// A server that closes several connections after the same time without a request has a timeout.
fn agree(failures: &mut [Failure]) {
    let idle = |it: &Failure| {
        it.idle[0].filter(|_| it.kind == Kind::CloseRace && it.rival == Some(RESTART))
    };
    let each: BTreeMap<(SocketAddr, u32), Duration> =
        failures.iter().filter_map(|it| Some(((it.server, it.connection), idle(it)?))).collect();
    let mut times: BTreeMap<SocketAddr, Vec<Duration>> = BTreeMap::new();
    for ((server, _), idle) in each {
        times.entry(server).or_default().push(idle);
    }
    times.values_mut().for_each(|it| it.sort_unstable());
    for failure in failures {
        let Some(own) = idle(failure) else { continue };
        let Some(times) = times.get(&failure.server) else { continue };
        // Its own is one of them.
        let near = |it: &Duration| it.abs_diff(own) <= own / 20;
        let first = times.partition_point(|it| *it < own);
        let [before, behind] = [first.checked_sub(1), Some(first + 1)];
        if [before, behind].into_iter().flatten().filter_map(|it| times.get(it)).any(near) {
            (failure.confidence, failure.rival) = (Confidence::High, None);
        }
    }
}

/// What also drops all of a connection.
const PATH_BROKEN: &str = "path-broken";
/// What closes idle connections, too, once.
const RESTART: &str = "server-restart";
