//! Servers of HTTP/2 in clear text that write the parts of a response apart: a stall before the last of them is the
//! same stall, whatever frame that is.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use ackwise_check::{
    HttpChoice, Options, StackChoice, Target,
    card::{Card, CheckId, Finding, Protocol, Verdict},
    check, check_versions,
};

/// What a server does with a request, each step a write or a pause.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write(&'static [Part]),
    Think(Duration),
}

/// Frames of a response.
#[derive(Clone, Copy, Debug)]
enum Part {
    Head,
    /// DATA; the last ends the stream.
    Data,
    LastData,
    EmptyLastData,
    /// HEADERS behind the content, with a gRPC status.
    Trailers,
    /// The acknowledgement of the client's SETTINGS, in the connection's first response.
    SettingsAck,
    /// The server takes no other request on this connection.
    Goaway,
}

use Part::{Data, EmptyLastData, Goaway, Head, LastData, SettingsAck, Trailers};
use Step::{Think, Write as W};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Nagle {
    On,
    Off,
}

/// Listens until the process ends.
fn serve(steps: &'static [Step], nagle: Nagle) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(nagle == Nagle::Off);
            thread::spawn(move || converse(stream, steps));
        }
    });
    address
}

fn converse(mut stream: TcpStream, steps: &[Step]) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    assert!(preface.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM"), "{preface:?}");
    // SETTINGS_MAX_CONCURRENT_STREAMS = 50.
    stream.write_all(&frame(4, 0, 0, &[0, 3, 0, 0, 0, 50])).ok()?;
    let mut is_first = true;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).ok()?;
        let [a, b, c, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).ok()?;
        let id = u32::from_be_bytes(id);
        // A frame within another: the request is garbled.
        if payload.windows(9).any(|it| it == frame(4, 1, 0, b"")) {
            return None;
        }
        match kind {
            1 if flags & 1 != 0 => {
                for step in steps {
                    match step {
                        Think(pause) => thread::sleep(*pause),
                        W(parts) => {
                            let bytes: Vec<u8> =
                                parts.iter().flat_map(|part| bytes(*part, id, is_first)).collect();
                            stream.write_all(&bytes).ok()?;
                        }
                    }
                }
                is_first = false;
            }
            6 if flags & 1 == 0 => stream.write_all(&frame(6, 1, 0, &payload)).ok()?,
            _ => {}
        }
    }
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn bytes(part: Part, id: u32, is_first: bool) -> Vec<u8> {
    // Entry 8 of HPACK's static table is ":status: 200".
    match part {
        Head => frame(1, 4, id, &[0x88]),
        Data => frame(0, 0, id, &[b'x'; 200]),
        LastData => frame(0, 1, id, &[b'x'; 100]),
        EmptyLastData => frame(0, 1, id, b""),
        Trailers => frame(1, 5, id, b"\x00\x0bgrpc-status\x010"),
        Goaway => frame(7, 0, 0, &[&id.to_be_bytes()[..], &[0; 4]].concat()),
        SettingsAck if is_first => frame(4, 1, 0, b""),
        SettingsAck => Vec::new(),
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).expect("it is small").to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn card(address: SocketAddr, only: &[CheckId]) -> Card {
    let target: Target = format!("http://{address}/").parse().expect("a URL");
    let options = Options {
        stack: StackChoice::Kernel,
        http: HttpChoice::Only(Protocol::Http2),
        only: Some(only.iter().copied().collect()),
        ..Options::default()
    };
    check(&target, &options, &mut |_| {}).expect("a card")
}

fn found(card: &Card, id: CheckId) -> &Finding {
    card.findings.iter().find(|it| it.id == id).expect("it was asked for")
}

const PAUSE: Duration = Duration::from_millis(60);

/// What the server writes, and what of it stalls under Nagle's algorithm.
const PATTERNS: [(&[Step], bool); 5] = [
    (&[W(&[SettingsAck, Head, Data, LastData])], false),
    (&[W(&[SettingsAck, Head]), W(&[Data, LastData])], true),
    (&[W(&[SettingsAck, Head, Data]), W(&[EmptyLastData])], true),
    (&[W(&[SettingsAck, Head, Data]), W(&[Trailers])], true),
    (&[W(&[SettingsAck, Head]), W(&[Data]), W(&[Trailers])], true),
];

#[test]
fn what_is_written_apart_waits_under_nagles_algorithm() {
    for (steps, stalls) in PATTERNS {
        for nagle in [Nagle::On, Nagle::Off] {
            let card = card(serve(steps, nagle), &CheckId::stalls().collect::<Vec<_>>());
            let finding = found(&card, CheckId::NagleDelayedAck);
            if stalls && nagle == Nagle::On {
                assert_eq!(finding.verdict, Verdict::Fail, "{steps:?} {finding:?}");
                let cost = finding.cost_ms.expect("it was measured");
                assert!((30.0..70.0).contains(&cost), "{finding:?}");
            } else {
                let bad = card.findings.iter().find(|it| it.verdict >= Verdict::Warn);
                assert!(bad.is_none(), "{steps:?} {nagle:?}: {bad:?}");
            }
        }
    }
}

#[test]
fn a_program_that_pauses_between_frames_is_no_stall_of_tcp() {
    let card = card(
        serve(&[W(&[SettingsAck, Head, Data]), Think(PAUSE), W(&[Trailers])], Nagle::On),
        &CheckId::stalls().collect::<Vec<_>>(),
    );
    assert_eq!(found(&card, CheckId::NagleDelayedAck).verdict, Verdict::Pass, "{card:?}");
    let pause = found(&card, CheckId::ResponsePause);
    assert_eq!(pause.verdict, Verdict::Warn, "{pause:?}");
}

/// SETTINGS come while half of a request is out: their acknowledgement must not stand within its frame.
#[test]
fn nothing_comes_between_the_halves_of_a_request() {
    let server = serve(&[W(&[SettingsAck, Head, LastData, Goaway])], Nagle::Off);
    let card = card(server, &[CheckId::RequestSegments]);
    let found = found(&card, CheckId::RequestSegments);
    assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
}

#[test]
fn limits_and_windows_are_those_of_the_settings() {
    let address = serve(PATTERNS[0].0, Nagle::Off);
    let card = card(address, &[CheckId::H2FlowControl, CheckId::H2Streams]);
    let streams = found(&card, CheckId::H2Streams);
    assert_eq!(streams.verdict, Verdict::Warn, "{streams:?}");
    let values = serde_json::to_value(&streams.values).expect("values are JSON");
    assert_eq!(values["max_concurrent"], 50);
    assert!(values["ping_ms"].as_f64().is_some_and(|ms| ms < 1_000.0), "{values}");
    let values = &found(&card, CheckId::H2FlowControl).values;
    let values = serde_json::to_value(values).expect("values are JSON");
    assert_eq!([&values["stream_bytes"], &values["connection_bytes"]], [65_535, 65_535]);
}

/// A server that answers HTTP/1.1 with its SETTINGS is checked all the same.
#[test]
fn a_server_of_http2_alone_needs_no_option() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut begin = [0; 3];
                let peeked = stream.peek(&mut begin);
                if peeked.is_ok_and(|_| begin == *b"PRI") {
                    converse(stream, PATTERNS[0].0);
                } else {
                    let _ = stream.write_all(&frame(4, 0, 0, b""));
                }
            });
        }
    });
    let target: Target = format!("http://{address}/").parse().expect("a URL");
    let options = Options {
        stack: StackChoice::Kernel,
        only: Some([CheckId::SplitHead].into()),
        ..Options::default()
    };
    let cards = check_versions(&target, &options, &mut |_| {}).expect("a card");
    assert_eq!(cards.iter().map(|it| it.protocol).collect::<Vec<_>>(), [Protocol::Http2]);
}
