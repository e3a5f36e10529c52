//! An exchange as the server's capture has it, between its two ways over the path.
//!
//! One capture alone takes the least round trip for the path, and what is more for the other end's time.
//! Both together show how long each way took, whatever the path did: what exceeds the least way and the
//! time on the link, other packets were served in, or the path delivered nothing.

use std::time::Duration;

use ackwise_capture::{
    analysis::ExchangeResult,
    attribution::{Confidence, Evidence, Share, Shares},
    series::Stretch,
};
use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use super::join::merged;
use crate::joined::Clocks;

/// A part of a way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Part {
    cause: Cause,
    span: Duration,
}

/// Where the time went, and when; `None` if the captures contradict each other.
pub(super) fn join(
    ours: &ExchangeResult,
    theirs: &ExchangeResult,
    clocks: &Clocks,
) -> Option<(Shares, Box<[Stretch]>)> {
    let begun = clocks.at_client(theirs.start);
    let end = ours.start + ours.duration;
    let there = between(ours.start, begun)?;
    let back = between(begun + theirs.duration, end)?;
    // Half the least round trip.
    let least = clocks.uncertainty;
    let on_link = |direction| owed(ours, Cause::Transmission, direction);
    let set_up = owed(theirs, Cause::Handshake, Direction::ToServer) > Duration::ZERO;
    let there = if set_up {
        vec![Part { cause: Cause::Handshake, span: there }]
    } else {
        way(there, least, on_link(Direction::ToServer))
    };
    let back = way(back, least, on_link(Direction::ToClient));
    let shares = |parts: &[Part], direction| -> Vec<Share> {
        parts.iter().map(|part| part.share(direction)).collect()
    };
    let mut all = shares(&there, Direction::ToServer);
    all.extend(theirs.shares.iter());
    all.extend(shares(&back, Direction::ToClient));
    let stretches = stretches(ours, theirs, [&there, &back], begun);
    Some((merged(all).into_iter().collect(), stretches.into()))
}

/// What the time of a way went to.
fn way(span: Duration, least: Duration, on_link: Duration) -> Vec<Part> {
    let propagation = span.min(least);
    let transmission = (span - propagation).min(on_link);
    let queueing = span - propagation - transmission;
    // The end of a way is what it waited for last.
    [
        (Cause::Queueing, queueing),
        (Cause::Transmission, transmission),
        (Cause::Propagation, propagation),
    ]
    .into_iter()
    .filter(|(_, span)| !span.is_zero())
    .map(|(cause, span)| Part { cause, span })
    .collect()
}

impl Part {
    fn share(self, direction: Direction) -> Share {
        let Self { cause, span } = self;
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

    /// Behind which packets it was, the captures do not show.
    fn verdict(self) -> (Confidence, Option<Cause>) {
        match self.cause {
            Cause::Queueing => (Confidence::Medium, Some(Cause::PathStall)),
            _ => (Confidence::Medium, None),
        }
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
        use Cause::{Propagation, Queueing, Transmission};
        for (span, least, on_link, expected) in [
            (0, 5, 5, &[][..]),
            (4, 5, 5, &[(Propagation, 4)]),
            (5, 5, 5, &[(Propagation, 5)]),
            (8, 5, 5, &[(Transmission, 3), (Propagation, 5)]),
            (10, 5, 5, &[(Transmission, 5), (Propagation, 5)]),
            (90, 5, 5, &[(Queueing, 80), (Transmission, 5), (Propagation, 5)]),
            (90, 5, 0, &[(Queueing, 85), (Propagation, 5)]),
        ] {
            let [span, least, on_link] = [span, least, on_link].map(Duration::from_millis);
            let parts: Vec<_> =
                way(span, least, on_link).iter().map(|it| (it.cause, it.span)).collect();
            let expected: Vec<_> =
                expected.iter().map(|(cause, ms)| (*cause, Duration::from_millis(*ms))).collect();
            assert_eq!(parts, expected, "{span:?}");
        }
    }
}
