//! Messages within WebSockets: which of them a sender's TCP held, and that nobody waits for the others.

use std::{fmt::Write as _, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, HeldMessages, MessageCounts},
    attribution::Confidence,
};
use ackwise_cause::{Cause, Direction};

use crate::wire::Streams;

const ASKS: &[u8] = b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const ANSWERS: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
/// Bytes of each message of a server and of a client: header, key and payload.
const PUSH: usize = 2 + 20;
const SAY: usize = 6 + 20;

fn websocket() -> Streams {
    let push = [&[0x81, 20][..], &[b'a'; 20]].concat().repeat(100);
    let say = [&[0x81, 0x80 | 20, 1, 2, 3, 4][..], &[b'a'; 20]].concat().repeat(100);
    Streams::of(&[ASKS, &say].concat(), &[ANSWERS, &push].concat())
}

/// A connection at its client, `far` from its server in milliseconds there and back, up to the response that makes it a
/// WebSocket.
fn opening(far: f64) -> String {
    let (asks, answers) = (ASKS.len(), ANSWERS.len());
    format!(
        "
        0 > syn
        {far} < syn
        {} > ack 0
        {} > 0:{asks} psh ack 0
        {} < 0:{answers} psh ack {asks}
        {} > ack {answers}
        ",
        far + 0.01,
        far + 0.02,
        far + far + 0.1,
        far + far + 0.12,
    )
}

fn counts(script: &str, direction: Direction) -> MessageCounts {
    let analysis = websocket().seen_as(script);
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!("{script}") };
    assert_eq!(analysis.exchanges.len(), 1);
    tunnel.messages.as_ref().unwrap()[direction as usize].clone()
}

fn held(script: &str, direction: Direction) -> Vec<HeldMessages> {
    let counts = counts(script, direction);
    assert!(!counts.undivided);
    counts.held.to_vec()
}

/// A server sends headers and payloads apart, at times in milliseconds, each acknowledged `acked` later.
fn pushes(pieces: &[(f64, usize)], acked: f64) -> String {
    let mut script = opening(0.1);
    let (asked, mut told) = (ASKS.len(), ANSWERS.len());
    for (at, bytes) in pieces {
        let end = told + bytes;
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        let _ = writeln!(script, "{} > ack {end}", at + acked);
        told = end;
    }
    script
}

#[test]
fn a_payload_that_waits_for_the_late_ack_of_its_header_is_held_between_pieces() {
    let rounds: Vec<_> =
        (1..=5).map(f64::from).flat_map(|at| [(at * 500.0, 2), (at * 500.0 + 40.1, 20)]).collect();
    let mut script = opening(0.1);
    let (asked, mut told) = (ASKS.len(), ANSWERS.len());
    for (at, bytes) in rounds {
        let end = told + bytes;
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        // The header's ACK is late; the payload's comes at once.
        let late = if bytes == 2 { 40.0 } else { 0.02 };
        let _ = writeln!(script, "{} > ack {end}", at + late);
        told = end;
    }
    let [held] = held(&script, Direction::ToClient)[..] else { panic!("{script}") };
    assert_eq!((held.cause, held.messages, held.times), (Cause::NagleDelayedAck, 5, 5));
    assert!(held.confidence >= Confidence::Medium && held.is_upper_limit());
    assert!((39..=41).contains(&held.shortest.as_millis()), "{held:?}");
    assert!((39..=41).contains(&held.longest.as_millis()), "{held:?}");
}

#[test]
fn messages_that_a_round_trip_collects_are_held() {
    // Every 20 ms one is written; what is written while an ACK is on its way goes with the next segment.
    let mut script = opening(50.0);
    let (asked, mut told, mut at) = (ASKS.len(), ANSWERS.len(), 150.0);
    for messages in [1, 2, 3, 2, 3, 2, 3] {
        let end = told + messages * PUSH;
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        let _ = writeln!(script, "{} > ack {end}", at + 0.05);
        (told, at) = (end, at + 50.2);
    }
    let [held] = held(&script, Direction::ToClient)[..] else { panic!("{script}") };
    assert_eq!((held.cause, held.messages, held.times), (Cause::NagleRtt, 16, 7));
    assert!((49..=51).contains(&held.longest.as_millis()), "{held:?}");
}

#[test]
fn nobody_waits_for_what_is_pushed_now_and_then() {
    let pushes =
        |period: f64| -> Vec<_> { (1..=40).map(f64::from).map(|it| (it * period, PUSH)).collect() };
    for (period, acked) in [(3_000.0, 40.0), (250.0, 0.02), (60.0, 40.0), (20.0, 0.02)] {
        let script = self::pushes(&pushes(period), acked);
        let counts = counts(&script, Direction::ToClient);
        assert_eq!((counts.messages, counts.held.len()), (40, 0), "{period}: {counts:?}");
        let median = counts.gaps.unwrap().median.as_secs_f64() * 1e3;
        assert!((median / period - 1.0).abs() < 0.0625, "{period}: {median}");
    }
}

