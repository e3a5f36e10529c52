//! An exchange as the server's capture has it, between its two ways over the path.
//!
//! One capture alone takes the least round trip for the path, and what is more for the other end's time.
//! Both together show how long each way took, whatever the path did: what exceeds the least way and the
//! time on the link, other packets were served in, or the path delivered nothing.

use std::{net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::ExchangeResult,
    attribution::{Confidence, Evidence, Rule, Share, Shares},
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
    let sure = |cause, span| Part { sure: true, ..Part::new(cause, span) };
    let there = if set_up {
        way_of_syn(there, again)
    } else {
        // If the request was late at the server, only the client's exchange begins with the set-up.
        let set_up = owed(ours, Cause::Handshake, Direction::ToServer).min(there);
        let span = [ours.start + set_up, begun];
        let passage = Passage::of(journeys, Direction::ToServer, ends, span, least);
        let set_up = Some(sure(Cause::Handshake, set_up)).filter(|it| !it.span.is_zero());
        let way = passage.parts(least, on_link(Direction::ToServer));
        set_up.into_iter().chain(way).collect()
    };
    let passage =
        Passage::of(journeys, Direction::ToClient, ends, [begun + theirs.duration, end], least);
    let back = passage.parts(least, on_link(Direction::ToClient));
    let theirs = &set_up_by_client(theirs, (ours, again), begun);
    let request = |span| {
        Passage::of(journeys, Direction::ToServer, ends, span, least).parts(least, Duration::ZERO)
    };
    let theirs = &set_up_before_request(theirs, (ours, again), begun, request);
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
    /// Of this, nothing of the connection arrived, in pauses as long as those below: a timer repaired the loss.
    paused: Duration,
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
        let pause = LEAST.max(least * 4);
        Self {
            span,
            again,
            paused: journeys.silence_of(direction, ends, [left + least, arrived], pause).min(again),
            silence: journeys.silence(direction, late, pause),
            behind_others: journeys.others(direction, ends, late),
        }
    }

    /// What its time went to.
    fn parts(self, least: Duration, on_link: Duration) -> Vec<Part> {
        let Self { span, again, paused, silence, behind_others } = self;
        // Other data arrived meanwhile, and links were busy with that.
        let before = (again - paused).min(on_link);
        let propagation = (span - again).min(least);
        let transmission = (span - again - propagation).min(on_link);
        let rest = span - again - propagation - transmission;
        let stalled = rest.min(silence);
        // The clocks show the shortest way, and nothing is left that the link does not explain.
        let sure = again.is_zero() && rest <= DISAGREEMENT;
        // The end of a way is what it waited for last.
        [
            Part::new(Cause::Transmission, before),
            Part::new(Cause::LossRecovery, again - paused - before),
            Part::new(Cause::RetransmissionTimeout, paused),
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

/// The server's exchange, in which the set-up ends when the client has the answer to its SYN: then the
/// request is on its way.
fn set_up_before_request(
    theirs: &ExchangeResult,
    (ours, again): (&ExchangeResult, Duration),
    begun: Instant,
    request: impl Fn([Instant; 2]) -> Vec<Part>,
) -> ExchangeResult {
    let mut theirs = theirs.clone();
    let established = ours.start + again + owed(ours, Cause::Handshake, Direction::ToServer);
    let set_up = owed(&theirs, Cause::Handshake, Direction::ToServer);
    let rest = (begun + set_up).saturating_since(established).min(set_up);
    if rest.is_zero() || established == ours.start {
        return theirs;
    }
    let parts = request([begun + (set_up - rest), begun + set_up]);
    let is_set_up =
        |cause, direction| (cause, direction) == (Cause::Handshake, Direction::ToServer);
    let mut shares: Vec<Share> = theirs.shares.iter().collect();
    for share in shares.iter_mut().filter(|it| is_set_up(it.cause, it.direction)) {
        share.span -= rest;
        share.longest = share.longest.min(share.span);
    }
    shares.extend(parts.iter().map(|part| part.share(Direction::ToServer)));
    theirs.shares = merged(shares).into_iter().collect();
    let mut stretches = theirs.stretches.to_vec();
    if let Some(place) = stretches.iter().position(|it| is_set_up(it.cause, it.direction)) {
        let template = stretches[place];
        let from = template.from + (set_up - rest);
        stretches[place].until = from.min(template.until);
        let way = drawn(template, from, &parts, Direction::ToServer);
        stretches.splice(place + 1..place + 1, way);
        stretches.retain(|it| it.from < it.until);
        theirs.stretches = stretches.into();
    }
    theirs
}

/// The parts of a way, one after the other.
fn drawn(
    template: Stretch,
    mut from: Instant,
    parts: &[Part],
    direction: Direction,
) -> Vec<Stretch> {
    let draw = |part: &Part| {
        let until = from + part.span;
        let (confidence, rival) = part.verdict();
        let (cause, evidence) = (part.cause, Evidence::default());
        let mut stretch = template;
        (stretch.from, stretch.until, stretch.evidence) = (from, until, evidence);
        (stretch.cause, stretch.direction) = (cause, direction);
        (stretch.confidence, stretch.rival) = (confidence, rival);
        (stretch.rule, stretch.doubt) = (Rule::BothClocks, None);
        from = until;
        stretch
    };
    parts.iter().map(draw).collect()
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
            window: None,
            rule: Rule::BothClocks,
            doubt: None,
        }
    }

    fn verdict(self) -> (Confidence, Option<Cause>) {
        let rival = match self.cause {
            _ if self.sure => return (Confidence::High, None),
            Cause::Queueing => Some(Cause::PathStall),
            // The captures may lack what it waited behind.
            Cause::PathStall => Some(Cause::Queueing),
            Cause::RetransmissionTimeout => Some(Cause::LossRecovery),
            Cause::LossRecovery => Some(Cause::RetransmissionTimeout),
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
    let mut stretches = drawn(template, ours.start, there, Direction::ToServer);
    stretches.extend(drawn(template, begun + theirs.duration, back, Direction::ToClient));
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
                let windows = before.window.zip(share.window).map(|it| it.0.and(it.1));
                before.window = windows.or(before.window).or(share.window);
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
        use Cause::{
            LossRecovery, PathStall, Propagation, Queueing, RetransmissionTimeout, Transmission,
        };
        let timeout = RetransmissionTimeout;
        for (span, on_link, [again, paused], silence, expected) in [
            (0, 5, [0; 2], 0, &[][..]),
            (4, 5, [0; 2], 0, &[(Propagation, 4)]),
            (5, 5, [0; 2], 0, &[(Propagation, 5)]),
            (8, 5, [0; 2], 0, &[(Transmission, 3), (Propagation, 5)]),
            (10, 5, [0; 2], 9, &[(Transmission, 5), (Propagation, 5)]),
            (90, 5, [0; 2], 0, &[(Queueing, 80), (Transmission, 5), (Propagation, 5)]),
            (90, 0, [0; 2], 0, &[(Queueing, 85), (Propagation, 5)]),
            (90, 0, [0; 2], 60, &[(PathStall, 60), (Queueing, 25), (Propagation, 5)]),
            (90, 0, [0; 2], 99, &[(PathStall, 85), (Propagation, 5)]),
            (90, 5, [80, 80], 0, &[(timeout, 80), (Transmission, 5), (Propagation, 5)]),
            (90, 5, [90, 90], 0, &[(timeout, 90)]),
            (90, 0, [85, 0], 0, &[(LossRecovery, 85), (Propagation, 5)]),
            (90, 60, [85, 30], 0, &[(Transmission, 55), (timeout, 30), (Propagation, 5)]),
        ] {
            let [span, on_link, again, paused, silence] =
                [span, on_link, again, paused, silence].map(Duration::from_millis);
            let passage = Passage { span, again, paused, silence, behind_others: false };
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
