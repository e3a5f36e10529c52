//! Of each exchange, from each capture what it alone can know.
//!
//! Why a request took its time is decided at the client, why a response did at the server. Both captures
//! divide an exchange at its ends, so the parts fit together but for what is not known of the path.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult},
    attribution::{Confidence, Evidence, Rule, Share, Shares, Vantage},
    series::Stretch,
};
use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use super::{
    clocks::Names,
    journeys::Journeys,
    ways::{self, merged},
};
use crate::joined::{Clocks, Counts};

/// Joins the server's verdicts into the client's.
pub(super) fn join(
    client: &mut Analysis,
    server: &Analysis,
    names: &Names,
    clocks: &Clocks,
    journeys: &Journeys,
) -> Counts {
    let mut counts = Counts::default();
    let mut theirs = Theirs::of(server, clocks);
    let mut partners = vec![None; client.connections.len()];
    for (connection, partner) in client.connections.iter_mut().zip(&mut partners) {
        let ends = [connection.client, connection.server];
        *partner = theirs.connection(names.get(&ends).copied().unwrap_or(ends), connection);
        if let Some(partner) = *partner {
            join_connections(connection, &server.connections[partner]);
            counts.connections += 1;
        }
    }
    for exchange in &mut client.exchanges {
        let at = &client.connections[exchange.connection as usize];
        let ends = [at.client, at.server];
        let partner = partners[exchange.connection as usize];
        let partner = partner.and_then(|partner| theirs.exchange(partner, exchange));
        let joined = partner.filter(|it| exchange.complete && it.complete).and_then(|partner| {
            let by_causes = || {
                let shares = joined_shares(exchange, partner)?;
                Some((shares, joined_stretches(exchange, partner, clocks)))
            };
            let by_ways = || ways::join(exchange, partner, clocks, (journeys, ends));
            match ways::is_slow(exchange, partner, clocks) {
                true => by_ways().or_else(by_causes),
                false => by_causes().or_else(by_ways),
            }
        });
        match joined {
            Some((shares, stretches)) => {
                (exchange.shares, exchange.stretches) = (shares, stretches);
                counts.exchanges += 1;
            }
            None => counts.alone += 1,
        }
    }
    client.doubt_shared_links();
    counts
}

/// What the server's capture has, less what has found its partner.
struct Theirs<'a> {
    server: &'a Analysis,
    clocks: &'a Clocks,
    connections: BTreeMap<[SocketAddr; 2], VecDeque<usize>>,
    /// By connection, in the order in which they began.
    exchanges: Vec<VecDeque<&'a ExchangeResult>>,
}

impl<'a> Theirs<'a> {
    /// Both ends say when an exchange began, or when it ended, but for what they do not know of the path:
    /// what was lost at one of the two is sent again late. Ours.
    const NEAR: Duration = Duration::from_millis(10);
    /// Within a minute, over which they are compared once, clocks drift by less: crystals differ by up to 100 ppm. Our
    /// choice.
    const DRIFT: Duration = Duration::from_millis(6);
    /// The most exchanges among which the same one is sought. Ours.
    const MAX_CANDIDATES: usize = 1 << 10;

    fn of(server: &'a Analysis, clocks: &'a Clocks) -> Self {
        let mut connections: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (index, it) in server.connections.iter().enumerate() {
            connections.entry([it.client, it.server]).or_default().push_back(index);
        }
        let mut exchanges = vec![VecDeque::new(); server.connections.len()];
        for exchange in &server.exchanges {
            exchanges[exchange.connection as usize].push_back(exchange);
        }
        Self { server, clocks, connections, exchanges }
    }

    /// The connection between these ends that was there at the same time. Ports are used again, by one
    /// connection after the other in both captures: what is over too early now stays too early.
    fn connection(&mut self, ends: [SocketAddr; 2], ours: &ConnectionResult) -> Option<usize> {
        let (server, clocks) = (self.server, self.clocks);
        let candidates = self.connections.get_mut(&ends)?;
        let max_error = clocks.max_error() + ours.round_trip;
        let span = |index: usize| {
            let theirs = &server.connections[index];
            [theirs.first_seen, theirs.last_seen].map(|at| clocks.at_client(at))
        };
        while let Some(&index) = candidates.front() {
            let [from, until] = span(index);
            if ours.first_seen <= until + max_error {
                let overlaps = from <= ours.last_seen + max_error;
                return overlaps.then(|| candidates.pop_front()).flatten();
            }
            candidates.pop_front();
        }
        None
    }

