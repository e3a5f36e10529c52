//! An exchange as the server's capture has it, between its two ways over the path.
//!
//! One capture alone takes the least round trip for the path, and what is more for the other end's time.
//! Both together show how long each way took, whatever the path did: what exceeds the least way and the
//! time on the link, other packets were served in, or the path delivered nothing.

use std::{net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::ExchangeResult,
    attribution::{Confidence, Evidence, Share, Shares},
    series::Stretch,
};
use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use super::journeys::Journeys;
use crate::joined::Clocks;

/// A part of a way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Part {
    cause: Cause,
    span: Duration,
    /// The captures show it.
    sure: bool,
}

impl Part {
    const fn new(cause: Cause, span: Duration) -> Self {
        Self { cause, span, sure: false }
    }
}

/// Where the time went, and when; `None` if the captures contradict each other.
pub(super) fn join(
    ours: &ExchangeResult,
    theirs: &ExchangeResult,
    clocks: &Clocks,
    (journeys, ends): (&Journeys, [SocketAddr; 2]),
) -> Option<(Shares, Box<[Stretch]>)> {
    let begun = clocks.at_client(theirs.start);
    let end = ours.start + ours.duration;
    let there = between(ours.start, begun)?;
    between(begun + theirs.duration, end)?;
    // Half the least round trip.
    let least = clocks.uncertainty;
    let on_link = |direction| owed(ours, Cause::Transmission, direction);
    let set_up = owed(theirs, Cause::Handshake, Direction::ToServer) > Duration::ZERO;
    let left = journeys.left(Direction::ToServer, ends, begun);
    let again = left.filter(|_| set_up).map(|it| it.saturating_since(ours.start));
    let again = again.filter(|it| *it > DISAGREEMENT).unwrap_or_default().min(there);
    let there = if set_up {
        way_of_syn(there, again)
    } else {
        let passage = Passage::of(journeys, Direction::ToServer, ends, [ours.start, begun], least);
        passage.parts(least, on_link(Direction::ToServer))
    };
    let passage =
        Passage::of(journeys, Direction::ToClient, ends, [begun + theirs.duration, end], least);
    let back = passage.parts(least, on_link(Direction::ToClient));
    let theirs = &set_up_by_client(theirs, (ours, again), begun);
    let shares = |parts: &[Part], direction| -> Vec<Share> {
        parts.iter().map(|part| part.share(direction)).collect()
    };
    let mut all = shares(&there, Direction::ToServer);
    all.extend(theirs.shares.iter());
    all.extend(shares(&back, Direction::ToClient));
    let stretches = stretches(ours, theirs, [&there, &back], begun);
    Some((merged(all).into_iter().collect(), stretches.into()))
}

/// What the captures do not show exactly is not more. Our choice.
const DISAGREEMENT: Duration = Duration::from_millis(1);

/// Whether the request or the response took much longer on its way than the least way and the link
/// explain.
pub(super) fn is_slow(ours: &ExchangeResult, theirs: &ExchangeResult, clocks: &Clocks) -> bool {
    let begun = clocks.at_client(theirs.start);
    let ways = [
        (between(ours.start, begun), Direction::ToServer),
        (between(begun + theirs.duration, ours.start + ours.duration), Direction::ToClient),
    ];
    ways.into_iter().any(|(way, direction)| {
        let on_link = owed(ours, Cause::Transmission, direction);
        let usual = clocks.uncertainty + on_link + clocks.uncertainty / 4 + DISAGREEMENT;
        way.is_some_and(|way| way > usual)
    })
}

/// What both captures show of a way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Passage {
    span: Duration,
    /// Since the first copy left: what arrived had been sent again.
    again: Duration,
    /// The path delivered nothing, in pauses of more than two round trips and 5 ms, as in one capture.
    silence: Duration,
    /// Packets of other connections arrived meanwhile.
    behind_others: bool,
}

impl Passage {
    fn of(
        journeys: &Journeys,
        direction: Direction,
        ends: [SocketAddr; 2],
        [left, arrived]: [Instant; 2],
        least: Duration,
    ) -> Self {
        const LEAST: Duration = Duration::from_millis(5);
        let span = arrived.saturating_since(left);
        let again = journeys.left(direction, ends, arrived).map(|it| it.saturating_since(left));
        let again = again.filter(|it| *it > DISAGREEMENT).unwrap_or_default().min(span);
        let late = [left + again + least, arrived];
        Self {
            span,
            again,
            silence: journeys.silence(direction, late, LEAST.max(least * 4)),
            behind_others: journeys.others(direction, ends, late),
        }
    }

