//! Servers that try to keep a check busy: each check ends with its time, `Options::time`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_check::{
    HttpChoice, Options, StackChoice,
    card::{CheckId, Protocol, Verdict},
    check, check_streams,
    http_client::Template,
};
use ackwise_net::Target;

/// What a server does on a connection after the first bytes of the client.
type Attack = fn(&mut TcpStream) -> io::Result<()>;

const ATTACKS: &[(&str, Attack)] = &[
    ("silence", |_| pause(LIFETIME)),
    ("a head, one byte at a time", |out| trickle(out, b"HTTP/1.1 200 OK\r\nX: ", b"a")),
    ("a head that never ends", |out| flood(out, b"HTTP/1.1 200 OK\r\nX: ", b"a")),
    ("fields that never end", |out| flood(out, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")),
    ("interim responses", |out| flood(out, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")),
    ("interim responses, slowly", |out| trickle(out, b"", b"HTTP/1.1 102 Processing\r\n\r\n")),
    ("large interim responses", |out| {
        let interim = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "l".repeat(7_000));
        flood(out, b"", interim.as_bytes())
    }),
    ("a body, one byte at a time", |out| {
        trickle(out, b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"x")
    }),
    ("a body that never ends", |out| flood(out, b"HTTP/1.1 200 OK\r\n\r\n", b"xxxxxxxx")),
    ("chunk extensions", |out| {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(8_000));
        flood(out, CHUNKED, chunk.as_bytes())
    }),
    ("chunk extensions, slowly", |out| trickle(out, CHUNKED, b"1;e=e\r\nx\r\n")),
    ("leading zeros of a chunk's size", |out| flood(out, CHUNKED, b"0000000001\r\nx\r\n")),
    ("trailer fields", |out| flood(out, &[CHUNKED, b"0\r\n"].concat(), b"X: y\r\n")),
    ("trailer fields, slowly", |out| trickle(out, &[CHUNKED, b"0\r\n"].concat(), b"X: y\r\n")),
    ("slow redirects", |out| {
        pause(Duration::from_millis(300))?;
        out.write_all(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")?;
        pause(LIFETIME)
    }),
    ("bytes after the response that nobody asked for", |out| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        out.write_all(head)?;
        pause(Duration::from_millis(100))?;
        flood(out, b"", b"garbage ")
    }),
    ("a connection that is never closed", |out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")?;
        pause(LIFETIME)
    }),
];

/// The same in HTTP/2, in clear text.
const HTTP2_ATTACKS: &[(&str, Attack)] = &[
    ("silence", |_| pause(LIFETIME)),
    ("SETTINGS that never end", |out| flood(out, b"", SETTINGS)),
    ("PING", |out| flood(out, SETTINGS, b"\0\0\x08\x06\0\0\0\0\0ackwise!")),
    ("PING, slowly", |out| trickle(out, SETTINGS, b"\0\0\x08\x06\0\0\0\0\0ackwise!")),
    ("a frame, one byte at a time", |out| {
        trickle(out, &[SETTINGS, b"\0\x40\0\x01\x05\0\0\0\x01"].concat(), b"\0")
    }),
    ("CONTINUATION", |out| {
        let first = [SETTINGS, b"\0\0\0\x01\0\0\0\0\x01"].concat();
        flood(out, &first, b"\0\0\x01\x09\0\0\0\0\x01\x88")
    }),
    ("interim responses", |out| flood(out, SETTINGS, b"\0\0\x05\x01\x04\0\0\0\x01\x48\x03103")),
    // A large entry of the table, and then a byte for each copy of it.
    ("a field block of megabytes", |out| {
        let entry = [&b"\x40\x01x\x7f\xd1\x1e"[..], &[b'y'; 4_016]].concat();
        let block = [&entry[..], &[0xbe; 4_000]].concat();
        let [_, length @ ..] = u32::try_from(block.len()).unwrap().to_be_bytes();
        let frame = [&length[..], b"\x01\x04\0\0\0\x01", &block].concat();
        flood(out, SETTINGS, &frame)
    }),
    ("DATA without HEADERS", |out| flood(out, SETTINGS, b"\0\0\x01\0\0\0\0\0\x01x")),
    ("DATA that never ends", |out| {
        let head = [SETTINGS, b"\0\0\x01\x01\x04\0\0\0\x01\x88"].concat();
        flood(out, &head, b"\0\0\x01\0\0\0\0\0\x01x")
    }),
    ("windows that never open", |out| flood(out, SETTINGS, b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0")),
    ("GOAWAY", |out| flood(out, SETTINGS, b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b")),
];

/// SETTINGS with a window of no bytes.
const SETTINGS: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0";

/// The same below TLS: the client says hello and waits.
const TLS_ATTACKS: &[(&str, Attack)] = &[
    ("silence", |_| pause(LIFETIME)),
    ("a record, one byte at a time", |out| trickle(out, &[22, 3, 3, 64, 0], &[0])),
    // change_cipher_spec may come at any time before the handshake ends (RFC 8446, section 5).
    ("change_cipher_spec", |out| flood(out, b"", &[20, 3, 3, 0, 1, 1])),
    ("a handshake message in small pieces", |out| {
        flood(out, &[22, 3, 3, 0, 4, 2, 255, 255, 255], &[22, 3, 3, 0, 1, 0])
    }),
    ("warnings", |out| flood(out, b"", &[21, 3, 3, 0, 2, 1, 90])),
];

#[test]
fn no_answer_keeps_a_check_busy_beyond_its_time() {
    for &(name, attack) in ATTACKS {
        assert_bounded(name, "http", serve(attack), StackChoice::Kernel);
    }
}

/// Streams that give little, or too much: what each ends in is said once, in time.
const STREAM_ATTACKS: &[(&str, Attack)] = &[
    ("a head and no content", |out| {
        out.write_all(STREAM)?;
        pause(LIFETIME)
    }),
    ("comments, and no event", |out| trickle(out, STREAM, b": ping\n\n")),
    ("one byte at a time", |out| trickle(out, STREAM, b"x")),
    ("an event that never ends", |out| flood(out, &[STREAM, b"data: "].concat(), b"x")),
    ("empty lines", |out| flood(out, STREAM, b"\n")),
    ("events without a pause", |out| flood(out, STREAM, b"data\n\n")),
    ("chunks of a byte", |out| flood(out, CHUNKED_STREAM, b"1\r\n\n\r\n")),
    ("a chunk of 2^63 bytes", |out| {
        flood(out, &[CHUNKED_STREAM, b"8000000000000000\r\n"].concat(), b"data: x\n\n")
    }),
    ("a chunk of 2^70 bytes", |out| {
        flood(out, &[CHUNKED_STREAM, b"400000000000000000\r\n"].concat(), b"x")
    }),
    ("a message of 4 GB", |out| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\n\r\n\0\xff\xff\xff\xff";
        flood(out, head, b"x")
    }),
    ("an end after some events", |out| {
        out.write_all(&[STREAM, b"data: x\n\ndata: y\n\nda"].concat())
    }),
];

const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const CHUNKED_STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn no_stream_keeps_a_check_busy_beyond_its_time_or_is_accused() {
    for &(name, attack) in ATTACKS.iter().chain(STREAM_ATTACKS) {
        let server = serve(attack);
        let target: Target = format!("http://127.0.0.1:{}/", server.port()).parse().unwrap();
        let http = HttpChoice::Only(Protocol::Http1);
        let stack = StackChoice::Kernel;
        let options = Options { stack, http, time: TIME, ..Options::default() };
        let begun = Instant::now();
        let cards = check_streams(&target, &options, &mut |_| {});
        let took = begun.elapsed();
        assert!(took < TIME + SLACK, "{name}: {took:?} instead of {TIME:?}");
        let findings = cards.iter().flatten().flat_map(|card| &card.findings);
        for finding in findings.filter(|it| it.id == CheckId::StreamHeld) {
            assert!(finding.verdict < Verdict::Warn, "{name}: {finding:?}");
        }
    }
}

#[test]
fn no_frames_keep_a_check_busy_beyond_its_time() {
    for &(name, attack) in HTTP2_ATTACKS {
        let server = serve(attack);
        let target: Target = format!("http://127.0.0.1:{}/", server.port()).parse().unwrap();
        // More than fits into the server's window.
        let template = Template { content: Some(vec![7; 100_000]), ..Template::default() };
        let http = HttpChoice::Only(Protocol::Http2);
        let stack = StackChoice::Kernel;
        let options = Options { stack, http, template, time: TIME, ..Options::default() };
        assert_ends(name, &target, &options);
    }
}

#[test]
fn no_handshake_keeps_a_check_busy_beyond_its_time() {
    for &(name, attack) in TLS_ATTACKS {
        assert_bounded(name, "https", serve(attack), StackChoice::Kernel);
    }
}

#[test]
fn a_server_that_never_reads_or_accepts_does_not_either() {
    // Nobody accepts: the handshake is the kernel's, and requests fill its buffers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    assert_bounded("never accepts", "http", server, StackChoice::Kernel);
}

#[cfg(target_os = "linux")]
#[test]
fn our_own_stack_ends_in_time_too() {
    use ackwise_linux::{Namespace, TunDevice, device::TunOptions};
    use ackwise_testing::skip;

    let name = "our_own_stack_ends_in_time_too";
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(missing) => return skip(name, missing),
    };
    let test = || {
        if let Err(missing) = TunDevice::open(TunOptions::default()) {
            return skip(name, missing);
        }
        for &(name, attack) in ATTACKS {
            assert_bounded(name, "http", serve_on("0.0.0.0", attack), StackChoice::Ackwise);
        }
        for &(name, attack) in TLS_ATTACKS {
            assert_bounded(name, "https", serve_on("0.0.0.0", attack), StackChoice::Ackwise);
        }
    };
    namespace.run(test).unwrap();
}

fn assert_bounded(name: &str, scheme: &str, server: SocketAddr, stack: StackChoice) {
    let target: Target = format!("{scheme}://127.0.0.1:{}/", server.port()).parse().unwrap();
    assert_ends(
        name,
        &target,
        &Options { stack, insecure: true, time: TIME, ..Options::default() },
    );
}

fn assert_ends(name: &str, target: &Target, options: &Options) {
    let begun = Instant::now();
    // Whether there is a card or an error is not the question here.
    let result = check(target, options, &mut |_| {}).map(drop);
    let took = begun.elapsed();
    assert!(took < TIME + SLACK, "{name} at {target}: {took:?} instead of {TIME:?}, {result:?}");
}

fn serve(attack: Attack) -> SocketAddr {
    serve_on("127.0.0.1", attack)
}

/// A server that attacks each client until that has gone.
fn serve_on(host: &str, attack: Attack) -> SocketAddr {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            thread::spawn(move || {
                // The client goes in the middle of it.
                let _ = socket.read(&mut [0; 4096]).and_then(|_| attack(&mut socket));
            });
        }
    });
    address
}

/// As fast as the client reads.
fn flood(out: &mut TcpStream, first: &[u8], again: &[u8]) -> io::Result<()> {
    out.write_all(first)?;
    let many = again.repeat(65_536_usize.div_ceil(again.len()));
    let end = Instant::now() + LIFETIME;
    while Instant::now() < end {
        out.write_all(&many)?;
    }
    Ok(())
}

/// A little at a time.
fn trickle(out: &mut TcpStream, first: &[u8], again: &[u8]) -> io::Result<()> {
    out.write_all(first)?;
    let end = Instant::now() + LIFETIME;
    while Instant::now() < end {
        out.write_all(again)?;
        pause(Duration::from_millis(20))?;
    }
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "an attack that only waits is one, too")]
fn pause(span: Duration) -> io::Result<()> {
    thread::sleep(span);
    Ok(())
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Of one check.
const TIME: Duration = Duration::from_millis(800);
/// Our choice: a blocked send takes 1 s, late reads 0.25 s, opening a TUN device some milliseconds;
/// the rest is for a busy machine. Without a deadline, the attacks last [`LIFETIME`].
const SLACK: Duration = Duration::from_secs(5);
const LIFETIME: Duration = Duration::from_secs(20);
