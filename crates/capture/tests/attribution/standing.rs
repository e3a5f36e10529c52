//! A queue that never empties, and distance: what both add to the least round trip is the same, and only the queue
//! varies.

use std::fmt::Write as _;

use ackwise_capture::{
    analysis::ExchangeResult,
    attribution::{Confidence, Share},
};
use ackwise_cause::Cause;

use crate::wire::Streams;

/// Exchanges after a handshake, of which each end that is far away answers at these times, in milliseconds. The server
/// acknowledges a request at once, and thinks for 60 ms.
fn at_client(round_trips: &[f64]) -> String {
    let mut script = format!("0 > syn\n{0} < syn\n{0} > ack 0\n", round_trips[0]);
    let mut now = round_trips[0] + 0.2;
    for (number, round_trip) in round_trips[1..].iter().enumerate() {
        let [asked, answered] = [number * 100, number * 100];
        writeln!(script, "{now} > {asked}:{} psh ack {answered}", asked + 100).unwrap();
        now += round_trip;
        writeln!(script, "{now} < ack {}", asked + 100).unwrap();
        now += 60.0;
        writeln!(script, "{now} < {answered}:{} psh ack {}", answered + 100, asked + 100).unwrap();
        now += 0.2;
    }
    script
}

/// The same at the server, whose responses the client acknowledges at once.
fn at_server(round_trips: &[f64]) -> String {
    let mut script = format!("0 > syn\n0.01 < syn\n{} > ack 0\n", round_trips[0]);
    let mut now = round_trips[0] + 0.2;
    for (number, round_trip) in round_trips[1..].iter().enumerate() {
        let [asked, answered] = [number * 100, number * 100];
        writeln!(script, "{now} > {asked}:{} psh ack {answered}", asked + 100).unwrap();
        writeln!(script, "{} < ack {}", now + 0.01, asked + 100).unwrap();
        now += 60.0;
        writeln!(script, "{now} < {answered}:{} psh ack {}", answered + 100, asked + 100).unwrap();
        now += round_trip;
        writeln!(script, "{now} > ack {}", answered + 100).unwrap();
        now += 0.2;
    }
    script
}

/// Whether all `propagation` of more than 0.1 ms is `high`, without a rival; or else has a queue as its rival.
fn is_distance(script: &str, exchanges: usize) -> bool {
    let analysis = Streams::of_bodies(&vec![0; exchanges]).seen_as(script);
    assert_eq!(analysis.exchanges.len(), exchanges);
    let shares = analysis.exchanges.iter().flat_map(|it| &it.shares);
    let distance = shares.filter(|it| it.cause == Cause::Propagation && it.span.as_micros() > 100);
    let mut rivals: Vec<Option<Cause>> = distance.map(|it| it.rival).collect();
    rivals.dedup();
    match rivals[..] {
        [None] => true,
        [Some(Cause::Queueing)] => false,
        _ => panic!("{rivals:?}"),
    }
}

/// Of 120 ms, which one packet of 2.4 ms more or less fills.
const STANDING: &[f64] = &[131.49, 131.56, 130.90, 131.72, 129.08, 130.95];
const IDLE: &[f64] = &[131.02, 131.10, 130.95, 131.15, 131.0, 131.05];

#[test]
fn a_round_trip_that_varies_by_packets_of_others_may_be_a_queue() {
    for (round_trips, distance) in [
        (STANDING, false),
        (IDLE, true),
        // Some other traffic now and then.
        (&[131.02, 131.10, 134.0, 130.95, 131.0, 138.0], true),
        (&[131.02, 137.10, 134.0, 130.95, 133.0, 138.0], false),
        // Two alone.
        (&[131.02, 131.10], true),
        // The timer of a receiver that delays its acknowledgements.
        (&[131.02, 171.2, 171.1, 171.3, 130.9], true),
        // A short path.
        (&[0.3, 0.32, 0.28, 0.45], true),
        (&[20.0, 20.1, 21.5, 22.0, 20.9, 23.0], false),
    ] {
        let exchanges = round_trips.len() - 1;
        for script in [at_client(round_trips), at_server(round_trips)] {
            assert_eq!(is_distance(&script, exchanges), distance, "{round_trips:?}\n{script}");
        }
    }
}

/// Answers come with data: what varies is the server's time.
#[test]
fn a_program_that_takes_more_or_less_time_is_no_queue() {
    let answers_with_data = |script: &str| {
        let lines = script.lines().filter(|line| !line.contains("< ack"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let script = answers_with_data(&at_client(&[40.0, 41.0, 40.4, 42.0, 43.0]));
    assert!(is_distance(&script, 4), "{script}");
}

/// At the client, which has asked for as much on each of `ports` at nearly the same time over a link that takes 1.2 ms for a
/// segment: what each exchange is said to wait for most, and how sure that is.
fn downloads(ports: &[u16], starts: f64) -> Vec<(Cause, Confidence)> {
    const SEGMENTS: usize = 42;
    let (length, turn) = (SEGMENTS * 1_460, ports.len() as f64 * 1.2);
    let mut lines = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let at = number as f64 * starts;
        let mut line =
            |millis: f64, what: &str| lines.push((at + millis, format!("{what} port {port}")));
        line(0.0, "> syn");
        line(40.0, "< syn");
        line(40.1, "> ack 0");
        line(40.2, "> 0:100 psh ack 0");
        for segment in 0..SEGMENTS {
            let arrives = 81.0 + turn * segment as f64;
            let (from, to) = (segment * 1_460, (segment + 1) * 1_460);
            line(arrives, &format!("< {from}:{to} ack 100"));
            line(arrives + 0.02, &format!("> ack {to}"));
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let script: String = lines.iter().map(|(at, what)| format!("{at} {what}\n")).collect();
    let analysis = Streams::of_bodies(&[length - 100]).seen_as(&script);
    assert_eq!(analysis.exchanges.len(), ports.len());
    let of_link = |it: &Share| !matches!(it.cause, Cause::Handshake | Cause::Propagation);
    let longest = |it: &ExchangeResult| {
        it.shares
            .iter()
            .filter(of_link)
            .max_by_key(|it| it.span)
            .map(|it| (it.cause, it.confidence))
    };
    analysis.exchanges.iter().map(|it| longest(it).unwrap()).collect()
}

#[test]
fn what_waits_for_what_on_a_link_that_two_transfers_share_is_not_told_from_one() {
    let alone = downloads(&[50_001], 0.0);
    assert!(alone.iter().all(|it| it.1 > Confidence::Low), "{alone:?}");
    let together = downloads(&[50_001, 50_002], 1.2);
    assert!(together.iter().all(|it| it.1 == Confidence::Low), "{together:?}");
    // One after the other.
    let apart = downloads(&[50_001, 50_002], 1_000.0);
    assert!(apart.iter().all(|it| it.1 > Confidence::Low), "{apart:?}");
}
