//! What fails between real programs, as a capture at each end shows it. The programs know what happened to them: they made
//! it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

#[expect(dead_code, reason = "the tests of known causes need more of it")]
#[path = "../known_causes/lab.rs"]
mod lab;
#[path = "../known_causes/tap.rs"]
mod tap;

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    thread,
    time::Duration,
};

use ackwise_capture::read::Source;
use ackwise_explain::{Failure, Reading};
use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_testing::skip;

use lab::Lab;
use tap::Tap;

/// From one end to the other.
const WAY: Duration = Duration::from_millis(50);
/// The server's patience with idle connections.
const IDLE: Duration = Duration::from_millis(1_300);
/// Long enough for anything that is on its way, and for a program to be late.
const LATER: Duration = Duration::from_millis(400);

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What one connection comes to.
struct Case {
    name: &'static str,
    /// At the client, and at the server.
    expected: [&'static [&'static str]; 2],
    serve: fn(TcpStream),
    ask: fn(SocketAddr),
}

const CASES: &[Case] = &[
    Case {
        name: "two requests, and the client closes",
        expected: [&[], &[]],
        serve: |mut it| while answer(&mut it, RESPONSE) {},
        ask: |server| {
            let mut it = connect(server);
            assert_eq!([ask(&mut it), ask(&mut it)], [Some(RESPONSE.len()); 2]);
        },
    },
    Case {
        name: "closed while idle",
        expected: [&[], &[]],
        serve: |mut it| {
            answer(&mut it, RESPONSE);
            thread::sleep(LATER);
        },
        ask: |server| {
            let mut it = connect(server);
            ask(&mut it);
            assert_eq!(it.read(&mut [0]).unwrap(), 0);
        },
    },
    Case {
        name: "a request that crosses the close",
        expected: [&["close-race"], &["close-race"]],
        serve: |mut it| {
            answer(&mut it, RESPONSE);
            thread::sleep(IDLE);
        },
        ask: |server| {
            let mut it = connect(server);
            ask(&mut it);
            // On its way when the server closes, whose FIN comes here as long after that as the response came.
            thread::sleep(IDLE - WAY);
            assert_eq!(ask(&mut it), None);
        },
    },
    Case {
        name: "a request after the close",
        expected: [&["ignored-close"], &["ignored-close"]],
        serve: |mut it| {
            answer(&mut it, RESPONSE);
        },
        ask: |server| {
            let mut it = connect(server);
            ask(&mut it);
            thread::sleep(LATER);
            assert_eq!(ask(&mut it), None);
        },
    },
    Case {
        name: "read, and closed",
        expected: [&["closed-unanswered"], &["closed-unanswered"]],
        serve: |mut it| assert!(read_request(&mut it)),
        ask: |server| assert_eq!(ask(&mut connect(server)), None),
    },
    Case {
        name: "closed without a look at it",
        expected: [&["reset"], &["reset"]],
        serve: |mut it| {
            // What was not read makes it an RST.
            assert_eq!(it.read(&mut [0]).unwrap(), 1);
        },
        ask: |server| assert_eq!(ask(&mut connect(server)), None),
    },
    Case {
        name: "refused before the body was read",
        expected: [&["early-response-reset"], &["early-response-reset"]],
        serve: |mut it| {
            it.read_exact(&mut [0; 1_000]).unwrap();
            it.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno").unwrap();
        },
        ask: |server| {
            let mut it = connect(server);
            it.write_all(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n")
                .unwrap();
            it.write_all(&vec![0; 9_000_000]).unwrap_err();
        },
    },
    Case {
        name: "refused, and the body read",
        expected: [&[], &[]],
        serve: |mut it| {
            it.read_exact(&mut [0; 1_000]).unwrap();
            it.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno").unwrap();
            it.read_to_end(&mut Vec::new()).unwrap();
        },
        ask: |server| {
            let mut it = connect(server);
            it.write_all(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n").unwrap();
            it.write_all(&[0; 90_000]).unwrap();
            assert!(it.read(&mut [0; 1_000]).unwrap() > 0);
        },
    },
    Case {
        name: "half a response",
        expected: [&["truncated"], &["truncated"]],
        serve: |mut it| {
            answer(&mut it, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nok");
        },
        ask: |server| {
            let mut it = connect(server);
            it.write_all(REQUEST).unwrap();
            let mut all = Vec::new();
            it.read_to_end(&mut all).unwrap();
            assert!(all.ends_with(b"ok"));
        },
    },
    Case {
        name: "a client that gives up",
        expected: [&["abandoned"], &["abandoned"]],
        serve: |mut it| {
            assert!(read_request(&mut it));
            assert_eq!(it.read(&mut [0]).unwrap(), 0, "the client has closed");
        },
        ask: |server| {
            let mut it = connect(server);
            it.set_read_timeout(Some(LATER)).unwrap();
            it.write_all(REQUEST).unwrap();
            assert_eq!(it.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        },
    },
    Case {
        name: "half closed, and answered",
        expected: [&[], &[]],
        serve: |mut it| {
            it.read_to_end(&mut Vec::new()).unwrap();
            it.write_all(RESPONSE).unwrap();
        },
        ask: |server| {
            let mut it = connect(server);
            it.write_all(REQUEST).unwrap();
            it.shutdown(Shutdown::Write).unwrap();
            let mut all = Vec::new();
            it.read_to_end(&mut all).unwrap();
            assert_eq!(all, RESPONSE);
        },
    },
    Case {
        name: "a stream that its client ends",
        expected: [&[], &[]],
        serve: |mut it| {
            answer(&mut it, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            while it.write_all(b"6\r\ndata:\n\r\n").is_ok() {
                thread::sleep(WAY);
            }
        },
        ask: |server| {
            let mut it = connect(server);
            ask(&mut it);
            thread::sleep(LATER);
        },
    },
    Case {
        name: "a body that the close ends",
        expected: [&[], &[]],
        serve: |mut it| {
            answer(&mut it, b"HTTP/1.0 200 OK\r\n\r\nok");
            thread::sleep(LATER);
        },
        ask: |server| {
            let mut it = connect(server);
            it.write_all(REQUEST).unwrap();
            it.read_to_end(&mut Vec::new()).unwrap();
        },
    },
    Case {
        name: "a connection that is not used",
        expected: [&[], &[]],
        serve: |mut it| assert_eq!(it.read(&mut [0]).unwrap(), 0),
        ask: |server| {
            drop(connect(server));
        },
    },
];

fn connect(server: SocketAddr) -> TcpStream {
    TcpStream::connect(server).unwrap()
}

/// Asks; how long the response is that comes, `None` if none does.
fn ask(stream: &mut TcpStream) -> Option<usize> {
    stream.write_all(REQUEST).ok()?;
    stream.read(&mut [0; 1_000]).ok().filter(|len| *len > 0)
}

fn read_request(stream: &mut TcpStream) -> bool {
    let mut request = [0; REQUEST.len()];
    stream.read_exact(&mut request).is_ok()
}

/// Answers a request, if one comes.
fn answer(stream: &mut TcpStream, response: &[u8]) -> bool {
    read_request(stream) && stream.write_all(response).is_ok()
}

/// The kinds of all failures in a capture.
fn kinds(capture: &Path) -> Vec<&'static str> {
    let reading = Reading::new();
    reading.read(&mut Source::open([capture]));
    let analysis = reading.end().unwrap().analysis;
    Failure::all(&analysis).iter().map(|it| it.kind.name()).collect()
}

#[test]
fn what_failed_is_told_from_what_ended() {
    if let Some(missing) = lab::missing().or_else(|| lab::missing_program(&["nft"])) {
        return skip("what_failed_is_told_from_what_ended", missing);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let options = EmulatorOptions::symmetric(LinkConfig { delay: WAY, ..LinkConfig::IDEAL });
    let lab = &Lab::with_link(&options);
    let mut wrong = Vec::new();
    let mut judge = |name: &str, expected: [&[&str]; 2], happens: &dyn Fn()| {
        let taps = [(&lab.client, "client"), (&lab.server, "server")]
            .map(|(host, file)| Tap::at(host, &folder.join(format!("failures-{file}.pcap"))));
        happens();
        thread::sleep(4 * WAY);
        let told = taps.map(|tap| kinds(&tap.stop()));
        if told.each_ref().map(Vec::as_slice) != expected {
            wrong.push(format!("{name}: {told:?} instead of {expected:?}"));
        }
    };
    for Case { name, expected, serve, ask } in CASES {
        judge(name, *expected, &|| {
            let listen = || TcpListener::bind((lab.server.address, 0)).unwrap();
            let listener = lab.server.inside(listen);
            let server = listener.local_addr().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| serve(listener.accept().unwrap().0));
                lab.client.inside(|| ask(server));
            });
        });
    }
    let nobody = SocketAddr::from((lab.server.address, 9));
    judge("refused", [&["connect-refused"]; 2], &|| {
        let refused = lab.client.inside(|| TcpStream::connect(nobody).unwrap_err().kind());
        assert_eq!(refused, ErrorKind::ConnectionRefused);
    });
    lab.server.run("nft add table inet away");
    lab.server.run("nft add chain inet away in { type filter hook input priority 0 ; }");
    lab.server.run("nft add rule inet away in tcp dport 9 drop");
    // The server's capture is before its filter.
    judge("unanswered", [&["connect-unanswered"]; 2], &|| {
        let patience = Duration::from_millis(1_500);
        let timeout = || TcpStream::connect_timeout(&nobody, patience).unwrap_err().kind();
        assert_eq!(lab.client.inside(timeout), ErrorKind::TimedOut);
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
