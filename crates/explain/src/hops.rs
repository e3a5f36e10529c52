//! The two hops of a proxy: a request of its client, and the one that it made for that.
//!
//! They are joined if the proxy is one host, the times are nested, the request is the same, and no other pair fits.

mod report;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult},
    attribution::Confidence,
};
use ackwise_cause::{Cause, Direction, Party};
use ackwise_tcp::Instant;

pub(super) use report::{Waits, section, table};

/// An exchange of a proxy with its client, and the one behind it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Hop {
    /// The number of the exchange with the client.
    pub front: usize,
    /// That of the exchange with the server behind.
    pub back: usize,
    /// From the beginning of the former to that of the latter.
    pub asked_after: Duration,
    /// From there to the first byte of the response that the proxy had, and that it sent.
    pub answered_after: Option<Duration>,
    pub passed_on_after: Option<Duration>,
    pub confidence: Confidence,
}

impl Hop {
    /// What the packets also admit.
    pub(super) fn rival(&self) -> Option<&'static str> {
        (self.confidence < Confidence::High).then_some("another-request")
    }

    /// How long the proxy had the first byte of the response and did not pass it on.
    pub(super) fn held(&self) -> Option<Duration> {
        Some(self.passed_on_after?.saturating_sub(self.answered_after?))
    }

    /// How the proxy's client waited for the response.
    fn waits(&self, analysis: &Analysis) -> Option<Waits> {
        let front = &analysis.exchanges[self.front];
        let is_think = |it: &_| matches!(it, (Cause::ServerThink, Direction::ToClient));
        let thinks = front.shares.iter().filter(|it| is_think(&(it.cause, it.direction)));
        let all: Duration = thinks.map(|it| it.span).sum();
        let asked = self.passed_on_after?.saturating_sub(all);
        Some(Waits {
            all,
            before: self.asked_after.saturating_sub(asked),
            behind: self.answered_after?.saturating_sub(self.asked_after),
            held: self.held()?,
        })
    }
}

/// What proxies' clients asked for, by host.
#[derive(Debug, Default)]
pub(super) struct Fronts<'a>(BTreeMap<Host, Vec<Front<'a>>>);

/// Where both hops end.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Host {
    At(IpAddr),
    /// The capturing host, by the interface of its capture.
    Here(u32),
}

impl Host {
    /// That of one end of a connection, by all names.
    fn of(connection: &ConnectionResult, end: Party) -> impl Iterator<Item = Self> {
        let address = match end {
            Party::Client => connection.client.ip(),
            _ => connection.server.ip(),
        };
        let here = connection.here.filter(|it| it.end == end);
        [Some(Self::At(address)), here.map(|it| Self::Here(it.interface))].into_iter().flatten()
    }
}

#[derive(Clone, Copy, Debug)]
struct Front<'a> {
    number: usize,
    exchange: &'a ExchangeResult,
    /// The latest end of this one and of those before.
    latest: Instant,
}

/// What a proxy may have done for its client.
#[derive(Clone, Copy, Debug)]
struct Back<'a> {
    connection: &'a ConnectionResult,
    begins: Instant,
    /// The client's exchange lasts as long.
    ends: Instant,
    /// `None` for an attempt to connect.
    exchange: Option<&'a ExchangeResult>,
}

impl<'a> Fronts<'a> {
    /// Those of hosts that are server and client.
    pub(super) fn of(analysis: &'a Analysis) -> Self {
        let hosts = |end| analysis.connections.iter().flat_map(move |it| Host::of(it, end));
        let servers: BTreeSet<_> = hosts(Party::Server).collect();
        let proxies: BTreeSet<_> = hosts(Party::Client).filter(|it| servers.contains(it)).collect();
        let mut fronts = Self::default();
        if proxies.is_empty() {
            return fronts;
        }
        // In the order in which they began.
        for (number, exchange) in analysis.exchanges.iter().enumerate() {
            let connection = &analysis.connections[exchange.connection as usize];
            for host in Host::of(connection, Party::Server).filter(|it| proxies.contains(it)) {
                let all = fronts.0.entry(host).or_default();
                let latest = all.last().map_or(Instant::EPOCH, |it: &Front<'_>| it.latest);
                let latest = latest.max(exchange.start + exchange.duration);
                all.push(Front { number, exchange, latest });
            }
        }
        fronts
    }

    /// All pairs, in the order of the proxies' clients' exchanges.
    pub(super) fn hops(&self, analysis: &Analysis) -> Vec<Hop> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let hop = |(back, exchange): (usize, &ExchangeResult)| {
            let (front, confidence) = self.around(analysis, exchange)?;
            let begins = analysis.exchanges[front].start;
            let asked_after = exchange.start.saturating_since(begins);
            let first = exchange.first_byte_after().map(|it| asked_after + it);
            let passed_on_after = analysis.exchanges[front].first_byte_after();
            let answered_after = first.filter(|it| passed_on_after.is_none_or(|on| *it <= on));
            Some(Hop { front, back, asked_after, answered_after, passed_on_after, confidence })
        };
        let mut hops: Vec<_> = analysis.exchanges.iter().enumerate().filter_map(hop).collect();
        hops.sort_by_key(|it| (it.front, it.back));
        // A request that makes two is not passed on.
        let is_answered = |it: &Hop| it.answered_after.is_some();
        let mut answered: BTreeMap<usize, usize> = BTreeMap::new();
        for it in hops.iter().filter(|it| is_answered(it)) {
            *answered.entry(it.front).or_default() += 1;
        }
        hops.retain(|it| answered.get(&it.front).is_none_or(|count| *count == 1));
        hops
    }

