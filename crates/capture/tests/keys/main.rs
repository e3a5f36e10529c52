//! With their secrets, connections under TLS are read as those without: rustls on both ends is the other witness.
#![expect(clippy::unwrap_used, reason = "what goes wrong is the test's fault")]

mod messages;
mod peers;

use std::sync::Arc;

use ackwise_capture::{
    conversation::{Event, ExchangeReader, Protocol},
    keys::KeyLog,
};
use ackwise_cause::Direction::{self, ToClient, ToServer};
use peers::{Peers, Recorded, Said, Sent};
use rustls::{
    SupportedCipherSuite, SupportedProtocolVersion,
    crypto::ring::cipher_suite::{
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS13_AES_128_GCM_SHA256,
        TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    },
    version::{TLS12, TLS13},
};

const SUITES: [(&SupportedProtocolVersion, SupportedCipherSuite); 6] = [
    (&TLS12, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    (&TLS12, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    (&TLS12, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    (&TLS13, TLS13_AES_128_GCM_SHA256),
    (&TLS13, TLS13_AES_256_GCM_SHA384),
    (&TLS13, TLS13_CHACHA20_POLY1305_SHA256),
];

/// Three exchanges, the second with a body that takes several records.
fn http1() -> Vec<Said> {
    let said = |direction, text: &str| (direction, text.as_bytes().to_vec());
    let body = |length: usize| vec![b'x'; length];
    vec![
        said(ToServer, "GET /a?secret HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        said(ToClient, "HTTP/1.1 204 No Content\r\n\r\n"),
        said(ToServer, "POST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n"),
        (ToServer, body(20_000)),
        said(ToClient, "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n"),
        (ToClient, body(50_000)),
        said(ToServer, "GET /c HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        said(ToClient, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"),
    ]
}

/// Two exchanges that overlap.
fn http2() -> Vec<Said> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // GET / of HPACK's static table; 200.
    let get = |stream: u8| [0, 0, 3, 1, 5, 0, 0, 0, stream, 0x82, 0x84, 0x87];
    let ok = |stream: u8| [0, 0, 1, 1, 4, 0, 0, 0, stream, 0x88];
    let data = |stream: u8, flags: u8| {
        [&[0, 0x27, 0x10, 0, flags, 0, 0, 0, stream], &[b'x'; 10_000][..]].concat()
    };
    vec![
        (ToServer, [PREFACE, &get(1)].concat()),
        (ToClient, vec![0, 0, 0, 4, 0, 0, 0, 0, 0]),
        (ToServer, get(3).to_vec()),
        (ToClient, [&ok(1)[..], &data(1, 0), &ok(3)].concat()),
        (ToClient, [data(3, 1), data(1, 1)].concat()),
    ]
}

/// What was said, as it would go without TLS.
fn in_clear(said: &[Said]) -> Sent {
    let mut ends = [0; 2];
    let place = |(direction, bytes): &Said| {
        let start = ends[*direction as usize];
        ends[*direction as usize] += bytes.len() as u64;
        (*direction, start, bytes.clone())
    };
    said.iter().map(place).collect()
}

/// What comes of a conversation, without positions.
fn read(keys: Option<&str>, wire: &Sent) -> Vec<String> {
    read_late(keys, 0, wire)
}

/// The same, if the secrets are logged just before this piece of `wire`.
fn read_late(keys: Option<&str>, late: usize, wire: &Sent) -> Vec<String> {
    let mut reader = ExchangeReader::new();
    let log = Arc::new(KeyLog::default());
    if late > 0 {
        log.expect_more();
    }
    if keys.is_some() {
        reader = reader.with_keys(Arc::clone(&log));
    }
    let mut told = Vec::new();
    let mut ends = [0; 2];
    for (number, (direction, start, bytes)) in wire.iter().enumerate() {
        if let (true, Some(text)) = (number == late, keys) {
            log.add_text(text.as_bytes());
        }
        if *start > ends[*direction as usize] {
            reader.handle_gap(*direction, ends[*direction as usize], *start);
        }
        ends[*direction as usize] = start + bytes.len() as u64;
        reader.handle_data(*direction, *start, u32::try_from(bytes.len()).unwrap(), bytes);
        told.extend(std::iter::from_fn(|| reader.poll_event()).filter_map(name));
    }
    reader.handle_end(ToClient);
    reader.handle_abort();
    told.extend(std::iter::from_fn(|| reader.poll_event()).filter_map(name));
    told
}

fn name(event: Event) -> Option<String> {
    Some(match event {
        Event::TlsFlight(_) | Event::Protocol(Protocol::Tls) => return None,
        Event::RequestHead { exchange, head } => {
            format!("{exchange:?} asks {:?} {:?} {}", head.method, head.path, head.has_query)
        }
        Event::ResponseHead { exchange, head } => format!("{exchange:?} answers {:?}", head.status),
        event => {
            let text = format!("{event:?}");
            let without_place = |part: &str| !part.trim_start().starts_with("position:");
            text.split(',').filter(|it| without_place(it)).collect::<Vec<_>>().join(",")
        }
    })
}

/// Bytes in one direction.
fn length(wire: &Sent, direction: Direction) -> usize {
    wire.iter().filter(|it| it.0 == direction).map(|it| it.2.len()).sum()
}

#[test]
fn what_was_sealed_is_read_as_what_was_not() {
    for (version, suite) in SUITES {
        for said in [http1(), http2()] {
            let expected = read(None, &in_clear(&said));
            assert!(expected.len() > 8, "{expected:?}");
            for segment in [1, 100, 1_448, 64_000] {
                // A key update is TLS 1.3's.
                let updates =
                    if version == &TLS13 { &[None, Some(2), Some(4)][..] } else { &[None] };
                for &update in updates {
                    let peers = Peers::new(version, suite);
                    let Recorded { keys, wire } = peers.talk(&[], &said, segment, update);
                    let found = read(Some(&keys), &wire);
                    assert_eq!(found, expected, "{suite:?}, {segment}, {update:?}");
                }
            }
        }
    }
}

#[test]
fn a_resumed_connection_has_secrets_of_its_own() {
    for (version, suite) in SUITES {
        let peers = Peers::new(version, suite);
        let full = length(&peers.talk(&[], &http1(), 1_448, None).wire, ToClient);
        let Recorded { keys, wire } = peers.talk(&[], &http1(), 1_448, None);
        assert!(length(&wire, ToClient) < full, "without a certificate");
        assert_eq!(read(Some(&keys), &wire), read(None, &in_clear(&http1())), "{suite:?}");
    }
}

#[test]
fn early_data_is_a_request_once() {
    let said = http1();
    let [(_, early), rest @ ..] = &said[..] else { unreachable!() };
    let expected = read(None, &in_clear(&said));
    for refused in [false, true] {
        let mut peers = Peers::with(&TLS13, TLS13_AES_128_GCM_SHA256, 1_000, false);
        peers.talk(&[], &said, 1_448, None);
        if refused {
            peers.refuse_early();
        }
        let Recorded { keys, wire } = peers.talk(early, rest, 1_448, None);
        assert_eq!(read(Some(&keys), &wire), expected, "refused: {refused}");
    }
}

/// A body of known length goes on behind a hole in it, from the next record on that another follows.
#[test]
fn behind_a_hole_records_are_found_by_their_numbers() {
    let expected = read(None, &in_clear(&http1()));
    for (version, suite) in SUITES {
        let Recorded { keys, wire } = Peers::new(version, suite).talk(&[], &http1(), 1_000, None);
        let body: Vec<_> =
            (0..wire.len()).filter(|&it| wire[it].0 == ToClient && wire[it].1 > 8_000).collect();
        // Less than half of the body, with the ends of one or two records.
        for lost in [1, 5, 20] {
            let hole = body[2]..body[2] + lost;
            let mut wire = wire.clone();
            wire.drain(hole);
            let found = read(Some(&keys), &wire);
            assert_eq!(found, expected, "{suite:?}, {lost}");
        }
    }
}

#[test]
fn without_its_secrets_a_connection_is_read_as_without_any() {
    for (version, suite) in SUITES {
        let [one, other] =
            [(); 2].map(|()| Peers::new(version, suite).talk(&[], &http1(), 1_448, None));
        let expected = read(None, &one.wire);
        assert_eq!(read(Some(&other.keys), &one.wire), expected, "{suite:?}");
        // The right random with a wrong secret.
        let wrong: String = one
            .keys
            .lines()
            .map(|line| {
                let (known, secret) = line.rsplit_once(' ').unwrap();
                format!("{known} {}\n", "00".repeat(secret.len() / 2))
            })
            .collect();
        assert_eq!(read(Some(&wrong), &one.wire), expected, "{suite:?}");
    }
}

#[test]
fn secrets_of_the_handshake_are_not_needed() {
    let Recorded { keys, wire } =
        Peers::new(&TLS13, TLS13_AES_128_GCM_SHA256).talk(&[], &http1(), 1_448, None);
    let without: String = keys
        .lines()
        .filter(|line| !line.contains("HANDSHAKE"))
        .map(|it| format!("{it}\n"))
        .collect();
    assert!(without.len() < keys.len());
    assert_eq!(read(Some(&without), &wire), read(None, &in_clear(&http1())));
}

/// rustls sends certificate, signature and Finished in one record: what comes behind it are requests already.
#[test]
fn a_client_with_a_certificate_asks_as_often_as_one_without() {
    for (version, suite) in SUITES {
        let Recorded { keys, wire } =
            Peers::with(version, suite, 0, true).talk(&[], &http1(), 1_448, None);
        assert_eq!(read(Some(&keys), &wire), read(None, &in_clear(&http1())), "{suite:?}");
        let told = read(None, &wire);
        for event in ["RequestBegins", "RequestEnds", "ResponseBegins", "ResponseEnds"] {
            let count = told.iter().filter(|it| it.starts_with(event)).count();
            assert_eq!(count, 3, "{suite:?}: {told:?}");
        }
    }
}

/// A program may write its log after it has sent. Whenever that is, a request is one request.
#[test]
fn a_late_secret_makes_no_request_two() {
    for certificate in [false, true] {
        let Recorded { keys, wire } = Peers::with(&TLS13, TLS13_AES_128_GCM_SHA256, 0, certificate)
            .talk(&[], &http1(), 1_448, None);
        for late in 1..wire.len() {
            let told = read_late(Some(&keys), late, &wire);
            for event in ["RequestBegins", "RequestEnds", "ResponseBegins", "ResponseEnds"] {
                let count = told.iter().filter(|it| it.starts_with(event)).count();
                assert_eq!(count, 3, "before piece {late}: {told:?}");
            }
        }
    }
}
