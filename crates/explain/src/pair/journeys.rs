//! When packets left the one end and arrived at the other, by the client's clock.
//!
//! What passes a path while a packet is on its way tells a queue from a path that delivers nothing: the
//! packets that it waits behind arrive.

use std::{net::SocketAddr, time::Duration};

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use crate::joined::Clocks;

/// A packet that both captures have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey {
    pub direction: Direction,
    /// Client and server, by the client's capture.
    pub ends: [SocketAddr; 2],
    /// When each capture has it, by its own clock.
    pub ours: Instant,
    pub theirs: Instant,
}

/// All of them, by direction, in the order in which they arrived.
#[derive(Debug, Default)]
pub(super) struct Journeys([Vec<Way>; 2]);

#[derive(Clone, Copy, Debug)]
struct Way {
    ends: [SocketAddr; 2],
    left: Instant,
    arrived: Instant,
}

impl Journeys {
    pub(super) fn of(journeys: Vec<Journey>, clocks: &Clocks) -> Self {
        let mut ways: [Vec<Way>; 2] = Default::default();
        for Journey { direction, ends, ours, theirs } in journeys {
            let theirs = clocks.at_client(theirs);
            let [left, arrived] = match direction {
                Direction::ToServer => [ours, theirs],
                Direction::ToClient => [theirs, ours],
            };
            ways[direction as usize].push(Way { ends, left, arrived });
        }
        ways.iter_mut().for_each(|it| it.sort_by_key(|way| (way.arrived, way.left)));
        Self(ways)
    }

    /// When the last packet of this connection left that arrived at `arrived`.
    pub(super) fn left(
        &self,
        direction: Direction,
        ends: [SocketAddr; 2],
        arrived: Instant,
    ) -> Option<Instant> {
        let ways = &self.0[direction as usize];
        let first = ways.partition_point(|it| it.arrived < arrived);
        let same = ways[first..].iter().take_while(|it| it.arrived == arrived);
        same.filter(|it| it.ends == ends).map(|it| it.left).max()
    }

    /// Whether packets of other connections arrived in this time.
    pub(super) fn others(
        &self,
        direction: Direction,
        ends: [SocketAddr; 2],
        [from, until]: [Instant; 2],
    ) -> bool {
        let ways = &self.0[direction as usize];
        let first = ways.partition_point(|it| it.arrived <= from);
        ways[first..].iter().take_while(|it| it.arrived < until).any(|it| it.ends != ends)
    }

    /// How much of this time nothing arrived, in pauses longer than `least`: the path delivered nothing.
    pub(super) fn silence(
        &self,
        direction: Direction,
        span: [Instant; 2],
        least: Duration,
    ) -> Duration {
        self.pauses(direction, span, least, |_| true)
    }

    /// The same of this connection alone: perhaps nothing was sent.
    pub(super) fn silence_of(
        &self,
        direction: Direction,
        ends: [SocketAddr; 2],
        span: [Instant; 2],
        least: Duration,
    ) -> Duration {
        self.pauses(direction, span, least, |way| way.ends == ends)
    }

    fn pauses(
        &self,
        direction: Direction,
        [from, until]: [Instant; 2],
        least: Duration,
        counts: impl Fn(&Way) -> bool,
    ) -> Duration {
        let ways = &self.0[direction as usize];
        let first = ways.partition_point(|it| it.arrived <= from);
        let during = ways[first..].iter().filter(|it| counts(it));
        let during = during.map(|it| it.arrived).take_while(|at| *at < until);
        let mut last = from;
        let since_last = |at| Instant::saturating_since(at, std::mem::replace(&mut last, at));
        let mut pauses: Vec<Duration> = during.chain([until]).map(since_last).collect();
        pauses.sort_unstable();
        // What comes as far apart as most does, a slow link has spread.
        let usual = pauses.get(pauses.len() / 2).filter(|_| pauses.len() >= SEVERAL);
        let least = usual.map_or(least, |usual| least.max(*usual * 2));
        pauses.into_iter().filter(|it| *it > least).sum()
    }
}

/// Packets of which the spacing is known. Our choice.
const SEVERAL: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn journeys(arrived: &[u64]) -> Journeys {
        let ends = ["10.0.0.1:5000", "10.0.0.2:80"].map(|it| it.parse().unwrap());
        let way = |&it: &u64| Way { ends, left: at(it - 10), arrived: at(it) };
        Journeys([Vec::new(), arrived.iter().map(way).collect()])
    }

    #[test]
    fn a_path_that_delivers_nothing_is_silent() {
        for (arrived, silence) in [
            (&[][..], 100),
            (&[100, 200], 100),
            (&[120, 140, 160, 180], 0),
            (&[110, 120], 80),
            (&[130, 140, 190], 80),
        ] {
            let found = journeys(arrived).silence(
                Direction::ToClient,
                [at(100), at(200)],
                Duration::from_millis(20),
            );
            assert_eq!(found, Duration::from_millis(silence), "{arrived:?}");
        }
        let other = journeys(&[120, 140, 160, 180]);
        let span = [at(100), at(200)];
        let least = Duration::from_millis(20);
        assert_eq!(other.silence(Direction::ToServer, span, least), Duration::from_millis(100));
        let [client, server] = other.0[1][0].ends;
        for (ends, silence) in [([client, server], 0), ([server, client], 100)] {
            let found = other.silence_of(Direction::ToClient, ends, span, least);
            assert_eq!(found, Duration::from_millis(silence), "of this connection alone");
        }
    }

    #[test]
    fn packets_that_a_slow_link_has_spread_are_no_pauses() {
        for (apart, silence) in [(30, 0), (10, 0)] {
            let arrived: Vec<u64> = (1..10).map(|number| 100 + number * apart).collect();
            let silent = |arrived: &[u64], until| {
                let span = [at(100), at(until)];
                journeys(arrived).silence(Direction::ToClient, span, Duration::from_millis(20))
            };
            let until = 100 + 10 * apart;
            assert_eq!(silent(&arrived, until), Duration::from_millis(silence), "{apart}");
            let stalled = Duration::from_millis(70);
            assert_eq!(silent(&arrived, until - apart + 70), stalled, "{apart}, then nothing");
        }
    }

    #[test]
    fn a_packet_is_found_by_when_it_arrived() {
        let journeys = journeys(&[110, 120, 130]);
        let ends = journeys.0[1][0].ends;
        assert_eq!(journeys.left(Direction::ToClient, ends, at(120)), Some(at(110)));
        assert_eq!(journeys.left(Direction::ToClient, ends, at(121)), None);
        assert_eq!(journeys.left(Direction::ToServer, ends, at(120)), None);
        assert_eq!(journeys.left(Direction::ToClient, [ends[1], ends[0]], at(120)), None);
    }
}
