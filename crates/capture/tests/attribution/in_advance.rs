//! A connection is opened for a request, or before there is one: then nobody waits for it.

use ackwise_capture::attribution::Confidence;
use ackwise_cause::{Cause, Direction};

use crate::wire::Streams;

/// A client `idle` milliseconds after a handshake of `round_trip`, a server that answers within a millisecond.
fn asked_after(round_trip: f64, idle: f64) -> String {
    let ready = round_trip + 0.05;
    let asked = ready + idle;
    let answered = asked + round_trip + 0.8;
    format!(
        "
        0 > syn
        {round_trip} < syn
        {ready} > ack 0
        {asked} > 0:100 psh ack 0
        {answered} < 0:600 psh ack 100
        {} > ack 600
        ",
        answered + 0.05
    )
}

/// What the only exchange took, in milliseconds, and what of that the client before its request, how sure.
fn taken(script: &str) -> (f64, Option<(f64, Confidence)>) {
    let analysis = Streams::of_bodies(&[500]).seen_as(script);
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    let of_client = exchange
        .shares
        .iter()
        .find(|it| (it.cause, it.direction) == (Cause::ApplicationLimited, Direction::ToServer));
    let millis = |span: std::time::Duration| span.as_secs_f64() * 1e3;
    (millis(exchange.duration), of_client.map(|it| (millis(it.span), it.confidence)))
}

#[test]
fn a_client_that_asks_at_once_has_waited_for_its_connection() {
    for (round_trip, idle, expected) in [
        (0.1, 0.05, Confidence::High),
        (0.1, 0.9, Confidence::High),
        (20.0, 0.9, Confidence::High),
        // A slow client; the longer it waited for the connection, the less likely it was opened in advance.
        (20.0, 4.5, Confidence::Low),
        (100.0, 20.0, Confidence::Low),
    ] {
        let (took, of_client) = taken(&asked_after(round_trip, idle));
        let whole = 2.0 * round_trip + 0.85 + idle;
        assert!((took - whole).abs() < 0.1, "{round_trip}, {idle}: {took}");
        let (span, confidence) = of_client.unwrap();
        assert!((span - idle).abs() < 0.1, "{round_trip}, {idle}: {span}");
        assert_eq!(confidence, expected, "{round_trip}, {idle}");
    }
}

#[test]
fn nobody_waited_for_a_socket_that_a_browser_opened_in_advance() {
    for (round_trip, idle) in
        [(0.1, 1.2), (0.1, 7.0), (0.1, 50.0), (20.0, 6.0), (20.0, 150.0), (100.0, 40.0)]
    {
        let (took, of_client) = taken(&asked_after(round_trip, idle));
        assert!((took - round_trip - 0.8).abs() < 0.1, "{round_trip}, {idle}: {took}");
        assert_eq!(of_client, None, "{round_trip}, {idle}");
    }
}

#[test]
fn a_request_in_two_writes_is_a_pause_in_its_middle() {
    for idle in [0.05, 30.0] {
        let asked = 20.05 + idle;
        let script = format!(
            "
            0 > syn
            20 < syn
            20.05 > ack 0
            {asked} > 0:60 psh ack 0
            {} < ack 60
            {} > 60:100 psh ack 0
            {} < 0:600 psh ack 100
            ",
            asked + 20.1,
            asked + 70.0,
            asked + 90.5,
        );
        let (_, of_client) = taken(&script);
        let (span, confidence) = of_client.unwrap();
        assert!(span > 49.0, "{idle}: {span}");
        assert_eq!(confidence, Confidence::High, "{idle}");
    }
}
