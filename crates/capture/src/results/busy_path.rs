//! Paths that were busy for as long as a connection used them.
//!
//! A connection whose least round trip contains a queue takes that for distance. Another connection between
//! the same hosts may have found the path idle: what its round trips took less, is the queue.

use std::{net::IpAddr, time::Duration};

use ackwise_cause::Cause;
use hashbrown::HashMap;

use super::{ConnectionResult, ExchangeResult};
use crate::attribution::{Alike, Confidence, Nanos, Share, Stretch};

/// The least round trips between hosts, of all connections.
#[derive(Debug, Default)]
pub(crate) struct LeastRoundTrips {
    // Looked up, and walked only for their least: the order of a hash table shows nowhere.
    by_hosts: HashMap<[IpAddr; 2], Least>,
}

/// The least round trip between two hosts, and how many others were like it.
#[derive(Clone, Copy, Debug)]
struct Least {
    round_trip: Duration,
    alike: Alike,
}

/// How much of a connection's least round trip is distance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Distance {
    least: Duration,
    own: Duration,
}

impl LeastRoundTrips {
    pub(crate) fn of(connections: &[ConnectionResult]) -> Self {
        let mut least = Self::default();
        for it in connections.iter().filter(|it| !it.round_trip.is_zero()) {
            least.add(hosts(it), Least::of(it));
        }
        least
    }

    /// The least of both.
    pub(crate) fn join(&mut self, others: &Self) {
        for (hosts, least) in &others.by_hosts {
            self.add(*hosts, *least);
        }
    }

    fn add(&mut self, hosts: [IpAddr; 2], least: Least) {
        self.by_hosts.entry(hosts).and_modify(|it| *it = it.join(least)).or_insert(least);
    }

    /// What they say of a connection, and its own round trips.
    pub(crate) fn judge(&self, connection: &ConnectionResult) -> BusyPath {
        let own = Least::of(connection);
        let least = self.by_hosts.get(&hosts(connection)).copied();
        BusyPath {
            is_doubtful: own.varies_beside(least) || least.is_some_and(|it| own.is_doubtful(it)),
            distance: least.and_then(|it| own.distance(it)),
        }
    }
}

/// What a queue may have added to the least round trip of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BusyPath {
    /// It may be that of a queue.
    pub is_doubtful: bool,
    /// How much of it is distance, if less than all.
    pub distance: Option<Distance>,
}

impl Least {
    const fn of(connection: &ConnectionResult) -> Self {
        Self { round_trip: connection.round_trip, alike: connection.round_trips_alike }
    }

    /// Whether the least round trip of a connection may be that of a queue which never empties: those of its packets
    /// vary, and no other connection between the same hosts shows that it is not. If a connection has too few, the
    /// others count.
    fn varies_beside(self, least: Option<Self>) -> bool {
        let others = least.filter(|it| it.is_like(self)).unwrap_or(self).alike;
        match self.alike.are_steady() {
            true => false,
            false => (self.alike.vary() && !others.are_steady()) || others.vary(),
        }
    }

    /// How far a connection is by the `least` of all; `None` if its own round trips were no longer. Behind an address
    /// translation there may be hosts at other distances: so only of a connection whose round trips vary.
    fn distance(self, least: Self) -> Option<Distance> {
        let (least, own) = (least.round_trip, self.round_trip);
        // Less varies without a queue. Our choice.
        let is_longer = || own > least + least / 8 + Duration::from_millis(1);
        (self.alike.vary() && is_longer()).then_some(Distance { least, own })
    }

    /// Whether another connection between the same hosts had so much shorter round trips that a queue is
    /// likely, even if those of this connection hardly vary: a long queue fills and drains slowly.
    fn is_doubtful(self, least: Self) -> bool {
        /// Our choice.
        const TIMES: u32 = 2;
        self.round_trip > least.round_trip * TIMES + Duration::from_millis(1)
    }

    fn join(self, other: Self) -> Self {
        let alike = Alike::join([self, other].map(|it| (Nanos::of(it.round_trip), it.alike)));
        Self { round_trip: self.round_trip.min(other.round_trip), alike }
    }

    /// Whether the other's round trip differs no more than those of an idle path.
    fn is_like(self, other: Self) -> bool {
        self.round_trip.abs_diff(other.round_trip) <= Alike::SAME.into()
    }
}

