//! How exchanges end that have no response, and connections that never came about; and what looks like it.

use ackwise_cause::{ConnectOutcome, Outcome};

use crate::analysis::CloseOrder;

use super::*;

use CloseOrder::{Crossed, Ignored};

/// The client's next byte after its request, and the server's after the response.
const ASKED: u32 = 36;
const ANSWERED: u32 = 44;
/// The same after a second request.
const ASKED_AGAIN: u32 = 71;
const _: () = assert!(REQUEST.len() == 35 && HEAD.len() + BODY.len() == 43);

const BODY: &[u8] = b"12345";
const WITHOUT_LENGTH: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n12345";
const FIN: Flags = Flags::FIN;
const RST: Flags = Flags::RST;
const SYN: Flags = Flags::SYN;
const PSH: Flags = Flags::PSH;
const NONE: Flags = Flags::NONE;

/// A handshake and a request.
const OPENING: [Packet; 4] = [
    (0, true, 0, None, SYN, b""),
    (200, false, 0, Some(1), SYN, b""),
    (400, true, 1, Some(1), NONE, b""),
    (500, true, 1, Some(1), PSH, REQUEST),
];

/// The rest of an exchange on a connection that is kept.
const ANSWER: [Packet; 3] = [
    (900, false, 1, Some(ASKED), PSH, HEAD),
    (950, false, ANSWERED - 5, Some(ASKED), PSH, BODY),
    (1_000, true, ASKED, Some(ANSWERED), NONE, b""),
];

/// What an analyser makes of these packets.
fn analysed(packets: &[&[Packet]]) -> Analysis {
    let mut wire = Wire::new();
    packets.iter().for_each(|it| wire.carry(it, &[BEFORE_NAT]));
    wire.analyser.finish()
}