    /// The same exchange on the connection with this index.
    ///
    /// A request arrives after it left, and so does a response: at the server an exchange begins later than at the
    /// client, and ends earlier, however long the path held either. Of those, the one counts whose ends are nearest;
    /// a capture that lacks packets may have other ends.
    fn exchange(&mut self, connection: usize, ours: &ExchangeResult) -> Option<&'a ExchangeResult> {
        let round_trip = self.server.connections[connection].round_trip;
        let near = self.clocks.max_error() + round_trip + Self::NEAR;
        let candidates = &mut self.exchanges[connection];
        let begun = |it: &ExchangeResult| self.clocks.at_client(it.start);
        let over = |it: &ExchangeResult| begun(it) + it.duration;
        // Both lists are in order: what is too early now stays too early.
        while candidates.front().is_some_and(|it| over(it) + near < ours.start) {
            candidates.pop_front();
        }
        let end = ours.start + ours.duration;
        let is_near = |theirs: Instant, ours: Instant| {
            theirs.saturating_since(ours).max(ours.saturating_since(theirs)) <= near
        };
        let nearness = |it: &ExchangeResult| {
            let ends = [is_near(begun(it), ours.start), is_near(over(it), end)];
            ends.into_iter().filter(|it| *it).count()
        };
        let is_within = |it: &ExchangeResult| {
            begun(it) + Self::DRIFT >= ours.start && over(it) <= end + Self::DRIFT
        };
        let place_of = |fits: &dyn Fn(&ExchangeResult) -> bool| {
            candidates
                .iter()
                .take(Self::MAX_CANDIDATES)
                .take_while(|it| begun(it) <= end + near)
                .position(|it| {
                    let same = (it.stream, &it.request) == (ours.stream, &ours.request);
                    same && fits(it)
                })
        };
        let place = place_of(&|it| is_within(it) && nearness(it) == 2)
            .or_else(|| place_of(&is_within))
            .or_else(|| place_of(&|it| nearness(it) == 2))
            .or_else(|| place_of(&|it| nearness(it) == 1))?;
        candidates.remove(place)
    }
}

fn join_connections(ours: &mut ConnectionResult, theirs: &ConnectionResult) {
    let to_client = Direction::ToClient as usize;
    ours.vantage = Vantage::Both;
    ours.repeated[to_client] = theirs.repeated[to_client];
    ours.initial_window = theirs.initial_window.or(ours.initial_window);
    ours.quality.join(&theirs.quality);
}

/// What the request owes as the client has it, and the response as the server has it; `None` if both
/// together are not the exchange.
fn joined_shares(ours: &ExchangeResult, theirs: &ExchangeResult) -> Option<Shares> {
    /// What the ends do not know of the path is no larger, or one of them is wrong. Ours.
    const DISAGREEMENT: Duration = Duration::from_millis(1);
    let requests = ours.shares.iter().filter(|it| it.direction == Direction::ToServer);
    let responses = theirs.shares.iter().filter(|it| it.direction == Direction::ToClient);
    let mut shares: Vec<Share> = requests.chain(responses).collect();
    let whole: Duration = shares.iter().map(|it| it.span).sum();
    let missing = ours.duration.saturating_sub(whole);
    let of_client: Vec<Share> = ours.shares.iter().collect();
    let missing = add_way(&mut shares, &of_client, missing);
    let excess = whole.saturating_sub(ours.duration);
    if missing.max(excess) > ours.duration / 20 + DISAGREEMENT {
        return None;
    }
    if !missing.is_zero() {
        shares.push(of_way(Cause::Propagation, missing));
    }
    shorten(&mut shares, excess);
    Some(merged(shares).into_iter().collect())
}

/// The server's capture has not seen how long the last of a response was on its way; the client's has.
/// What is missing then.
fn add_way(shares: &mut Vec<Share>, ours: &[Share], mut missing: Duration) -> Duration {
    for cause in [Cause::Propagation, Cause::Transmission] {
        let more = owed(ours, cause).saturating_sub(owed(shares, cause)).min(missing);
        if !more.is_zero() {
            shares.push(of_way(cause, more));
            missing -= more;
        }
    }
    missing
}