    /// The exchange of a proxy's client for which it made one that failed, or an attempt to connect.
    pub(super) fn made_for(
        &self,
        analysis: &'a Analysis,
        exchange: Option<usize>,
        connection: u32,
    ) -> Option<usize> {
        let connection = &analysis.connections[connection as usize];
        let (front, confidence) = match exchange {
            Some(number) => self.around(analysis, &analysis.exchanges[number])?,
            None => {
                let begins = connection.first_seen;
                self.find(analysis, Back { connection, begins, ends: begins, exchange: None })?
            }
        };
        let is_bad_gateway = |it: u16| matches!(it, 502..=504);
        let shows = confidence > Confidence::Low
            || exchange.is_none() && analysis.exchanges[front].status.is_some_and(is_bad_gateway);
        shows.then_some(front)
    }

    /// The exchange of the proxy's client for which it made this one.
    fn around(
        &self,
        analysis: &'a Analysis,
        exchange: &'a ExchangeResult,
    ) -> Option<(usize, Confidence)> {
        let connection = &analysis.connections[exchange.connection as usize];
        let begins = exchange.start;
        // Who gives up on the server behind answers first.
        let ends = if exchange.complete { begins + exchange.duration } else { begins };
        self.find(analysis, Back { connection, begins, ends, exchange: Some(exchange) })
    }

    /// The only one that fits.
    fn find(&self, analysis: &'a Analysis, back: Back<'a>) -> Option<(usize, Confidence)> {
        /// Exchanges of a proxy at the same time; with more, another may fit. Our choice.
        const AMONG: usize = 64;
        let mut found: [BTreeSet<usize>; 3] = Default::default();
        for host in Host::of(back.connection, Party::Client) {
            let Some(all) = self.0.get(&host) else { continue };
            let begun = all.partition_point(|it| it.exchange.start <= back.begins);
            let (older, near) = all[..begun].split_at(begun.saturating_sub(AMONG));
            if older.last().is_some_and(|it| it.latest >= back.ends) {
                return None;
            }
            for it in near {
                if let Some(confidence) = back.fits(analysis, it.exchange) {
                    found[confidence as usize].insert(it.number);
                }
            }
        }
        // A request that is named is that one; of others with the same target, there may be one.
        let by = |confidence: Confidence| (&found[confidence as usize], confidence);
        let best = [Confidence::High, Confidence::Medium, Confidence::Low].map(by);
        let (numbers, confidence) = best.into_iter().find(|it| !it.0.is_empty())?;
        let others = found[Confidence::Low as usize].len();
        let is_one = numbers.len() == 1 && (confidence != Confidence::Medium || others == 0);
        is_one.then(|| numbers.first().map(|it| (*it, confidence))).flatten()
    }
}

impl Back<'_> {
    /// Whether it may have been for an exchange that began before it, and how sure that would be if no other fits.
    fn fits(&self, analysis: &Analysis, front: &ExchangeResult) -> Option<Confidence> {
        let connection = &analysis.connections[front.connection as usize];
        let is_around = front.start + front.duration >= self.ends;
        if !is_around || connection.server == self.connection.server {
            return None;
        }
        let own = self.exchange.map(|it| (it.trace, it.request.as_deref()));
        let (trace, request) = own.unwrap_or_default();
        if trace.is_some() && trace == front.trace {
            return Some(Confidence::High);
        }
        // On one host, whoever asks is where everything is.
        let is_apart = !connection.server.ip().is_loopback();
        match [request, front.request.as_deref()] {
            [Some(one), Some(other)] if one != other => None,
            [Some(_), Some(_)] if is_apart => Some(Confidence::Medium),
            _ => Some(Confidence::Low),
        }
    }
}