/// How the last exchange ended, who ended it, and how its request stands to the server's FIN.
fn ending(packets: &[&[Packet]]) -> Option<(Outcome, Option<Party>, Option<CloseOrder>)> {
    let analysis = analysed(packets);
    let last = analysis.exchanges.last().expect("a request");
    last.ending.map(|it| (it.outcome, it.by, it.close))
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn an_only_request_that_fails() {
    use Outcome::{Abandoned, Answered, ClosedUnanswered, Open, Reset, Silent, Truncated};
    let [client, server] = [Some(Party::Client), Some(Party::Server)];
    let cases: &[(&str, &[Packet], Outcome, Option<Party>)] = &[
        ("answered", &ANSWER, Answered, None),
        ("the capture ends", &[], Open, None),
        ("it ends within the response", &ANSWER[..1], Open, None),
        ("the server closes", &[(900, false, 1, Some(ASKED), FIN, b"")], ClosedUnanswered, server),
        ("the server resets", &[(900, false, 1, Some(ASKED), RST, b"")], Reset, server),
        (
            "the server closes within the response",
            &[ANSWER[0], (950, false, ANSWERED - 5, Some(ASKED), FIN, b"")],
            Truncated,
            server,
        ),
        (
            "the server resets within the response",
            &[ANSWER[0], (950, false, ANSWERED - 5, Some(ASKED), RST, b"")],
            Truncated,
            server,
        ),
        ("the client resets", &[(900, true, ASKED, Some(1), RST, b"")], Abandoned, client),
        (
            "the client closes, and the server follows",
            &[
                (900, true, ASKED, Some(1), FIN, b""),
                (950, false, 1, Some(ASKED + 1), NONE, b""),
                (990, false, 1, Some(ASKED + 1), FIN, b""),
            ],
            Abandoned,
            client,
        ),
        (
            "the client closes, and resets the answer",
            &[
                (700, true, ASKED, Some(1), FIN, b""),
                (900, false, 1, Some(ASKED + 1), PSH, HEAD),
                (950, false, ANSWERED - 5, Some(ASKED + 1), PSH, BODY),
                (990, true, ASKED + 1, None, RST, b""),
            ],
            Abandoned,
            client,
        ),
        (
            "the answer crosses the client's close",
            &[
                (900, false, 1, Some(ASKED), PSH, HEAD),
                (950, false, ANSWERED - 5, Some(ASKED), PSH, BODY),
                (960, true, ASKED, Some(1), FIN, b""),
                (990, true, ASKED + 1, None, RST, b""),
            ],
            Abandoned,
            client,
        ),
        (
            "half closed, answered, and reset",
            &[
                (700, true, ASKED, Some(1), FIN, b""),
                (900, false, 1, Some(ASKED + 1), PSH, HEAD),
                (950, false, ANSWERED - 5, Some(ASKED + 1), PSH, BODY),
                (960, true, ASKED + 1, Some(ANSWERED), NONE, b""),
                (990, true, ASKED + 1, None, RST, b""),
            ],
            Answered,
            None,
        ),
        (
            "half closed, and answered",
            &[
                (700, true, ASKED, Some(1), FIN, b""),
                (900, false, 1, Some(ASKED + 1), PSH, HEAD),
                (950, false, ANSWERED - 5, Some(ASKED + 1), PSH, BODY),
            ],
            Answered,
            None,
        ),
        (
            "reset after a complete response",
            &[ANSWER[0], ANSWER[1], (990, false, ANSWERED, Some(ASKED), RST, b"")],
            Answered,
            None,
        ),
        (
            "sent again, and not acknowledged",
            &[
                (200_500, true, 1, Some(1), PSH, REQUEST),
                (600_500, true, 1, Some(1), PSH, REQUEST),
                (1_400_500, true, 1, Some(1), PSH, REQUEST),
            ],
            Silent,
            None,
        ),
        ("sent again once", &[(200_500, true, 1, Some(1), PSH, REQUEST)], Open, None),
        (
            "sent again, and acknowledged",
            &[
                (200_500, true, 1, Some(1), PSH, REQUEST),
                (600_500, true, 1, Some(1), PSH, REQUEST),
                (600_900, false, 1, Some(ASKED), NONE, b""),
            ],
            Open,
            None,
        ),
    ];
    for (name, packets, outcome, by) in cases {
        let expected = Some((*outcome, *by, None));
        assert_eq!(ending(&[&OPENING, packets]), expected, "{name}");
    }
}

#[test]
fn a_request_and_the_close_of_an_idle_connection() {
    let first = [&OPENING[..], &ANSWER].concat();
    let ask = |at, acks| (at, true, ASKED, Some(acks), PSH, REQUEST);
    let close = |at, acks| (at, false, ANSWERED, Some(acks), FIN, &b""[..]);
    let reset = |at| (at, false, ANSWERED + 1, None, RST, &b""[..]);
    let cases: [(&str, Vec<Packet>, Option<CloseOrder>); 6] = [
        (
            "crossed, at the client",
            vec![ask(2_000_000, ANSWERED), close(2_000_200, ASKED), reset(2_000_500)],
            Some(Crossed),
        ),
        (
            "crossed, at the server",
            vec![close(2_000_000, ASKED), ask(2_000_200, ANSWERED), reset(2_000_250)],
            Some(Crossed),
        ),
        (
            "crossed, and the capture ends",
            vec![close(2_000_000, ASKED), ask(2_000_200, ANSWERED)],
            Some(Crossed),
        ),
        (
            "ignored",
            vec![
                close(2_000_000, ASKED),
                (2_000_100, true, ASKED, Some(ANSWERED + 1), NONE, b""),
                ask(2_900_000, ANSWERED + 1),
                reset(2_900_300),
            ],
            Some(Ignored),
        ),
        (
            "acknowledged, and closed",
            vec![ask(2_000_000, ANSWERED), close(2_000_500, ASKED_AGAIN)],
            None,
        ),
        (
            "acknowledged before, and closed",
            vec![
                ask(2_000_000, ANSWERED),
                (2_000_400, false, ANSWERED, Some(ASKED_AGAIN), NONE, b""),
                close(2_800_000, ASKED_AGAIN),
            ],
            None,
        ),
    ];
    for (name, packets, close) in cases {
        let expected = Some((Outcome::ClosedUnanswered, Some(Party::Server), close));
        assert_eq!(ending(&[&first, &packets]), expected, "{name}");
    }
}

#[test]
fn a_response_before_the_end_of_its_request() {
    const POST: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 9000\r\n\r\n";
    let sent = 1 + u32::try_from(POST.len()).unwrap();
    let head = [OPENING[0], OPENING[1], OPENING[2], (500, true, 1, Some(1), PSH, POST)];
    let answer =
        [(900, false, 1, Some(sent), PSH, HEAD), (950, false, ANSWERED - 5, Some(sent), PSH, BODY)];
    let early = Some((Outcome::AnsweredEarly, None, None));
    assert_eq!(ending(&[&head, &answer]), early);
    let reset = [(990, false, ANSWERED, Some(sent), RST, &b""[..])];
    assert_eq!(ending(&[&head, &answer, &reset]), early);
    assert_eq!(ending(&[&head, &answer[..1]]), Some((Outcome::Open, None, None)));
}

#[test]
fn a_request_that_the_capture_cut_is_taken_for_whole() {
    for (end, outcome) in [
        ((900, false, 1, Some(ASKED), FIN, &b""[..]), Outcome::ClosedUnanswered),
        ((900, false, 1, Some(ASKED), RST, b""), Outcome::Reset),
        ((900, true, ASKED, Some(1), RST, b""), Outcome::Abandoned),
        // Whether that is all of the response, nothing shows.
        ((900, false, 1, Some(ASKED), PSH, HEAD), Outcome::Open),
    ] {
        let mut wire = Wire::new();
        wire.carry(&OPENING[..3], &[BEFORE_NAT]);
        let segment = Segment {
            seq: SeqNumber(7_001),
            ack: Some(SeqNumber(90_001)),
            flags: PSH,
            window: 1_000,
            len: ASKED - 1,
            ..Segment::default()
        };
        wire.see(BEFORE_NAT, true, segment, &REQUEST[..26], 500);
        wire.carry(&[end], &[BEFORE_NAT]);
        let analysis = wire.analyser.finish();
        let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
        let told = exchange.ending.map(|it| it.outcome);
        assert!(told == Some(outcome) || outcome == Outcome::Open && told.is_none(), "{told:?}");
    }
}

#[test]
fn where_data_is_missing_nothing_is_known_to_have_failed() {
    // The response is not in the capture, but what acknowledges it, or what comes behind it.
    for packets in [
        [
            (950, true, ASKED, Some(ANSWERED), NONE, &b""[..]),
            (990, false, ANSWERED, Some(ASKED), FIN, b""),
        ],
        [
            (950, false, ANSWERED, Some(ASKED), FIN, b""),
            (990, true, ASKED, Some(ANSWERED + 1), FIN, b""),
        ],
    ] {
        let ending = ending(&[&OPENING, &packets]);
        let is_unknown = |it: Outcome| matches!(it, Outcome::Open | Outcome::Answered);
        assert!(ending.is_none_or(|it| is_unknown(it.0)), "{ending:?}");
    }
    // One direction only.
    let to_server: Vec<Packet> = OPENING.into_iter().filter(|it| it.1).collect();
    let end = [(900, true, ASKED, Some(ANSWERED), RST, &b""[..])];
    assert_eq!(ending(&[&to_server, &end]), None);
}

#[test]
fn a_response_without_a_length_ends_with_the_connection() {
    let end = 1 + u32::try_from(WITHOUT_LENGTH.len()).unwrap();
    let packets = [
        (900, false, 1, Some(ASKED), PSH, WITHOUT_LENGTH),
        (950, true, ASKED, Some(end), NONE, b""),
        (3_000_900, false, end, Some(ASKED), FIN, b""),
    ];
    let analysis = analysed(&[&OPENING, &packets]);
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert_eq!(exchange.ending.unwrap().outcome, Outcome::Answered);
    assert_eq!(exchange.duration.as_millis(), 3_000, "{:?}", exchange.shares);
    assert!(exchange.owed_to(Cause::ApplicationLimited) > Duration::from_millis(2_999));
    // With one, nobody waits for the close.
    let closed = [(3_000_900, false, ANSWERED, Some(ASKED), FIN, &b""[..])];
    let analysis = analysed(&[&OPENING, &ANSWER, &closed]);
    assert!(analysis.exchanges[0].duration < Duration::from_millis(1));
}

#[test]
fn attempts_to_connect() {
    use ConnectOutcome::{Abandoned, Collided, Refused, Reset, Unanswered};
    let again = |at| (at, true, 0, None, SYN, &b""[..]);
    let cases: [(&str, Vec<Packet>, Option<ConnectOutcome>); 13] = [
        ("refused", vec![OPENING[0], (200, false, 0, Some(1), RST, b"")], Some(Refused)),
        ("unanswered", vec![OPENING[0], again(1_000_000)], Some(Unanswered)),
        ("the capture ends", vec![OPENING[0]], None),
        (
            "late",
            vec![OPENING[0], again(1_000_000), (1_000_200, false, 0, Some(1), SYN, b"")],
            None,
        ),
        ("a health check", vec![OPENING[0], OPENING[1], (300, true, 1, Some(1), RST, b"")], None),
        (
            "given up before the answer came",
            vec![OPENING[0], OPENING[1], (300, true, 1, None, RST, b"")],
            Some(Abandoned),
        ),
        (
            "a preconnect that its client resets",
            vec![OPENING[0], OPENING[1], OPENING[2], (500, true, 1, Some(1), RST, b"")],
            None,
        ),
        (
            "reset by the server",
            vec![OPENING[0], OPENING[1], OPENING[2], (500, false, 1, Some(1), RST, b"")],
            Some(Reset),
        ),
        (
            "closed by the server",
            vec![OPENING[0], OPENING[1], OPENING[2], (500, false, 1, Some(1), FIN, b"")],
            None,
        ),
        (
            "TIME-WAIT at the server",
            vec![
                OPENING[0],
                (200, false, 77, Some(900), NONE, b""),
                (300, true, 900, None, RST, b""),
            ],
            Some(Collided),
        ),
        ("never used", vec![OPENING[0], OPENING[1], OPENING[2]], None),
        ("given up at once", vec![OPENING[0], (300, true, 1, None, RST, b"")], None),
        ("from the middle", vec![OPENING[2], (300, false, 1, Some(1), RST, b"")], None),
    ];
    for (name, packets, connect) in cases {
        let analysis = analysed(&[&packets]);
        let found = analysis.connections.first().and_then(|it| it.connect);
        assert_eq!(found, connect, "{name}");
    }
}

#[test]
fn what_ends_a_stream_of_http2() {
    use Outcome::{Abandoned, Answered, Open, Reset, Truncated, Unprocessed};
    /// The preface, SETTINGS, and GET / on stream 1.
    const ASK: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x03\x01\x05\0\0\0\x01\x82\x84\x86";
    const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
    const HEADERS: &[u8] = b"\0\0\x01\x01\x04\0\0\0\x01\x88";
    const LAST: &[u8] = b"\0\0\x01\0\x01\0\0\0\x01x";
    const REFUSED: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07";
    const CANCEL: &[u8] = b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08";
    const GOAWAY_0: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
    const GOAWAY_1: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0";
    let [client, server] = [Party::Client, Party::Server];
    type Case = (&'static str, &'static [(bool, &'static [u8])], End);
    type End = (Outcome, Option<Party>, Option<u32>);
    let cases: [Case; 9] = [
        ("answered", &[(false, HEADERS), (false, LAST)], (Answered, None, None)),
        (
            "answered, and reset",
            &[(false, HEADERS), (false, LAST), (false, REFUSED)],
            (Answered, None, None),
        ),
        ("refused", &[(false, REFUSED)], (Reset, Some(server), Some(7))),
        ("cut off", &[(false, HEADERS), (false, REFUSED)], (Truncated, Some(server), Some(7))),
        ("cancelled", &[(true, CANCEL)], (Abandoned, Some(client), Some(8))),
        (
            "cancelled within",
            &[(false, HEADERS), (true, CANCEL)],
            (Abandoned, Some(client), Some(8)),
        ),
        ("not processed", &[(false, GOAWAY_0)], (Unprocessed, Some(server), Some(0))),
        (
            "processed",
            &[(false, GOAWAY_1), (false, HEADERS), (false, LAST)],
            (Answered, None, None),
        ),
        ("open", &[(false, GOAWAY_1)], (Open, None, None)),
    ];
    for (name, frames, end) in cases {
        let mut packets = OPENING[..3].to_vec();
        let mut next = [1, 1];
        let opening = [(true, ASK), (false, SETTINGS)];
        for (at, (by_client, bytes)) in (500..).step_by(100).zip(opening.iter().chain(frames)) {
            let way = usize::from(!by_client);
            packets.push((at, *by_client, next[way], Some(next[1 - way]), PSH, *bytes));
            next[way] += u32::try_from(bytes.len()).unwrap();
        }
        let analysis = analysed(&[&packets]);
        let [exchange] = &analysis.exchanges[..] else {
            panic!("{name}: {:?}", analysis.exchanges)
        };
        let found = exchange.ending.map(|it| (it.outcome, it.by, it.code));
        assert_eq!(found, Some(end), "{name}");
    }
}