#[test]
fn one_message_a_round_trip_may_be_its_programs_period() {
    let mut script = opening(50.0);
    let (asked, mut told, mut at) = (ASKS.len(), ANSWERS.len(), 150.0);
    for _ in 0..30 {
        let end = told + PUSH;
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        let _ = writeln!(script, "{} > ack {end}", at + 0.05);
        (told, at) = (end, at + 50.2);
    }
    let times: u64 = held(&script, Direction::ToClient).iter().map(|it| it.times).sum();
    assert!(times < 2, "once may be chance");
}

/// A client on the server's host says something at these times, in microseconds, and is answered at once.
fn says(at: &[u64]) -> String {
    let mut script = opening(0.04);
    let (mut asked, mut told) = (ASKS.len(), ANSWERS.len());
    for micros in at {
        let [at, later, acked] = [0, 200, 206].map(|it| (micros + it) as f64 / 1e3);
        let (ask, tell) = (asked + SAY, told + PUSH);
        let _ = writeln!(script, "{at} > {asked}:{ask} psh ack {told}");
        let _ = writeln!(script, "{later} < {told}:{tell} psh ack {ask}");
        let _ = writeln!(script, "{acked} > ack {tell}");
        (asked, told) = (ask, tell);
    }
    script
}

/// As the kernel sends what MSG_MORE holds, with ticks of 4 ms and pauses of 100 ms and a little.
const CORKED: [u64; 9] =
    [217_192, 537_187, 849_197, 1_161_196, 1_469_214, 1_781_202, 2_093_205, 2_405_210, 2_717_195];

#[test]
fn messages_that_leave_at_ticks_were_corked() {
    let [held] = held(&says(&CORKED), Direction::ToServer)[..] else { panic!() };
    assert_eq!((held.cause, held.messages), (Cause::CorkTimer, 9));
    assert_eq!((held.confidence, held.is_upper_limit()), (Confidence::Medium, false));
    assert_eq!(held.total, Duration::from_millis(9 * 200));
}

#[test]
fn messages_that_a_program_writes_late_were_not() {
    let slips = |by: u64| CORKED.iter().zip(0..).map(|(it, n)| it + n * by).collect::<Vec<_>>();
    for at in [slips(71), slips(333), (1..30).map(|it| it * 300_000).collect()] {
        assert_eq!(held(&says(&at), Direction::ToServer), [], "{at:?}");
    }
    // One that left sooner than any cork ends.
    let mut at = CORKED.to_vec();
    at.insert(4, 1_221_196);
    assert_eq!(held(&says(&at), Direction::ToServer), []);
}

#[test]
fn behind_what_the_capture_lacks_nothing_is_divided() {
    let mut script = pushes(&[(100.0, PUSH), (200.0, PUSH)], 0.02);
    let (asked, told) = (ASKS.len(), ANSWERS.len() + 2 * PUSH);
    let (from, to) = (told + PUSH + 1, told + 2 * PUSH);
    let _ = writeln!(script, "300 < {from}:{to} psh ack {asked}\n300.02 > ack {to}");
    let counts = counts(&script, Direction::ToClient);
    assert_eq!((counts.messages, counts.undivided, counts.held.len()), (2, true, 0));
}

const ASKS_EVENTS: &[u8] = b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n";
const BEGINS_EVENTS: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
/// A chunk with an event.
const EVENT: &[u8] = b"9\r\ndata: a\n\n\r\n";

/// A server writes the head of a stream, and events at these times in milliseconds, which are acknowledged `acked`
/// later; the head at 0.5 ms.
fn events(asks: &[u8], at: &[(f64, usize)], acked: f64) -> Analysis {
    let mut asked = asks.len();
    let mut told = BEGINS_EVENTS.len();
    let all = [BEGINS_EVENTS, &EVENT.repeat(500), b"0\r\n\r\n"].concat();
    let mut script = format!(
        "
        0 > syn
        0.1 < syn
        0.11 > ack 0
        0.2 > 0:{asked} psh ack 0
        0.5 < 0:{told} psh ack {asked}
        0.51 > ack {told}
        "
    );
    for (at, events) in at {
        let end = told + events * EVENT.len();
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        let _ = writeln!(script, "{} > ack {end}", at + acked);
        told = end;
    }
    asked += 1;
    let last = at.last().unwrap().0;
    let _ = writeln!(script, "{} > fin ack {told}", last + 90.0);
    let _ = writeln!(script, "{} < ack {asked}", last + 90.1);
    Streams::of(asks, &all).seen_as(&script)
}

