//! What holds for every conversation, sensible or not.

use std::collections::BTreeMap;

use ackwise_capture::conversation::{Event, ExchangeId, ExchangeReader};
use ackwise_cause::Direction;
use proptest::prelude::*;

use crate::wire::{Line, Shown, WHOLE, play, script};

/// Conversations in which everything is framed, so that segments are no hint.
const FRAMED: &[&str] = &[
    r#"
    c "POST /a?b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    s "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" 30
    c "HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nHTTP/1.0 200 OK\r\n\r\n" 30
    s end
    c end
    "#,
    r"
    c h2 preface, settings 0004000003e8, headers 1 4 8286440474623f63, data 1 1 20
    s h2 settings, ack, headers 1 0 48033130, continuation 1 4 33, headers 1 4 88
    s h2 data 1 0 1000
    c h2 window 1 500, ack, headers 3 5 828684
    s h2 data 1 1 100, headers 3 5 89, goaway
    s end
    ",
    r"
    s h2 settings
    c h2 preface, settings, headers 1 5 828684
    s h2 ack, headers 1 5 88
    abort
    ",
    r#"
    c "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"
    s "HTTP/1.1 200 Connection established\r\n\r\n"
    c "GET /in HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n"
    s "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"
    s h2 settings, headers 1 4 88, data 1 1 10
    c h2 preface, settings, headers 3 5 828684
    s h2 headers 3 5 89
    abort
    "#,
    r"
    c tls 22:512
    s tls 22:122 20:1 23:36 23:1000 23:281 23:53
    c tls 20:1 23:53 23:120
    s tls 23:250 23:250
    s tls 23:300 23:8000
    c tls 23:120
    s tls 23:400
    c tls 23:19
    s end
    ",
    r#"
    c "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nMGET\r\n$1\r\na\r\n*2\r\n$5\r\nBLPOP\r\n$1\r\na\r\n"
    s "+PONG\r\n*2\r\n$1\r\nx\r\n$-1\r\n%1\r\n+a\r\n:1\r\n>1\r\n+p\r\n"
    c "*4\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n$7\r\nSTREAMS\r\n*1\r\n$4\r\nPING\r\n"
    s "|1\r\n+a\r\n#t\r\n*0\r\n-ERR\r\n"
    c "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n"
    c end
    "#,
    r#"
    c "PROXY TCP4 192.0.2.1 198.51.100.1 49152 443\r\n"
    c pg ssl
    s "N"
    c pg startup:20
    s pg R:4 S:9 Z:1
    c pg P:9 B:9 E:5 S B:9 E:5 S
    s pg 1 2 N:9 C:9 Z:1 2 E:9 Z:1
    c pg P:9 H
    s pg 1
    c pg S Q:9
    s pg Z:1 G:7
    c pg d:20 c
    s pg C:9 Z:1
    c pg X
    s end
    "#,
    r#"
    c hex 0d0a0d0a000d0a515549540a 21 11 000c c0000201c6336401c00001bb
    c "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n"
    s "*1\r\n+x\r\n"
    abort
    "#,
];

#[test]
fn the_same_is_told_however_streams_are_cut_into_segments() {
    for text in FRAMED {
        let lines = script(text);
        let whole = play(&lines, WHOLE);
        for segment in 1..200 {
            let shown = Shown { segment, ..WHOLE };
            assert_eq!(play(&lines, shown), whole, "segments of {segment} bytes of {text}");
        }
        for index in 0..lines.len() {
            for (cut, lines) in every_cut(&lines, index) {
                assert_eq!(play(&lines, WHOLE), whole, "line {index} cut at {cut} of {text}");
            }
        }
    }
}

/// `lines` with the line at `index` in two pieces, in every way, bytes and places.
fn every_cut(lines: &[Line], index: usize) -> Vec<(usize, Vec<Line>)> {
    let Line::Data(direction, bytes) = &lines[index] else { return Vec::new() };
    (1..bytes.len())
        .map(|cut| {
            let (first, second) = bytes.split_at(cut);
            let pieces = [first, second].map(|piece| Line::Data(*direction, piece.to_vec()));
            (cut, [&lines[..index], &pieces, &lines[index + 1..]].concat())
        })
        .collect()
}

#[test]
fn any_snap_length_leaves_as_many_exchanges_as_begin_with_segments() {
    let text = r#"
        c "GET /a HTTP/1.1\r\nHost: example.org\r\nUser-Agent: none in particular\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nServer: none in particular\r\nContent-Length: 5000\r\n\r\n" 3000
        s "" 2000
        c "GET /b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: none in particular\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nServer: none in particular\r\nContent-Length: 5\r\n\r\n" 5
        s end
        "#;
    let lines = script(text);
    let bare = |told: String| -> Vec<String> {
        let lines = told.lines().filter(|line| !line.contains("asks") && !line.contains("gets"));
        lines.map(|line| line.replace('~', "")).collect()
    };
    let whole = bare(play(&lines, WHOLE));
    for snap in 5..1500 {
        let cut = bare(play(&lines, Shown { segment: 1448, snap }));
        assert_eq!(cut, whole, "snap length {snap}");
    }
}

