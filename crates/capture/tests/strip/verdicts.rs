//! Shares are equal to the nanosecond, whatever the protocol, the path and the capture.

use ackwise_capture::analysis::Analysis;

use crate::{
    analyse,
    recording::{GOOD, Path, capture},
    strip,
};

const PIPELINED: &str = r#"
c "GET /one?a=b HTTP/1.1\r\nHost: a\r\n\r\nGET /two HTTP/1.1\r\nHost: a\r\nCookie: c\r\n\r\n"
s "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" 9000
s "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc"
c "HEAD /three HTTP/1.1\r\nHost: a\r\n\r\n"
s "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\nSet-Cookie: s\r\n\r\n"
c "POST /four HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n"
s "HTTP/1.1 100 Continue\r\n\r\n"
c "" 5000
s "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc" 4000
s end
c end
"#;

/// Turns, what has no answer, and what is not divided.
const KNOWN: [&str; 6] = [
    r#"
    s hex 4a000000 0a 382e302e333600 0102030405060708
    c hex 24000001 8ca2bf00 00000010 21 0000000000000000000000000000000000000000000000 726f6f74
    s hex 0700000200000002000000
    c hex 0500000003 73656c31
    s hex 0100000101
    c hex 0500000019 01000000
    c hex 0500000003 73656c32
    s hex 0100000101
    c hex 0500000012 00000000
    s hex 0100000100
    "#,
    r#"
    c "get secret\r\n"
    s "VALUE secret 0 6\r\nsecret\r\nEND\r\n"
    c "set secret 0 0 6 noreply\r\nsecret\r\n"
    c "get secret\r\n"
    s "END\r\n"
    c "quit\r\n"
    s end
    "#,
    r#"
    c hex 301f020101601a020103040d636e3d61646d696e2c64633d788006736563726574
    s hex 300c02010161070a010004000400
    c hex 30050201034200
    c end
    "#,
    r#"
    c hex 1f000000 67458b6b 00000000 dd070000 00000000 00 0a000000 1070696e6700
    s hex 1f000000 67458b6b 00000000 dd070000 00000000 00 0a000000 106f6b202000
    c hex 25000000 67458b6b 00000000 dd070000 00000000 00 10000000 12 6765744d6f726500 00000000
    s hex 1f000000 67458b6b 00000000 dd070000 00000000 00 0a000000 106f6b202000
    "#,
    r#"
    s "220 mail.example.org ESMTP\r\n"
    c "EHLO me.example.org\r\n"
    s "250 mail.example.org\r\n"
    c "QUIT\r\n"
    s "221 bye\r\n"
    "#,
    r#"
    c "SSH-2.0-OpenSSH_9.2p1\r\n"
    s "SSH-2.0-OpenSSH_9.2p1\r\n"
    c "secret" 900
    s "secret" 900
    "#,
];

const REDIS: [&str; 3] = [
    r#"
    c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$7\r\nUNKNOWN\r\n"
    s "$9\r\nabc\r\n*2\r\n\r\n-ERR\r\n"
    c "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4000\r\n" 4002
    s "+OK\r\n"
    s end
    "#,
    r#"
    c "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
    s "%1\r\n+proto\r\n:3\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n"
    c "*4\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n$7\r\nSTREAMS\r\n"
    s "_\r\n"
    c "*1\r\n$4\r\nPING\r\n"
    s "~2\r\n#t\r\n(123456789012345678901234567890\r\n"
    "#,
    r#"
    c "*1\r\n$4\r\nPING\r\n"
    s "+PONG\r\n"
    c "PING\r\n"
    s "+PONG\r\n"
    c "*1\r\n$4\r\nPING\r\n*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n"
    s "+PONG\r\n"
    c "*1\r\n$4\r\nPING\r\n"
    "#,
];

const POSTGRES: [&str; 2] = [
    r"
    c pg ssl
    s hex 4e
    c pg startup:30
    s pg R:4 S:20 S:20 K:8 Z:1
    c pg Q:40
    s pg T:40 D:3000 D:3000 C:9 Z:1
    c pg P:40 B:20 E:5 S B:20 E:5 S
    s pg 1 2 N:30 C:9 Z:1 2 E:60 Z:1
    c pg Q:20
    s pg G:7
    c pg d:2000 d:30 c
    s pg C:9 Z:1
    c pg X
    c end
    ",
    r#"
    c "PROXY TCP4 192.0.2.1 198.51.100.1 49152 443\r\n"
    c pg startup:30
    s pg R:4 Z:1
    c pg P:40 H B:3 E:5 S
    s pg 1 2 C:9 Z:1
    c pg Q:20
    s end
    "#,
];

const CHUNKED: &str = r#"
c "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
c "5;n=v\r\nhello\r\n"
c "0\r\nTrailer: t\r\n\r\n"
s "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
s "BB8\r\n" 3000
s "\r\n3\r\nabc\r\n0"
s "\r\n\r\n"
c "\r\nGET /b HTTP/1.1\r\n\r\n"
s "HTTP/1.1 304 Not Modified\r\n\r\n"
s end
c end
"#;

