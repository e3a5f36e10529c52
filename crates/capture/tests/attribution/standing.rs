//! A queue that never empties, and distance: what both add to the least round trip is the same, and only the queue
//! varies.

use std::fmt::Write as _;

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