    /// What its time went to.
    fn parts(self, least: Duration, on_link: Duration) -> Vec<Part> {
        let Self { span, again, silence, behind_others } = self;
        let propagation = (span - again).min(least);
        let transmission = (span - again - propagation).min(on_link);
        let rest = span - again - propagation - transmission;
        let stalled = rest.min(silence);
        // The clocks show the shortest way, and nothing is left that the link does not explain.
        let sure = again.is_zero() && rest <= DISAGREEMENT;
        // The end of a way is what it waited for last.
        [
            Part::new(Cause::RetransmissionTimeout, again),
            Part::new(Cause::PathStall, stalled),
            Part { sure: behind_others, ..Part::new(Cause::Queueing, rest - stalled) },
            Part { sure, ..Part::new(Cause::Transmission, transmission) },
            Part { sure, ..Part::new(Cause::Propagation, propagation) },
        ]
        .into_iter()
        .filter(|it| !it.span.is_zero())
        .collect()
    }
}

/// The way of the first SYN that arrived: it left `again` after the first one, which never arrived.
fn way_of_syn(span: Duration, again: Duration) -> Vec<Part> {
    [
        Part { sure: true, ..Part::new(Cause::RetransmissionTimeout, again) },
        Part { sure: true, ..Part::new(Cause::Handshake, span - again) },
    ]
    .into_iter()
    .filter(|it| !it.span.is_zero())
    .collect()
}

/// The server's exchange, in which the set-up lasts until the client has the answer to its SYN, the first
/// of which was sent again for so long.
fn set_up_by_client(
    theirs: &ExchangeResult,
    (ours, again): (&ExchangeResult, Duration),
    begun: Instant,
) -> ExchangeResult {
    let mut theirs = theirs.clone();
    let established = ours.start + again + owed(ours, Cause::Handshake, Direction::ToServer);
    let known = begun + owed(&theirs, Cause::Handshake, Direction::ToServer);
    let later = established.saturating_since(known);
    let mut shares: Vec<Share> = theirs.shares.iter().collect();
    let place = |shares: &[Share], cause| {
        let same = |it: &Share| (it.cause, it.direction) == (cause, Direction::ToServer);
        shares.iter().position(same)
    };
    let places = place(&shares, Cause::Handshake).zip(place(&shares, Cause::Propagation));
    let Some((set_up, way)) = places else { return theirs };
    let moved = later.min(shares[way].span);
    shares[set_up].span += moved;
    shares[set_up].longest = shares[set_up].longest.max(shares[set_up].span);
    shares[way].span -= moved;
    shares[way].longest = shares[way].longest.min(shares[way].span);
    theirs.shares = shares.into_iter().filter(|it| !it.span.is_zero()).collect();
    let way = (Cause::Propagation, Direction::ToServer);
    if let Some(place) = theirs.stretches.iter().position(|it| (it.cause, it.direction) == way) {
        let mut stretches = theirs.stretches.to_vec();
        let until = (stretches[place].from + moved).min(stretches[place].until);
        let mut set_up = stretches[place];
        (set_up.cause, set_up.until) = (Cause::Handshake, until);
        stretches[place].from = until;
        stretches.insert(place, set_up);
        stretches.retain(|it| it.from < it.until);
        theirs.stretches = stretches.into();
    }
    theirs
}

impl Part {
    fn share(self, direction: Direction) -> Share {
        let Self { cause, span, sure: _ } = self;
        let (confidence, rival) = self.verdict();
        let evidence = Evidence::default();
        Share {
            cause,
            direction,
            span,
            times: 1,
            longest: span,
            evidence,
            confidence,
            rival,
            kind: None,
        }
    }

    fn verdict(self) -> (Confidence, Option<Cause>) {
        let rival = match self.cause {
            _ if self.sure => return (Confidence::High, None),
            Cause::Queueing => Some(Cause::PathStall),
            // The captures may lack what it waited behind.
            Cause::PathStall => Some(Cause::Queueing),
            Cause::RetransmissionTimeout => Some(Cause::LossRecovery),
            _ => None,
        };
        (Confidence::Medium, rival)
    }
}

/// The same, drawn over time.
fn stretches(
    ours: &ExchangeResult,
    theirs: &ExchangeResult,
    [there, back]: [&[Part]; 2],
    begun: Instant,
) -> Vec<Stretch> {
    // Kept for all exchanges or for none.
    let Some(template) = ours.stretches.first().copied() else { return Vec::new() };
    let mut stretches = Vec::new();
    let mut draw = |mut from: Instant, parts: &[Part], direction| {
        for part in parts {
            let until = from + part.span;
            let (confidence, rival) = part.verdict();
            let (cause, evidence) = (part.cause, Evidence::default());
            let mut stretch = template;
            (stretch.from, stretch.until, stretch.evidence) = (from, until, evidence);
            (stretch.cause, stretch.direction) = (cause, direction);
            (stretch.confidence, stretch.rival) = (confidence, rival);
            stretches.push(stretch);
            from = until;
        }
    };
    draw(ours.start, there, Direction::ToServer);
    draw(begun + theirs.duration, back, Direction::ToClient);
    let moved = theirs.stretches.iter().map(|it| {
        let mut stretch = *it;
        stretch.from = begun + it.from.saturating_since(theirs.start);
        stretch.until = begun + it.until.saturating_since(theirs.start);
        stretch
    });
    stretches.extend(moved);
    stretches.sort_by_key(|it| it.from);
    stretches
}