fn owed(shares: &[Share], cause: Cause) -> Duration {
    let same = |it: &&Share| (it.cause, it.direction) == (cause, Direction::ToClient);
    shares.iter().filter(same).map(|it| it.span).sum()
}

/// Some of the way to the client.
fn of_way(cause: Cause, span: Duration) -> Share {
    Share {
        cause,
        direction: Direction::ToClient,
        span,
        times: 0,
        longest: span,
        evidence: Evidence::default(),
        confidence: Confidence::Medium,
        rival: None,
        kind: None,
        window: None,
        rule: Rule::BothClocks,
        doubt: None,
    }
}

/// Takes from the path first: that is what the ends know least.
fn shorten(shares: &mut [Share], mut by: Duration) {
    let of_path = |it: &Share| it.cause == Cause::Propagation || it.cause == Cause::Transmission;
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&it| std::cmp::Reverse((of_path(&shares[it]), shares[it].span)));
    for place in order {
        let share = &mut shares[place];
        let cut = by.min(share.span);
        share.span -= cut;
        share.longest = share.longest.min(share.span);
        by -= cut;
    }
}

/// The same, drawn over time: in order, without overlap, up to the end of the exchange.
fn joined_stretches(
    ours: &ExchangeResult,
    theirs: &ExchangeResult,
    clocks: &Clocks,
) -> Box<[Stretch]> {
    let requests = ours.stretches.iter().filter(|it| it.direction == Direction::ToServer).copied();
    let mut parts: Vec<Stretch> = requests.collect();
    let moved = |at: Instant| clocks.at_client(at).max(ours.start);
    for stretch in theirs.stretches.iter().filter(|it| it.direction == Direction::ToClient) {
        let mut stretch = *stretch;
        (stretch.from, stretch.until) = (moved(stretch.from), moved(stretch.until));
        parts.push(stretch);
    }
    parts.sort_by_key(|it| it.from);
    let mut cursor = ours.start;
    let mut stretches = Vec::new();
    for mut part in parts {
        ways(&ours.stretches, cursor, part.from, &mut stretches);
        part.from = part.from.max(cursor);
        if part.from < part.until {
            cursor = part.until;
            stretches.push(part);
        }
    }
    ways(&ours.stretches, cursor, ours.start + ours.duration, &mut stretches);
    stretches.into()
}

/// What only the client's capture has, such as how long the last of a response was on its way: the
/// path's time, as in [`add_way`].
fn ways(ours: &[Stretch], from: Instant, until: Instant, stretches: &mut Vec<Stretch>) {
    for it in ours {
        let mut way = *it;
        (way.from, way.until) = (it.from.max(from), it.until.min(until));
        if way.from >= way.until {
            continue;
        }
        if !matches!(it.cause, Cause::Propagation | Cause::Transmission) {
            (way.cause, way.direction) = (Cause::Propagation, Direction::ToClient);
        }
        way.confidence = way.confidence.min(Confidence::Medium);
        stretches.push(way);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(cause: Cause, direction: Direction, millis: u64) -> Share {
        Share { direction, ..of_way(cause, Duration::from_millis(millis)) }
    }

    fn spans(shares: &[Share]) -> Vec<(Cause, u128)> {
        shares.iter().map(|it| (it.cause, it.span.as_millis())).collect()
    }

    #[test]
    fn what_only_the_client_has_seen_of_the_way_is_added() {
        let ours = [share(Cause::Propagation, Direction::ToClient, 30)];
        let mut shares = vec![share(Cause::ServerThink, Direction::ToClient, 5)];
        let missing = add_way(&mut shares, &ours, Duration::from_millis(32));
        assert_eq!(missing, Duration::from_millis(2));
        assert_eq!(spans(&shares), [(Cause::ServerThink, 5), (Cause::Propagation, 30)]);
    }

    #[test]
    fn what_is_too_much_is_taken_from_the_path_first() {
        let mut shares = [
            share(Cause::NagleDelayedAck, Direction::ToClient, 40),
            share(Cause::Propagation, Direction::ToClient, 10),
            share(Cause::Transmission, Direction::ToClient, 3),
        ];
        shorten(&mut shares, Duration::from_millis(14));
        assert_eq!(spans(&merged(shares.into())), [(Cause::NagleDelayedAck, 39)]);
    }
}
