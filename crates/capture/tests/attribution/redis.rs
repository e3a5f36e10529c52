//! Commands of Redis that are pipelined, or that wait by themselves.

use std::fmt::Write as _;

use ackwise_capture::{
    analysis::{Analysis, ExchangeResult},
    conversation::{Protocol, Tunnel},
};
use ackwise_cause::Cause;

use crate::wire::Streams;

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

fn millis(exchange: &ExchangeResult, cause: Cause) -> f64 {
    let shares = exchange.shares.iter().filter(|it| it.cause == cause);
    shares.map(|it| it.span.as_nanos() as f64 / 1e6).sum()
}

/// Two commands leave together; the server works for 40 ms.
fn pipelined(answers: &str) -> Vec<ExchangeResult> {
    let capture = format!(
        "
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:28 psh ack 0
        {answers}
        150  > ack 14
        "
    );
    let streams = Streams::of(&PING.repeat(2), &PONG.repeat(2));
    let analysis = streams.seen_as(&capture);
    assert_eq!(analysis.connections[0].protocol, Some(Protocol::Resp));
    analysis.exchanges.to_vec()
}

#[test]
fn replies_in_one_packet_have_not_waited_for_each_other() {
    for exchange in pipelined("80.2 < 0:14 psh ack 28") {
        assert_eq!(exchange.request.as_deref(), Some("PING"));
        assert_eq!(millis(&exchange, Cause::HeadOfLine), 0.0, "{exchange:?}");
        let waited = millis(&exchange, Cause::ServerThink) + millis(&exchange, Cause::Queueing);
        assert!((39.0..41.0).contains(&waited), "{exchange:?}");
    }
}

#[test]
fn the_second_reply_has_waited_for_the_first_in_another_packet() {
    let exchanges = pipelined("80.2 < 0:7 psh ack 28\n110.2 < 7:14 psh ack 28");
    let waited = millis(&exchanges[1], Cause::HeadOfLine);
    assert!((39.0..41.0).contains(&waited), "{exchanges:?}");
}

#[test]
fn nobody_is_blamed_for_a_command_that_blocks() {
    const BLPOP: &[u8] = b"*3\r\n$5\r\nBLPOP\r\n$1\r\nq\r\n$1\r\n0\r\n";
    assert_eq!(BLPOP.len(), 29);
    let streams = Streams::of(&[BLPOP, PING].concat(), &[&b"*-1\r\n"[..], PONG].concat());
    let analysis = streams.seen_as(
        "
        0      > syn
        20     < syn
        20.1   > ack 0
        20.2   > 0:29 psh ack 0
        5040.2 < 0:5 psh ack 29
        5040.3 > 29:43 psh ack 5
        5060.4 < 5:12 psh ack 43
        5060.5 > ack 12
        ",
    );
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert_eq!(exchange.request.as_deref(), Some("PING"));
    assert!(exchange.duration.as_secs_f64() < 0.03, "{exchange:?}");
    let connection = &analysis.connections[0];
    assert_eq!(connection.exchanges, 1);
    let [tunnel] = &connection.tunnels[..] else { panic!("{:?}", connection.tunnels) };
    let waited = tunnel.until.since(tunnel.from).as_secs_f64();
    assert!(tunnel.kind == Tunnel::Blocking && (5.0..5.1).contains(&waited), "{tunnel:?}");
}

/// Rounds of a client 2 ms away that asks once, and, with the answer and its ACK, seven times. `first` is how the first of
/// them goes, `apart` how long after an answer the client asks on.
fn rounds(first: &str, apart: f64) -> Analysis {
    const ROUNDS: usize = 12;
    let streams = Streams::of(&PING.repeat(8 * ROUNDS), &PONG.repeat(8 * ROUNDS));
    let mut capture = format!("0 > syn\n2 < syn\n2.01 > ack 0\n{first}");
    let mut at = 20.0;
    for round in 1..ROUNDS {
        let (asked, told) = (8 * 14 * round, 8 * 7 * round);
        let (one, all) = (asked + 14, asked + 8 * 14);
        let (answered, end) = (told + 7, told + 8 * 7);
        let _ = write!(
            capture,
            "
            {} > {asked}:{one} psh ack {told}
            {} < {told}:{answered} psh ack {one}
            {} > {one}:{all} psh ack {answered}
            {} < {answered}:{end} psh ack {all}
            ",
            at,
            at + 2.3,
            at + 2.3 + apart,
            at + 4.6 + apart,
        );
        at += 4.6 + 2.0 * apart;
    }
    streams.seen_as(&capture)
}