#[test]
fn an_idle_connection_takes_few_bytes() {
    assert!(size_of::<ExchangeReader>() <= 200, "{}", size_of::<ExchangeReader>());
}

#[test]
fn a_client_that_asks_for_ever_is_forgotten_about() {
    let mut conversation = ExchangeReader::new();
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut begun = 0;
    for index in 0..5000 {
        conversation.handle_data(Direction::ToServer, index * 27, 27, request);
        while let Some(event) = conversation.poll_event() {
            begun += usize::from(matches!(event, Event::RequestBegins { .. }));
        }
    }
    assert_eq!((begun, conversation.passed_over()), (1024, 5000 - 1024));
}

/// What a capture may tell of a connection.
#[derive(Clone, Debug)]
enum Input {
    Data { direction: Direction, bytes: Vec<u8>, hidden: u32 },
    Gap { direction: Direction, length: u64 },
    End(Direction),
    Abort,
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::ToServer), Just(Direction::ToClient)]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let sensible = FRAMED.iter().flat_map(|text| script(text)).filter_map(|line| match line {
        Line::Data(_, bytes) => Some(bytes),
        _ => None,
    });
    let sensible = prop::sample::select(sensible.collect::<Vec<_>>());
    let changed = (sensible.clone(), any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        4 => sensible.clone(),
        2 => (sensible, any::<prop::sample::Index>())
            .prop_map(|(bytes, at)| bytes[..at.index(bytes.len())].to_vec()),
        2 => changed.prop_map(|(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => prop::collection::vec(any::<u8>(), 0..100),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        20 => (direction(), bytes(), prop_oneof![4 => Just(0), 1 => 0..3000_u32])
            .prop_map(|(direction, bytes, hidden)| Input::Data { direction, bytes, hidden }),
        2 => (direction(), 0..3000_u64)
            .prop_map(|(direction, length)| Input::Gap { direction, length }),
        1 => direction().prop_map(Input::End),
        1 => Just(Input::Abort),
    ]
}

/// How far an exchange is told.
#[derive(Debug, Default)]
struct Told {
    asks: bool,
    asked: bool,
    answers: bool,
    over: bool,
}

/// Holds an event against those before it.
fn check(event: &Event, told: &mut BTreeMap<ExchangeId, Told>) {
    let mut once = |exchange: &ExchangeId, field: fn(&mut Told) -> &mut bool| {
        let exchange = told.get_mut(exchange).unwrap();
        assert!(!exchange.over, "{event:?} comes too late");
        assert!(!std::mem::replace(field(exchange), true), "{event:?} is told again");
    };
    match event {
        Event::RequestBegins { exchange, .. } => {
            assert_eq!(exchange.0 as usize, told.len());
            told.insert(*exchange, Told::default());
        }
        Event::RequestHead { exchange, .. } => once(exchange, |told| &mut told.asks),
        Event::RequestEnds { exchange, .. } => once(exchange, |told| &mut told.asked),
        Event::ResponseBegins { exchange, .. } => once(exchange, |told| &mut told.answers),
        Event::ResponseEnds { exchange, .. }
        | Event::Abandoned { exchange, .. }
        | Event::Lost { exchange }
        | Event::Unjudged { exchange } => {
            once(exchange, |told| &mut told.over);
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_exchange_begins_once_and_is_over_once(
        inputs in prop::collection::vec(input(), 0..30),
    ) {
        let mut conversation = ExchangeReader::new();
        let mut ends = [0, 0];
        let mut told = BTreeMap::new();
        for input in inputs.into_iter().chain([Input::Abort]) {
            match input {
                Input::Data { direction, bytes, hidden } => {
                    let end = &mut ends[direction as usize];
                    let length = u32::try_from(bytes.len()).unwrap() + hidden;
                    conversation.handle_data(direction, *end, length, &bytes);
                    *end += u64::from(length);
                }
                Input::Gap { direction, length } => {
                    let end = &mut ends[direction as usize];
                    conversation.handle_gap(direction, *end, *end + length);
                    *end += length;
                }
                Input::End(direction) => conversation.handle_end(direction),
                Input::Abort => conversation.handle_abort(),
            }
            while let Some(event) = conversation.poll_event() {
                check(&event, &mut told);
            }
        }
        for (exchange, told) in told {
            prop_assert!(told.over, "{exchange:?} is never over: {told:?}");
        }
    }
}