#[test]
fn an_exchange_that_opens_a_stream_ends_with_its_head() {
    for period in [20.0, 250.0, 5_000.0] {
        let at: Vec<_> = (1..=40).map(|it| (f64::from(it) * period, 1)).collect();
        let analysis = events(ASKS_EVENTS, &at, 0.02);
        let [exchange] = &analysis.exchanges[..] else { panic!() };
        assert!(exchange.complete && exchange.duration < Duration::from_millis(1), "{exchange:?}");
        let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!() };
        let [_, to_client] = &**tunnel.messages.as_ref().unwrap();
        assert_eq!((to_client.messages, to_client.held.len()), (40, 0), "{to_client:?}");
        let first = tunnel.first_message_after.unwrap().as_secs_f64() * 1e3;
        assert!((first - period).abs() < 1.0, "{first}");
        let median = to_client.gaps.unwrap().median.as_secs_f64() * 1e3;
        assert!((median / period - 1.0).abs() < 0.0625, "{median}");
    }
}

#[test]
fn events_that_leave_with_a_late_ack_were_held() {
    // One each 10 ms; what is written before the ACK comes goes with it.
    let at = (0..20).map(|it| (10.0 + f64::from(it) * 40.1, if it == 0 { 1 } else { 4 }));
    let analysis = events(ASKS_EVENTS, &at.collect::<Vec<_>>(), 40.0);
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!() };
    let [_, to_client] = &**tunnel.messages.as_ref().unwrap();
    let [held] = to_client.held[..] else { panic!("{to_client:?}") };
    assert_eq!((held.cause, held.messages, held.times), (Cause::NagleDelayedAck, 76, 19));
    assert!((39..=41).contains(&held.longest.as_millis()), "{held:?}");
}

#[test]
fn the_first_event_that_answers_a_post_is_waited_for() {
    let at: Vec<_> = (0..40).map(|it| (180.0 + f64::from(it) * 20.0, 1)).collect();
    let asks = b"POST /chat HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
    let analysis = events(asks, &at, 0.02);
    let [exchange] = &analysis.exchanges[..] else { panic!() };
    assert!(exchange.complete && exchange.duration.as_millis() == 180, "{exchange:?}");
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!() };
    let [_, to_client] = &**tunnel.messages.as_ref().unwrap();
    assert_eq!((to_client.messages, to_client.held.len()), (40, 0), "{to_client:?}");
    assert_eq!(tunnel.first_message_after, Some(exchange.duration));
}

/// A frame of HTTP/2 on stream 1.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, 1], payload].concat()
}

#[test]
fn a_call_that_streams_ends_with_its_first_message_and_the_others_may_be_held() {
    const GRPC: &[u8] = b"\x5f\x10application/grpc";
    const TOKEN: usize = 9 + 5 + 3;
    let token = frame(0, 0, b"\0\0\0\0\x03abc");
    let asks = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(1, 4, &[&[0x83, 0x86], GRPC].concat()),
        &frame(0, 1, b"\0\0\0\0\0"),
    ]
    .concat();
    let head = frame(1, 4, &[&[0x88], GRPC].concat());
    let trailers = frame(1, 5, b"\x40\x0bgrpc-status\x0214");
    let all = [&head, &token.repeat(61)[..], &trailers].concat();
    let (asked, mut told) = (asks.len(), head.len() + TOKEN);
    let mut script = format!(
        "
        0 > syn
        0.1 < syn
        0.11 > ack 0
        0.2 > 0:{asked} psh ack 0
        120 < 0:{told} psh ack {asked}
        120.02 > ack {told}
        "
    );
    // Four tokens are written while an ACK is delayed.
    for round in 0..15 {
        let (at, end) = (160.0 + f64::from(round) * 40.1, told + 4 * TOKEN);
        let _ = writeln!(script, "{at} < {told}:{end} psh ack {asked}");
        let _ = writeln!(script, "{} > ack {end}", at + 40.0);
        told = end;
    }
    let _ = writeln!(script, "900 < {told}:{} psh ack {asked}", all.len());
    let analysis = Streams::of(&asks, &all).seen_as(&script);
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert!(exchange.complete && exchange.duration.as_millis() == 120, "{exchange:?}");
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!() };
    assert_eq!(tunnel.grpc_status.map(|it| it.0), Some(14));
    assert_eq!(exchange.grpc_status, tunnel.grpc_status);
    assert_eq!(tunnel.first_message_after, Some(exchange.duration));
    let [to_server, to_client] = &**tunnel.messages.as_ref().unwrap();
    assert_eq!((to_server.messages, to_client.messages), (1, 61));
    let [held] = to_client.held[..] else { panic!("{to_client:?}") };
    assert_eq!((held.cause, held.messages, held.times), (Cause::NagleDelayedAck, 56, 14));
}
