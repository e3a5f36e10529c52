//! What failed: requests without an answer, and attempts to connect that brought no connection.
//!
//! What happened is a fact ([`Outcome`], [`ConnectOutcome`]); why is a [`Kind`], with a confidence. docs/failures.md has
//! what shows each kind, and what looks like it.

mod kind;
mod report;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::{
    analysis::{
        Analysis, CloseOrder, ConnectOutcome, ConnectionResult, Ending, ExchangeResult, Outcome,
    },
    attribution::{Confidence, Vantage},
};
use ackwise_cause::Party;
use ackwise_tcp::Instant;

pub use kind::Kind;
pub(super) use report::{section, sentence};

/// Something that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Why, or what if the reason does not show.
    pub kind: Kind,
    /// What: the name of an [`Outcome`] or a [`ConnectOutcome`].
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
}

impl Failure {
    /// All failures of a capture, in the order in which they began.
    #[must_use]
    pub fn all(analysis: &Analysis) -> Vec<Self> {
        let mut failures: Vec<_> = Exchanges::of(analysis).failures().collect();
        failures.extend(analysis.connections.iter().filter_map(|it| connect(analysis, it)));
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
        let ending = |it: &ExchangeResult| {
            it.ending.filter(|ending| {
                is_failure(&analysis.connections[it.connection as usize], it, ending)
            })
        };
        let exchanges = || analysis.exchanges.iter();
        let on: BTreeSet<u32> =
            exchanges().filter(|it| ending(it).is_some()).map(|it| it.connection).collect();
        let mut ends: BTreeMap<u32, Instant> = BTreeMap::new();
        let mut failed = Vec::new();
        for (number, it) in exchanges().enumerate().filter(|(_, it)| on.contains(&it.connection)) {
            let before = ends.get(&it.connection).copied();
            failed.extend(ending(it).map(|ending| (number, ending, before)));
            let end = ends.entry(it.connection).or_insert(it.start);
            *end = (*end).max(it.start + it.duration);
        }
        Self { analysis, failed }
    }

    fn failures(&self) -> impl Iterator<Item = Failure> {
        self.failed.iter().map(|&(number, ending, before)| self.one(number, ending, before))
    }

    fn one(&self, number: usize, ending: Ending, before: Option<Instant>) -> Failure {
        let exchange = &self.analysis.exchanges[number];
        let connection = &self.analysis.connections[exchange.connection as usize];
        let idle = [connection.server_closed, Some(exchange.start)]
            .map(|until| Some(until?.saturating_since(before?)));
        let (kind, confidence, rival) =
            kind_of(self.analysis, connection, exchange, ending, before);
        let gave_up = kind.ends_with_next_try();
        let next = gave_up.then(|| next_try(self.analysis, connection, exchange.start)).flatten();
        Failure {
            kind,
            outcome: ending.outcome.name(),
            exchange: Some(number),
            connection: connection.id,
            server: connection.server,
            at: exchange.start,
            span: exchange.duration,
            at_most: next.map(|next| next.saturating_since(exchange.start)),
            party: match kind {
                Kind::RequestCutOff => ending.by,
                _ => kind.party(),
            },
            ended_by: ending.by,
            confidence,
            rival,
            idle: if ending.close.is_some() { idle } else { [None; 2] },
            packet: Some(exchange.packet),
        }
    }
}

/// Whether an exchange that ended so has failed. A client that closes within a response may have seen enough of it, and
/// one that is answered early has the answer, unless an RST takes that away.
fn is_failure(connection: &ConnectionResult, exchange: &ExchangeResult, ending: &Ending) -> bool {
    match ending.outcome {
        Outcome::Answered | Outcome::Open => false,
        Outcome::AnsweredEarly => {
            connection.reset && connection.closed_first == Some(Party::Server)
        }
        Outcome::Abandoned => exchange.response_packets()[0].is_none(),
        _ => true,
    }
}