/// Of the first round, the ACK comes before the answer, and the other requests leave with it.
const BY_ACK: &str = "
    3    > 0:14 psh ack 0
    5.3  < ack 14
    5.31 > 14:112 psh ack 0
    5.35 < 0:7 psh ack 14
    7.7  < 7:56 psh ack 112
    7.71 > ack 56
";
/// Of the first round, the ACK comes before the answer, and the other requests leave with that.
const BY_ANSWER: &str = "
    3    > 0:14 psh ack 0
    5.3  < ack 14
    5.8  < 0:7 psh ack 14
    5.81 > 14:112 psh ack 7
    8.2  < 7:56 psh ack 112
    8.21 > ack 56
";
/// The client does not wait for an ACK.
const AT_ONCE: &str = "
    3    > 0:14 psh ack 0
    3.2  > 14:56 psh ack 0
    3.4  > 56:112 psh ack 0
    5.3  < 0:7 psh ack 14
    5.31 > ack 7
    5.8  < 7:56 psh ack 112
    5.81 > ack 56
";

#[test]
fn requests_of_several_users_that_leave_with_the_ack_of_one_were_held() {
    let analysis = rounds(BY_ACK, 0.012);
    assert_eq!(analysis.exchanges.len(), 96);
    let held = analysis.connections[0].held_requests.as_deref().unwrap();
    assert_eq!(held.cause, Cause::NagleRtt);
    // Of each round, the first may have been asked for by the answer, except where there was none.
    assert_eq!(held.count, 7 + 11 * 6);
    assert!((2_300..2_400).contains(&held.longest.as_micros()), "{held:?}");
}

#[test]
fn a_client_that_asks_when_it_is_answered_holds_nothing() {
    for (first, apart) in [(BY_ANSWER, 0.012), (BY_ACK, 2.0), (AT_ONCE, 0.012)] {
        let analysis = rounds(first, apart);
        assert_eq!(analysis.exchanges.len(), 96);
        assert_eq!(analysis.connections[0].held_requests, None, "{apart}: {first}");
    }
}

/// Commands of a client 2 ms away, each a round; by the server's timestamps the path holds those of `late` for 10 ms. Each
/// of them has three commands, answered in one packet. The last round's answer is 5 ms late and says nothing of when it left.
fn answers_held(late: &[usize]) -> Vec<ExchangeResult> {
    const ROUNDS: usize = 12;
    let mut capture = String::from("0 > syn ts 1000\n2 < syn ts 5000\n2.01 > ack 0 ts 1002");
    let (mut asked, mut told, mut at) = (0, 0, 10);
    for round in 0..ROUNDS {
        let (count, held) = if late.contains(&round) { (3, 10) } else { (1, 0) };
        let think = if round == ROUNDS - 1 { 5 } else { 0 };
        let (to, answered) = (asked + 14 * count, told + 7 * count);
        let _ = write!(
            capture,
            "
            {at} > {asked}:{to} psh ack {told} ts {}
            {}.1 < {told}:{answered} psh ack {to} ts {}
            ",
            1000 + at,
            at + 2 + held + think,
            5000 + at - 1 + think,
        );
        (asked, told, at) = (to, answered, at + 20);
    }
    let all = ROUNDS + 2 * late.len();
    Streams::of(&PING.repeat(all), &PONG.repeat(all)).seen_as(&capture).exchanges.to_vec()
}

/// A path that has been late once may have been so by accident, however many replies were in that packet.
#[test]
fn a_late_packet_with_several_replies_shows_once_that_the_path_varies() {
    for (late, blames) in [(&[4][..], Cause::ServerThink), (&[4, 6], Cause::Queueing)] {
        let exchanges = answers_held(late);
        let held = &exchanges[4];
        assert!(millis(held, Cause::Queueing) + millis(held, Cause::PathStall) > 8.0, "{held:?}");
        let last = exchanges.last().unwrap();
        assert!(millis(last, blames) > 4.0, "{late:?} {last:?}");
    }
}
