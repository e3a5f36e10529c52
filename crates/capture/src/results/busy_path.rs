//! Paths that were busy for as long as a connection used them.
//!
//! A connection whose least round trip contains a queue takes that for distance. Another connection between
//! the same hosts may have found the path idle: what its round trips took less, is the queue.

use std::{net::IpAddr, time::Duration};

use ackwise_cause::Cause;
use hashbrown::HashMap;

use super::{ConnectionResult, ExchangeResult};
use crate::attribution::{Confidence, Share, Stretch};

/// The least round trips between hosts, of all connections.
#[derive(Debug, Default)]
pub(crate) struct LeastRoundTrips {
    // Looked up, and walked only for their least: the order of a hash table shows nowhere.
    by_hosts: HashMap<[IpAddr; 2], Duration>,
}

/// How much of a connection's least round trip is distance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Distance {
    least: Duration,
    own: Duration,
}

impl LeastRoundTrips {
    pub(crate) fn of(connections: &[ConnectionResult]) -> Self {
        let mut by_hosts: HashMap<_, Duration> = HashMap::default();
        for it in connections.iter().filter(|it| !it.round_trip.is_zero()) {
            let least = by_hosts.entry(hosts(it)).or_insert(it.round_trip);
            *least = (*least).min(it.round_trip);
        }
        Self { by_hosts }
    }

    /// The least of both.
    pub(crate) fn join(&mut self, others: &Self) {
        for (hosts, round_trip) in &others.by_hosts {
            let least = self.by_hosts.entry(*hosts).or_insert(*round_trip);
            *least = (*least).min(*round_trip);
        }
    }

    /// What they say of a connection; `None` if its own round trips were no longer. Behind an address
    /// translation there may be hosts at other distances: so only of a connection whose round trips vary.
    pub(crate) fn distance(&self, connection: &ConnectionResult) -> Option<Distance> {
        let (least, own) = (*self.by_hosts.get(&hosts(connection))?, connection.round_trip);
        // Less varies without a queue. Our choice.
        let is_longer = own > least + least / 8 + Duration::from_millis(1);
        (is_longer && !connection.round_trip_is_steady).then_some(Distance { least, own })
    }

    /// Whether another connection between the same hosts had so much shorter round trips that a queue is
    /// likely, even if those of this connection hardly vary: a long queue fills and drains slowly.
    pub(crate) fn is_doubtful(&self, connection: &ConnectionResult) -> bool {
        /// Our choice.
        const TIMES: u32 = 2;
        let least = self.by_hosts.get(&hosts(connection));
        least.is_some_and(|&least| connection.round_trip > least * TIMES + Duration::from_millis(1))
    }
}

const fn hosts(connection: &ConnectionResult) -> [IpAddr; 2] {
    [connection.client.ip(), connection.server.ip()]
}

impl Distance {
    /// As much of `propagation` as it is.
    fn part(self, propagation: Duration) -> Duration {
        propagation.mul_f64(self.least.as_secs_f64() / self.own.as_secs_f64()).min(propagation)
    }

    /// Attributes what was taken for distance.
    pub(crate) fn correct(self, exchange: &mut ExchangeResult) {
        let mut shares: Vec<Share> = Vec::new();
        let mut add = |share: Share| {
            let same = |it: &&mut Share| (it.cause, it.direction) == (share.cause, share.direction);
            match shares.iter_mut().find(same) {
                Some(sum) => sum.add(&share),
                None => shares.push(share),
            }
        };
        for mut share in &exchange.shares {
            if Self::is_queue(share.cause, share.rival) {
                (share.cause, share.rival) = (Cause::Queueing, Some(Cause::ServerThink));
            }
            if share.cause == Cause::Propagation {
                let mut queued = self.queued(share);
                let (part, longest) = (self.part(share.span), self.part(share.longest));
                queued.span = share.span - part;
                queued.longest = (share.longest - longest).min(queued.span);
                (share.span, share.longest) = (part, longest.min(part));
                add(queued);
            }
            add(share);
        }
        exchange.shares = shares.into_iter().filter(|it| !it.span.is_zero()).collect();
        let mut stretches = Vec::new();
        for stretch in &exchange.stretches {
            let mut stretch = *stretch;
            if Self::is_queue(stretch.cause, stretch.rival) {
                (stretch.cause, stretch.rival) = (Cause::Queueing, Some(Cause::ServerThink));
            }
            if stretch.cause == Cause::Propagation {
                let until = stretch.from + self.part(stretch.until.since(stretch.from));
                let queued = Stretch {
                    from: until,
                    cause: Cause::Queueing,
                    confidence: stretch.confidence.min(Confidence::Medium),
                    rival: Some(Cause::Propagation),
                    ..stretch
                };
                stretch.until = until;
                stretches.push(stretch);
                stretches.push(queued);
            } else {
                stretches.push(stretch);
            }
        }
        stretches.retain(|it| it.from < it.until);
        exchange.stretches = stretches.into();
    }

    /// The queue was there: what a server seems to take longer than the least round trip, its response more
    /// likely waited in it.
    fn is_queue(cause: Cause, rival: Option<Cause>) -> bool {
        (cause, rival) == (Cause::ServerThink, Some(Cause::Queueing))
    }

    fn queued(self, share: Share) -> Share {
        Share {
            cause: Cause::Queueing,
            confidence: share.confidence.min(Confidence::Medium),
            rival: Some(Cause::Propagation),
            ..share
        }
    }
}
