//! Requests that Nagle's algorithm holds before their first byte: HTTP/2 answers a PING, and the ACK of that is late.

use std::fmt::Write as _;

use ackwise_capture::analysis::{Analysis, HeldRequests};

use crate::wire::Streams;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// SETTINGS without any.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// PING has 8 bytes (RFC 9113, section 6.7).
const PING: usize = 17;
/// HEADERS of `GET / HTTP/1.1`, and of `200`, which end their streams.
const ASK: usize = 9 + 3;
const ANSWER: usize = 9 + 1;
const ROUNDS: usize = 5;

/// Both ends of [`ROUNDS`] exchanges, with a PING of the server behind each response, and its answer.
fn streams() -> Streams {
    let ping = |flags| [&[0, 0, 8, 6, flags, 0, 0, 0, 0][..], &[7; 8]].concat();
    let (mut client, mut server) = ([PREFACE, SETTINGS].concat(), SETTINGS.to_vec());
    for stream in (1..).step_by(2).take(ROUNDS) {
        client.extend([0, 0, 3, 1, 5, 0, 0, 0, stream, 0x82, 0x86, 0x84]);
        client.extend(ping(1));
        server.extend([0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88]);
        server.extend(ping(0));
    }
    Streams::of(&client, &server)
}

/// At the client, next to the server: each answer to a PING is acknowledged after 40 ms, and the next request leaves at
/// `later`, in milliseconds after the answer.
fn seen(later: f64) -> Analysis {
    let (mut asked, mut told) = (PREFACE.len() + SETTINGS.len(), SETTINGS.len());
    let mut script = format!(
        "
        0    > syn
        0.02 < syn
        0.03 > ack 0
        0.1  > 0:{asked} psh ack 0
        0.12 < 0:{told} psh ack {asked}
        0.14 > ack {told}
        "
    );
    let mut at = 1.0;
    for _ in 0..ROUNDS {
        let (ask, answer) = (asked + ASK, told + ANSWER + PING);
        let pong = ask + PING;
        let acked_first = at + 0.2 + later > at + 40.2;
        let _ = write!(
            script,
            "
            {at} > {asked}:{ask} psh ack {told}
            {} < {told}:{answer} psh ack {ask}
            {} > {ask}:{pong} psh ack {answer}
            ",
            at + 0.15,
            at + 0.2,
        );
        if acked_first {
            let _ = writeln!(script, "{} < ack {pong}", at + 40.2);
        }
        (asked, told, at) = (pong, answer, at + 0.2 + later);
    }
    streams().seen_as(&script)
}

fn held(analysis: &Analysis) -> Option<HeldRequests> {
    assert_eq!(analysis.exchanges.len(), ROUNDS);
    analysis.connections[0].held_requests.as_deref().copied()
}

#[test]
fn a_request_that_leaves_with_the_late_ack_of_a_ping_s_answer_was_held() {
    let analysis = seen(40.02);
    let held = held(&analysis).unwrap();
    assert_eq!(u64::from(held.count), ROUNDS as u64 - 1);
    assert!((39..=41).contains(&held.shortest.as_millis()), "{held:?}");
    assert!((39..=41).contains(&held.longest.as_millis()), "{held:?}");
    // It is in front of the exchanges.
    assert!(analysis.exchanges.iter().all(|it| it.duration.as_millis() < 5));
}

#[test]
fn a_client_that_asks_when_it_likes_holds_nothing() {
    for later in [60.0, 240.0, 45.0] {
        assert_eq!(held(&seen(later)), None, "{later} ms after the answer");
    }
}

#[test]
fn a_client_without_the_algorithm_does_not_wait_for_the_ack() {
    for later in [5.0, 30.0] {
        assert_eq!(held(&seen(later)), None, "{later} ms after the answer");
    }
}
