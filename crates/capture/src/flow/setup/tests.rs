//! How set-up is attributed, by each of its bounds.

use ackwise_tcp::{Options, Segment, Timestamps};

use super::*;
use Direction::{ToClient, ToServer};

const fn micros(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

/// The least round trips from the vantage point to the server and to the client, in milliseconds.
fn distances(to_server: u64, to_client: u64) -> Distances {
    let mut distances = Distances::default();
    distances.sample(ToServer, Nanos::from_millis(to_server));
    distances.sample(ToClient, Nanos::from_millis(to_client));
    distances
}

/// SYNs, and those in answer: which way, when, with which timestamps.
fn handshake(syns: &[(Direction, u64, Option<[u32; 2]>)], distances: &Distances) -> Setup {
    let mut setup = Setup::default();
    for (number, &(direction, at, stamps)) in (1..).zip(syns) {
        let timestamps = stamps.map(|[value, echo]| Timestamps { value, echo });
        let options = Options { timestamps, ..Options::NONE };
        let packet = Packet {
            number,
            at: micros(at),
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &Segment { options, ..Segment::default() },
            payload: &[],
        };
        setup.handle_syn(direction, &packet, distances);
    }
    setup
}

/// What the set-up took by now: causes, rivals and microseconds.
fn shares(setup: &Setup) -> Vec<(Cause, Option<Cause>, u128)> {
    let shares = setup.account.as_ref().unwrap().shares();
    shares.map(|it| (it.cause, it.rival, it.span.as_micros())).collect()
}

#[test]
fn an_answer_is_to_the_last_syn_if_it_echoes_that_or_comes_too_soon_for_chance() {
    let near = distances(20, 0);
    for (why, again, answer, took) in [
        ("no SYN was sent again", None, (ToClient, 20_000, None), Some(20_000)),
        (
            "a hundredth of the time between them",
            Some((ToServer, 1_000_000, None)),
            (ToClient, 1_009_999, None),
            Some(9_999),
        ),
        ("no sooner", Some((ToServer, 1_000_000, None)), (ToClient, 1_010_000, None), None),
        (
            "it echoes the last",
            Some((ToServer, 1_000_000, Some([6, 0]))),
            (ToClient, 1_500_000, Some([9, 6])),
            Some(500_000),
        ),
        (
            "or the first",
            Some((ToServer, 1_000_000, Some([6, 0]))),
            (ToClient, 1_000_100, Some([9, 5])),
            None,
        ),
    ] {
        let first = (ToServer, 0, Some([5, 0]));
        let syns: Vec<_> = [Some(first), again, Some(answer)].into_iter().flatten().collect();
        let setup = handshake(&syns, &near);
        assert_eq!(setup.last_round_trip, took.map(Nanos::from_micros), "{why}");
        assert_eq!(setup.first_round_trip.is_some(), again.is_none(), "{why}");
    }
}

#[test]
fn a_syn_is_sent_again_because_it_was_lost_or_refused() {
    let (lost, refused) = (Cause::RetransmissionTimeout, Cause::AcceptQueueFull);
    let second = 1_000_000;
    for (why, path, syns, expected) in [
        (
            "seen far from the server",
            distances(20, 0),
            &[(ToServer, 0, None), (ToServer, second, None)][..],
            vec![(lost, Some(refused), 1_000_000)],
        ),
        (
            "seen at the server",
            distances(1, 200),
            &[(ToServer, 0, None), (ToServer, second, None)],
            vec![(refused, Some(lost), 1_000_000)],
        ),
        (
            "the server had answered",
            distances(1, 200),
            &[(ToServer, 0, None), (ToClient, 10, None), (ToServer, second, None)],
            vec![(lost, None, 1_000_000)],
        ),
        (
            "the answer was sent again",
            distances(1, 200),
            &[(ToServer, 0, None), (ToClient, 10, None), (ToClient, second, None)],
            vec![(lost, None, 1_000_000)],
        ),
    ] {
        assert_eq!(shares(&handshake(syns, &path)), expected, "{why}");
    }
}

/// A round trip of 20 ms, and two more.
#[test]
fn a_second_answer_to_a_second_syn_is_no_repetition_if_it_comes_soon() {
    for (answer, again) in [(1_060_000, false), (1_060_001, true)] {
        let syns = [(ToServer, 0), (ToClient, 20_000), (ToServer, 1_000_000), (ToClient, answer)];
        let setup =
            handshake(&syns.map(|(direction, at)| (direction, at, None)), &distances(20, 0));
        let cursor = setup.account.as_ref().unwrap().cursor();
        assert_eq!(cursor == micros(answer), again, "{answer}");
        assert!(setup.was_answered_again());
    }
    let syns = [(ToServer, 0, None), (ToServer, 1_000_000, None), (ToClient, 1_000_100, None)];
    assert!(!handshake(&syns, &distances(20, 0)).was_answered_again());
}

#[test]
fn the_opening_of_a_connection_waited_for_the_path_or_for_its_program_by_its_time() {
    let (stall, program) = (Some(Cause::PathStall), Some(Cause::ApplicationLimited));
    // The least round trip is 10 ms: two more are no stall.
    for (why, answer, opening, [is_first, has_data], rival) in [
        ("at once", Some(20_000), 20_000, [true, true], None),
        ("a millisecond later", Some(20_000), 21_000, [true, true], None),
        ("later, with data", Some(20_000), 21_001, [true, true], program),
        ("later, without", Some(20_000), 21_001, [true, false], None),
        ("as late as a path varies", Some(30_000), 30_000, [true, false], None),
        ("later", Some(30_000), 30_001, [true, true], stall),
        ("data before it is missing", Some(20_000), 20_000, [false, true], program),
        ("the answer is missing", None, 20_000, [true, true], program),
    ] {
        let mut path = distances(10, 0);
        let answer = answer.map(|at| (ToClient, at, None));
        let syns: Vec<_> = [Some((ToServer, 0, None)), answer].into_iter().flatten().collect();
        let mut setup = handshake(&syns, &path);
        for _ in 0..2 {
            setup.handle_opening(micros(opening), 3, is_first, has_data, &mut path);
        }
        let expected = [(Cause::Handshake, rival, u128::from(opening))];
        assert_eq!(shares(&setup), expected, "{why}");
    }
}

#[test]
fn a_handshake_shows_how_far_both_ends_are_unless_an_answer_was_sent_again_or_is_missing() {
    let syn = (ToServer, 0, None);
    for (syns, is_first, whole) in [
        (&[syn, (ToClient, 20_000, None)][..], true, 25),
        (&[syn, (ToClient, 20_000, None)], false, 0),
        (&[syn, (ToClient, 20_000, None), (ToClient, 24_000, None)], true, 0),
        (&[syn], true, 0),
        (&[], true, 0),
    ] {
        let mut path = Distances::default();
        let mut setup = handshake(syns, &path);
        setup.handle_opening(micros(25_000), 9, is_first, false, &mut path);
        assert_eq!(path.whole(), Nanos::from_millis(whole), "{syns:?} {is_first}");
    }
}

/// A socket was opened in advance if it lay idle for more than a quarter of its set-up, and for more than 4 ms.
#[test]
fn a_connection_that_lay_idle_was_opened_in_advance() {
    for (took, way, idle, in_advance) in [
        (8_000, 0, 4_000, false),
        (8_000, 0, 4_001, true),
        (40_000, 0, 10_000, false),
        (40_000, 0, 10_001, true),
        (40_000, 40, 20_000, false),
        (40_000, 40, 20_001, true),
    ] {
        let mut account = Account::new(micros(0));
        let evidence = Evidence::of([1, 2, 3]);
        account.add(micros(took), verdict(Rule::SetUp, Cause::Handshake, ToServer, evidence));
        let asked = micros(took + idle);
        let found = was_opened_in_advance(&account, Nanos::from_millis(way), asked);
        assert_eq!(found, in_advance, "{took} {way} {idle}");
    }
}

#[test]
fn what_leaves_behind_a_handshake_of_tls_waits_for_nobody_but_its_program() {
    use crate::attribution::gap::tests::{HELD, at};
    let written = |until| {
        let mut gap = Gap { until: at(until), free_at: at(0), arrived: at(0), ..HELD };
        gap.hold.wait = Wait::Application;
        gap
    };
    for (why, [in_tls, shaken], gap, direction, counts) in [
        ("no TLS", [false, false], HELD, ToServer, false),
        ("the handshake", [true, false], HELD, ToClient, true),
        ("its program", [true, false], written(70), ToServer, true),
        ("tickets", [true, true], HELD, ToClient, false),
        ("a request that Nagle held", [true, true], HELD, ToServer, true),
        ("one that was written later", [true, true], written(2), ToServer, false),
        ("at once", [true, true], written(1), ToServer, true),
    ] {
        let mut setup = handshake(&[(ToServer, 0, None)], &distances(20, 0));
        (setup.in_tls, setup.shaken) = (in_tls, shaken);
        setup.handle_gap(&gap, direction, None);
        let cursor = setup.account.as_ref().unwrap().cursor();
        assert_eq!(cursor == gap.until, counts, "{why}");
    }
}

#[test]
fn what_an_acknowledgement_shows_of_a_handshake_is_of_its_own_direction() {
    use crate::attribution::gap::tests::HELD;
    for (direction, resolved) in [(ToServer, true), (ToClient, false)] {
        let mut setup = Setup { again: Some((HELD, ToServer)), ..Setup::default() };
        let before = format!("{:?}", setup.again);
        setup.resolve(direction, Resolution::Spurious);
        assert_eq!(format!("{:?}", setup.again) != before, resolved, "{direction:?}");
    }
}