/// A tab in an extension is right, a bare LF is not; the last extension is cut by a segment.
const EXTENSIONS: [&str; 3] = [
    r#"
    c "GET /a HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 ;\tname=value\r\nhello\r\n0\r\n\r\n"
    c "GET /b HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    "#,
    r#"
    c "GET /a HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\n"
    s "hello\r\n0\r\n\r\n"
    c "GET /b HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    "#,
    r#"
    c "GET /a HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;na"
    s "me\r\nhello\r\n0\r\nT: v\n"
    s "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    c "GET /b HTTP/1.1\r\n\r\n"
    "#,
];

const HTTP2: &str = r#"
c h2 preface, settings 000300000064, window 0 983041, headers 1 5 828684410161
s h2 settings 000400001000, ack
c h2 ack
s h2 headers 1 4 88, data 1 0 3000
s h2 data 1 1 700
c h2 headers 3 4 83868444022f62, data 3 0 2000
c h2 data 3 1 9
s h2 headers 3 4 8d, data 3 1 40
c h2 headers 5 0 8286, continuation 5 0 84, continuation 5 4 410162
c h2 data 5 1 0
s h2 headers 5 5 48033330324803343130
c h2 ping
s h2 ping, goaway
s end
c end
"#;

const TLS: &str = r#"
c tls 22:517
s tls 22:122 20:1 23:2600 23:281 23:53
c tls 20:1 23:53
c tls 23:400
s tls 23:250 23:250
s tls 23:8000
c tls 23:300
s tls 23:16401 23:2000
c tls 23:19
s end
c end
"#;

const OPAQUE: &str = r#"
s "220 ready\r\n"
c "HELO there\r\n"
s "250 yes\r\n"
c "\x00\x01" 3000
s "\x02" 500
s end
c end
"#;

const MIDDLES: [&str; 3] = [
    r#"
    s gap 5
    s "and so on, in the middle of a body"
    c "GET /a HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    c "GET /b HTTP/1.1\r\nHost: unfini"
    "#,
    r#"
    c "GET /a HTTP/1.1\r\nHost : broken\r\n\r\n"
    s "HTTP/1.1 200 OK\r\n\r\n" 800
    c "GET /a HTTP/1.1\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!"
    s "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    abort
    "#,
    r#"
    c "GET /chat HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    s "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    c "\x81" 40
    s "\x81" 900
    abort
    "#,
];

/// Every size of segments, snap length and fault; segments shorter than a frame's header only where
/// nothing is missing.
fn paths() -> impl Iterator<Item = Path> {
    let sizes = [1448, 100, 7];
    let snaps = [GOOD.snap, 128, 96, 60, 54];
    let faults = [(0, 0), (5, 0), (0, 6), (3, 7)];
    sizes.into_iter().flat_map(move |mss| {
        snaps.into_iter().flat_map(move |snap| {
            let faults = faults.into_iter().filter(move |(_, misses)| mss > 9 || *misses == 0);
            faults.map(move |(loses, misses)| Path { mss, snap, loses, misses })
        })
    })
}

/// A connection's facts except its addresses, an exchange's except its path, which are masked.
fn facts(analysis: &Analysis) -> Vec<String> {
    let connections = analysis.connections.iter().map(|it| {
        let end = (it.closed_first, it.reset, it.initial_window, it.delayed_ack, it.vantage);
        let counts = (it.repeated, it.quality.missing_packets(), it.bytes);
        format!("{:?} {} {end:?} {:?} {counts:?}", it.protocol, it.exchanges, it.round_trip)
    });
    let exchanges = analysis.exchanges.iter().map(|it| {
        let place = (it.connection, it.start, it.duration, it.stream, it.packet);
        let end = (it.status, it.bytes, it.complete, it.exact);
        format!("{place:?} {end:?} {:?}", it.shares)
    });
    connections.chain(exchanges).collect()
}

#[track_caller]
fn say_the_same(text: &str) {
    say_the_same_on(text, paths());
}

#[track_caller]
fn say_the_same_on(text: &str, paths: impl Iterator<Item = Path>) {
    for path in paths {
        let file = capture(text, path);
        let (before, after) = (facts(&analyse(&file)), facts(&analyse(&strip(&file))));
        assert_eq!(before, after, "{path:?}");
    }
}

#[test]
fn of_http1() {
    say_the_same(PIPELINED);
    say_the_same(CHUNKED);
    EXTENSIONS.into_iter().for_each(say_the_same);
}

#[test]
fn of_http2() {
    say_the_same(HTTP2);
}

#[test]
fn of_postgresql_and_the_header_of_a_balancer() {
    for text in POSTGRES {
        say_the_same(text);
    }
}

#[test]
fn of_redis() {
    for text in REDIS {
        say_the_same(text);
    }
}

#[test]
fn of_tls() {
    say_the_same(TLS);
}

#[test]
fn of_protocols_that_are_known_by_their_beginning() {
    // How long a beginning waits for more of it that is never there, depends on what may still come: so on what was masked.
    const LONGEST_MAGIC: usize = 25;
    for text in KNOWN {
        say_the_same_on(text, paths().filter(|it| it.mss >= LONGEST_MAGIC));
    }
}

#[test]
fn of_protocols_that_nobody_knows() {
    say_the_same(OPAQUE);
}

#[test]
fn of_what_begins_ends_or_breaks_in_the_middle() {
    MIDDLES.into_iter().for_each(say_the_same);
}