pub(super) const fn hosts(connection: &ConnectionResult) -> [IpAddr; 2] {
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

#[cfg(test)]
mod tests {
    use ackwise_cause::Direction;
    use ackwise_tcp::Instant;

    use super::*;
    use crate::{
        attribution::{Account, Evidence, Rule, Verdict},
        conversation::ExchangeId,
        flow::OpenExchange,
    };

    const STEADY: Alike = Alike { near: 2, beyond: 0 };
    const VARY: Alike = Alike { near: 0, beyond: 2 };
    const FEW: Alike = Alike { near: 1, beyond: 0 };

    const fn least(micros: u64, alike: Alike) -> Least {
        Least { round_trip: Duration::from_micros(micros), alike }
    }

    #[test]
    fn a_queue_is_likely_beside_round_trips_half_as_long_less_a_millisecond() {
        for (micros, is_doubtful) in [(21_000, false), (21_001, true)] {
            let own = least(micros, STEADY);
            assert_eq!(own.is_doubtful(least(10_000, STEADY)), is_doubtful, "{micros}");
        }
    }

    #[test]
    fn what_varies_and_is_an_eighth_and_a_millisecond_longer_is_not_all_distance() {
        for (micros, alike, is_longer) in [
            (10_000, VARY, false),
            (10_001, VARY, true),
            (10_001, STEADY, false),
            (90_000, FEW, false),
        ] {
            let found = least(micros, alike).distance(least(8_000, STEADY));
            assert_eq!(found.is_some(), is_longer, "{micros} {alike:?}");
        }
    }

    #[test]
    fn round_trips_that_vary_are_a_queue_unless_others_of_the_same_length_do_not() {
        let beside = |micros, alike| Some(least(micros, alike));
        for (own, others, vary) in [
            (STEADY, None, false),
            (STEADY, beside(10_000, VARY), false),
            (VARY, None, true),
            (VARY, beside(10_000, STEADY), false),
            (VARY, beside(9_700, STEADY), false),
            (VARY, beside(9_699, STEADY), true),
            (FEW, None, false),
            (FEW, beside(10_000, STEADY), false),
            (FEW, beside(10_000, VARY), true),
            (FEW, beside(9_699, VARY), false),
        ] {
            assert_eq!(least(10_000, own).varies_beside(others), vary, "{own:?} {others:?}");
        }
    }

    /// An exchange that begins at 1 s, and how many milliseconds of it each cause took.
    fn exchange(parts: &[(Cause, Option<Cause>, u64)]) -> ExchangeResult {
        let mut account = Account::new(Instant::from_nanos(1_000_000_000));
        account.keep_stretches(100);
        for &(cause, rival, millis) in parts {
            let verdict = Verdict::new(
                Rule::OnItsWay,
                cause,
                Direction::ToClient,
                Evidence::of([7, 0, 0]),
                Confidence::High,
            );
            let verdict = rival.map_or(verdict, |rival| verdict.or(rival));
            account.add(account.cursor() + Nanos::from_millis(millis), verdict);
        }
        Box::new(OpenExchange::new(ExchangeId(0), 0, account, 0)).into_result(0, true, Nanos::ZERO)
    }

    #[test]
    fn of_what_was_taken_for_distance_the_part_is_a_queue_that_another_connection_did_not_find() {
        use Cause::{ApplicationLimited, Propagation, Queueing, ServerThink, Transmission};
        let distance =
            Distance { least: Duration::from_millis(10), own: Duration::from_millis(40) };
        let mut found = exchange(&[
            (Propagation, None, 40),
            (ServerThink, Some(Queueing), 5),
            (Transmission, None, 3),
            (ApplicationLimited, Some(Queueing), 8),
            (Propagation, None, 20),
        ]);
        let all = found.duration;
        distance.correct(&mut found);
        let shares = found.shares.iter().map(|it| {
            (it.cause, it.span.as_millis(), it.longest.as_millis(), it.confidence, it.rival)
        });
        let (high, medium) = (Confidence::High, Confidence::Medium);
        assert_eq!(
            shares.collect::<Vec<_>>(),
            [
                (Queueing, 50, 30, medium, Some(Propagation)),
                (Propagation, 15, 10, high, None),
                (Transmission, 3, 3, high, None),
                (ApplicationLimited, 8, 8, medium, Some(Queueing)),
            ]
        );
        assert_eq!(found.shares.iter().map(|it| it.span).sum::<Duration>(), all);
        let stretches = found.stretches.iter().map(|it| {
            let since = it.from.since(Instant::from_nanos(1_000_000_000));
            (it.cause, since.as_millis(), it.until.since(it.from).as_millis(), it.rival)
        });
        assert_eq!(
            stretches.collect::<Vec<_>>(),
            [
                (Propagation, 0, 10, None),
                (Queueing, 10, 30, Some(Propagation)),
                (Queueing, 40, 5, Some(ServerThink)),
                (Transmission, 45, 3, None),
                (ApplicationLimited, 48, 8, Some(Queueing)),
                (Propagation, 56, 5, None),
                (Queueing, 61, 15, Some(Propagation)),
            ]
        );
    }

    #[test]
    fn a_path_that_was_idle_all_the_time_has_no_queue_to_list() {
        let same = Duration::from_millis(40);
        let mut found = exchange(&[(Cause::Propagation, None, 40)]);
        Distance { least: same, own: same }.correct(&mut found);
        let causes: Vec<Cause> = found.shares.iter().map(|it| it.cause).collect();
        assert_eq!(causes, [Cause::Propagation]);
        assert_eq!(found.stretches.len(), 1);
    }
}