/// Why an exchange failed, how sure that is, and what looks the same.
fn kind_of(
    analysis: &Analysis,
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
    ending: Ending,
    before: Option<Instant>,
) -> (Kind, Confidence, Option<&'static str>) {
    /// A server that closes sooner after a response does not time out: it has a limit of requests, or restarts. Our
    /// choice: the shortest timeouts in use are 1 s.
    const LEAST_TIMEOUT: Duration = Duration::from_secs(1);
    /// A request and a FIN may cross within a host, between its kernel and a program. Our choice.
    const WITHIN_HOST: Duration = Duration::from_millis(1);
    match (ending.outcome, ending.close) {
        (Outcome::ClosedUnanswered, Some(CloseOrder::Crossed)) => {
            let idle = connection.server_closed.zip(before).map(|(at, it)| at.saturating_since(it));
            let rival = match idle {
                Some(idle) if idle < LEAST_TIMEOUT => "request-limit",
                _ => "server-restart",
            };
            (Kind::CloseRace, Confidence::Medium, Some(rival))
        }
        (Outcome::ClosedUnanswered, Some(CloseOrder::Ignored)) => {
            let way = match connection.vantage {
                Vantage::At(Party::Client) => Duration::ZERO,
                _ => connection.round_trip,
            };
            let known = connection.server_closed.map(|it| exchange.start.saturating_since(it));
            match known.unwrap_or_default().saturating_sub(way) > WITHIN_HOST {
                true => (Kind::IgnoredClose, Confidence::High, None),
                false => (Kind::CloseRace, Confidence::Medium, Some(Kind::IgnoredClose.name())),
            }
        }
        (Outcome::Silent, _) if before.is_some() && works_again(analysis, connection, exchange) => {
            (Kind::IdleFlowDropped, Confidence::Medium, Some("path-broken"))
        }
        (outcome, _) => (Kind::of(outcome), Confidence::High, None),
    }
}

/// Whether a later connection to the same server is answered.
fn works_again(
    analysis: &Analysis,
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
) -> bool {
    later(analysis, connection, exchange.start)
        .any(|it| it.server == connection.server && it.bytes[1] > 0)
}

/// Later connections from the same client's host to the same server's.
fn later<'a>(
    analysis: &'a Analysis,
    connection: &'a ConnectionResult,
    than: Instant,
) -> impl Iterator<Item = &'a ConnectionResult> {
    let hosts = |it: &ConnectionResult| -> [IpAddr; 2] { [it.client.ip(), it.server.ip()] };
    analysis
        .connections
        .iter()
        .filter(move |it| it.first_seen > than && hosts(it) == hosts(connection))
}

/// When the client tried again, which it does after it has given up.
fn next_try(analysis: &Analysis, connection: &ConnectionResult, than: Instant) -> Option<Instant> {
    later(analysis, connection, than).map(|it| it.first_seen).min()
}

/// A failed attempt to connect.
fn connect(analysis: &Analysis, it: &ConnectionResult) -> Option<Failure> {
    let outcome = it.connect?;
    let kind = match outcome {
        ConnectOutcome::Refused if is_tried_elsewhere(analysis, it) => return None,
        ConnectOutcome::Refused => Kind::ConnectRefused,
        _ => Kind::ConnectUnanswered,
    };
    let next = kind.ends_with_next_try().then(|| next_try(analysis, it, it.last_seen)).flatten();
    Some(Failure {
        kind,
        outcome: outcome.name(),
        exchange: None,
        connection: it.id,
        server: it.server,
        at: it.first_seen,
        span: it.last_seen.saturating_since(it.first_seen),
        at_most: next.map(|next| next.saturating_since(it.first_seen)),
        party: kind.party(),
        ended_by: it.closed_first,
        confidence: Confidence::High,
        rival: None,
        idle: [None; 2],
        packet: None,
    })
}

/// Whether the client got a connection to the same port of another address at once: `localhost` is two addresses, and
/// a name may have more.
fn is_tried_elsewhere(analysis: &Analysis, refused: &ConnectionResult) -> bool {
    /// Our choice: a client tries the next address at once.
    const SOON: Duration = Duration::from_secs(1);
    let is_other = |it: &&ConnectionResult| {
        it.server.port() == refused.server.port()
            && it.server.ip() != refused.server.ip()
            && it.connect.is_none()
    };
    let soon = |it: &ConnectionResult| {
        // The two may be tried side by side.
        let apart = it.first_seen.saturating_since(refused.first_seen)
            + refused.first_seen.saturating_since(it.first_seen);
        apart <= SOON
    };
    analysis.connections.iter().filter(is_other).any(soon)
}

/// A server that closes several connections after the same time without a request has a timeout.
fn agree(failures: &mut [Failure]) {
    let idle = |it: &Failure| it.idle[0].filter(|_| it.rival == Some("server-restart"));
    let known: Vec<(SocketAddr, u32, Duration)> = failures
        .iter()
        .filter(|it| it.kind == Kind::CloseRace)
        .filter_map(|it| Some((it.server, it.connection, idle(it)?)))
        .collect();
    let agrees = |it: &Failure, own: Duration| {
        let near = |other: Duration| own.abs_diff(other) <= own / 20;
        known
            .iter()
            .filter(|(server, connection, _)| *server == it.server && *connection != it.connection)
            .any(|(_, _, other)| near(*other))
    };
    let sure: Vec<bool> = failures
        .iter()
        .map(|it| it.kind == Kind::CloseRace && idle(it).is_some_and(|own| agrees(it, own)))
        .collect();
    for (failure, _) in failures.iter_mut().zip(sure).filter(|(_, sure)| *sure) {
        (failure.confidence, failure.rival) = (Confidence::High, None);
    }
}
