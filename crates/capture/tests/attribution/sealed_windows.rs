//! HTTP/2's flow control under TLS without secrets: what shows it, and what looks alike.

use std::time::Duration;

use ackwise_capture::{analysis::ExchangeResult, attribution::Confidence};
use ackwise_cause::Cause;

use crate::tls_wire::{CLIENT, SERVER, Tls};

/// A record with one DATA frame of 4,096 bytes, and one with WINDOW_UPDATE, with what TLS 1.3 adds.
const WINDOW: usize = 4_096 + 9 + 17;
const CREDIT: usize = 13 + 17;

/// The least round trip, in milliseconds.
const ROUND_TRIP: f64 = 10.0;

/// What a client and a server do again and again.
#[derive(Clone, Copy)]
struct Round {
    /// The lengths of the client's record and of the server's.
    says: usize,
    answer: usize,
    /// So long after what the server sent last.
    says_after: f64,
    answers_after: f64,
}

const HELD: Round =
    Round { says: CREDIT, answer: WINDOW, says_after: 0.1, answers_after: ROUND_TRIP + 0.2 };

/// How long flow control held a response with ten such rounds, in milliseconds, if the verdict is that of a guess.
fn held(round: Round) -> f64 {
    let mut tls = Tls::answered_with("1.3", &format!("23:{}", round.answer));
    let mut last = 51.02;
    for _ in 0..10 {
        if round.says_after < round.answers_after {
            tls.send(last + round.says_after, CLIENT, &format!("23:{}", round.says));
        }
        last += round.answers_after;
        tls.send(last, SERVER, &format!("23:{}", round.answer));
        tls.ack(last + 0.01, CLIENT);
    }
    let exchanges = tls.seen().exchanges;
    let shares = exchanges.iter().flat_map(|it: &ExchangeResult| &it.shares);
    let by_window = shares.filter(|it| it.cause == Cause::H2FlowControl);
    let spans = by_window.map(|it| {
        assert_eq!(it.confidence, Confidence::Medium, "{}", tls.script);
        assert_eq!(it.rival, Some(Cause::ApplicationLimited), "{}", tls.script);
        it.span
    });
    spans.sum::<Duration>().as_secs_f64() * 1e3
}

/// Of ten stalls, the first two show nothing yet.
#[test]
fn a_server_that_goes_on_with_credit_again_and_again_was_held() {
    let held = held(HELD);
    assert!((8.0 * ROUND_TRIP..8.5 * ROUND_TRIP).contains(&held), "{held}");
}

#[test]
fn what_looks_alike_is_not_flow_control() {
    for (what, round) in [
        ("a request of five fields", Round { says: CREDIT + 1, ..HELD }),
        ("a PING", Round { says: 17 + 17, ..HELD }),
        ("an acknowledgement of SETTINGS", Round { says: 9 + 17, ..HELD }),
        ("responses: HEADERS and DATA", Round { answer: WINDOW + 9 + 11, ..HELD }),
        ("writes of any size", Round { answer: 4_000, ..HELD }),
        ("a server that thinks", Round { answers_after: 1.6 * ROUND_TRIP, ..HELD }),
        ("a server that thinks a little", Round { answers_after: 1.4 * ROUND_TRIP, ..HELD }),
        ("no credit", Round { says_after: 2.0 * ROUND_TRIP, ..HELD }),
    ] {
        assert_eq!(held(round), 0.0, "{what}");
    }
}