/// One share for each cause and direction, none without time.
pub(super) fn merged(shares: Vec<Share>) -> Vec<Share> {
    let mut merged: Vec<Share> = Vec::new();
    for share in shares.into_iter().filter(|it| !it.span.is_zero()) {
        let same = |it: &&mut Share| (it.cause, it.direction) == (share.cause, share.direction);
        match merged.iter_mut().find(same) {
            Some(before) => {
                before.span += share.span;
                before.times += share.times;
                before.longest = before.longest.max(share.longest);
                before.rival = before.rival.or(share.rival);
                before.kind = before.kind.or(share.kind);
            }
            None => merged.push(Share { times: share.times.max(1), ..share }),
        }
    }
    merged
}

/// How much later `later` is; `None` if it is earlier.
fn between(earlier: Instant, later: Instant) -> Option<Duration> {
    (later >= earlier).then(|| later.saturating_since(earlier))
}

fn owed(exchange: &ExchangeResult, cause: Cause, direction: Direction) -> Duration {
    let same = |it: &Share| (it.cause, it.direction) == (cause, direction);
    exchange.shares.iter().filter(same).map(|it| it.span).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_first_as_short_as_it_ever_was_then_on_the_link_then_behind_others() {
        use Cause::{PathStall, Propagation, Queueing, RetransmissionTimeout, Transmission};
        for (span, on_link, again, silence, expected) in [
            (0, 5, 0, 0, &[][..]),
            (4, 5, 0, 0, &[(Propagation, 4)]),
            (5, 5, 0, 0, &[(Propagation, 5)]),
            (8, 5, 0, 0, &[(Transmission, 3), (Propagation, 5)]),
            (10, 5, 0, 9, &[(Transmission, 5), (Propagation, 5)]),
            (90, 5, 0, 0, &[(Queueing, 80), (Transmission, 5), (Propagation, 5)]),
            (90, 0, 0, 0, &[(Queueing, 85), (Propagation, 5)]),
            (90, 0, 0, 60, &[(PathStall, 60), (Queueing, 25), (Propagation, 5)]),
            (90, 0, 0, 99, &[(PathStall, 85), (Propagation, 5)]),
            (90, 5, 80, 0, &[(RetransmissionTimeout, 80), (Transmission, 5), (Propagation, 5)]),
            (90, 5, 90, 0, &[(RetransmissionTimeout, 90)]),
        ] {
            let [span, on_link, again, silence] =
                [span, on_link, again, silence].map(Duration::from_millis);
            let passage = Passage { span, again, silence, behind_others: false };
            let parts: Vec<_> = passage
                .parts(Duration::from_millis(5), on_link)
                .iter()
                .map(|it| (it.cause, it.span))
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|(cause, ms)| (*cause, Duration::from_millis(*ms))).collect();
            assert_eq!(parts, expected, "{span:?}");
        }
    }

    #[test]
    fn a_syn_that_was_lost_waited_for_its_timer() {
        use Cause::{Handshake, RetransmissionTimeout};
        let [none, way, again] = [0, 20, 2_000].map(Duration::from_millis);
        for (span, again, expected) in [
            (way, none, &[(Handshake, way)][..]),
            (again + way, again, &[(RetransmissionTimeout, again), (Handshake, way)]),
            (none, none, &[]),
        ] {
            let parts = way_of_syn(span, again);
            let found: Vec<_> = parts.iter().map(|it| (it.cause, it.span)).collect();
            assert_eq!(found, expected);
            assert!(parts.iter().all(|it| it.verdict() == (Confidence::High, None)));
        }
    }

    #[test]
    fn a_queue_is_sure_if_packets_of_others_came_out_of_it() {
        for (behind_others, confidence) in [(true, Confidence::High), (false, Confidence::Medium)] {
            let passage =
                Passage { span: Duration::from_millis(90), behind_others, ..Passage::default() };
            let parts = passage.parts(Duration::from_millis(5), Duration::ZERO);
            assert_eq!(parts[0].cause, Cause::Queueing);
            assert_eq!(parts[0].verdict().0, confidence);
        }
    }
}
