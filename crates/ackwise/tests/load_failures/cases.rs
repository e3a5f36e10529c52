//! Servers, each with its way to fail or not to, and what `load` says of it.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::Duration,
};

use nix::libc::MSG_MORE;

use socket2::SockRef;

/// From one end to the other, where there is a link.
pub(crate) const WAY: Duration = Duration::from_millis(50);
/// More than the timeout of a request.
pub(crate) const LATER: Duration = Duration::from_millis(1_600);

const KEPT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nok";

/// A server, and what is reported about a run with it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub name: &'static str,
    pub arguments: &'static str,
    /// Whether the first request is answered in any case, so that there is a report.
    pub answers_first: bool,
    /// Whether there is no listener any more when it is answered.
    pub refuses: bool,
    /// Takes a request, by its number from 1 on. Returns whether the connection goes on.
    pub serve: fn(&mut TcpStream, u32) -> bool,
    /// Kind, outcome and rival of each request that failed.
    pub expected: &'static [(&'static str, &'static str, Option<&'static str>)],
    /// Requests that crossed a close, and those that were repeated.
    pub crossed: [u64; 2],
    pub exit: i32,
}

const FRESH: &str = "--requests 2";
const REUSED: &str = "--requests 2 --requests-per-connection unlimited";

const PLAIN: Case = Case {
    name: "answered",
    arguments: REUSED,
    answers_first: false,
    refuses: false,
    serve: |it, _| answer(it, KEPT),
    expected: &[],
    crossed: [0; 2],
    exit: 0,
};

/// One request fails, on a connection of its own.
const FAILS: Case = Case { arguments: FRESH, answers_first: true, exit: 1, ..PLAIN };

/// The same at any distance.
pub(crate) const LOOPBACK: &[Case] = &[
    PLAIN,
    Case {
        name: "read, and closed",
        serve: |it, _| {
            read_request(it);
            false
        },
        expected: &[("closed-unanswered", "closed-unanswered", None)],
        ..FAILS
    },
    Case {
        name: "half a response",
        serve: |it, _| {
            answer(it, HALF);
            false
        },
        expected: &[("truncated", "truncated", None)],
        ..FAILS
    },
    Case {
        name: "half a response, and a reset",
        serve: |it, _| {
            answer(it, HALF);
            thread::sleep(WAY);
            reset(it)
        },
        expected: &[("truncated", "truncated", None)],
        ..FAILS
    },
    Case {
        name: "read, and reset",
        serve: |it, _| {
            read_request(it);
            thread::sleep(3 * WAY);
            reset(it)
        },
        expected: &[("reset", "reset", None)],
        ..FAILS
    },
    Case {
        name: "no response in time",
        serve: |it, _| {
            read_request(it);
            thread::sleep(LATER);
            false
        },
        expected: &[("abandoned", "abandoned", None)],
        ..FAILS
    },
    Case {
        name: "refused",
        refuses: true,
        expected: &[("connect-refused", "connect-refused", None)],
        ..FAILS
    },
    Case {
        name: "no HTTP",
        serve: |it, _| answer(it, b"SSH-2.0-OpenSSH\r\n"),
        expected: &[("malformed", "abandoned", None)],
        ..FAILS
    },
    Case {
        name: "an error of the server",
        serve: |it, _| answer(it, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno"),
        expected: &[("status-5xx", "answered", None)],
        ..FAILS
    },
    Case {
        name: "other content",
        arguments: "--requests 2 --expect-content same",
        serve: |it, _| answer(it, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"),
        expected: &[("wrong-content", "answered", None)],
        ..FAILS
    },
    Case {
        name: "had by the server of a connection in use, and not answered",
        serve: |it, _| {
            read_request(it);
            thread::sleep(3 * WAY);
            false
        },
        arguments: "--requests 3 --requests-per-connection unlimited --retry-closed",
        expected: &[
            ("closed-unanswered", "closed-unanswered", None),
            ("closed-unanswered", "closed-unanswered", Some("close-race")),
        ],
        ..FAILS
    },
    // What looks like a failure.
    Case {
        name: "announced, and closed",
        arguments: "--requests 6 --requests-per-connection unlimited",
        serve: |it, _| {
            answer(it, LAST);
            false
        },
        ..PLAIN
    },
    Case {
        name: "closed in the segment of the response, which does not say so",
        arguments: "--requests 6 --requests-per-connection unlimited",
        serve: |it, _| {
            read_request(it);
            SockRef::from(&*it).send_with_flags(KEPT, MSG_MORE).unwrap();
            false
        },
        ..PLAIN
    },
    Case {
        name: "a limit of requests that is announced",
        arguments: "--requests 9 --requests-per-connection unlimited",
        serve: |it, number| match number % 3 {
            0 => {
                answer(it, LAST);
                false
            }
            _ => answer(it, KEPT),
        },
        ..PLAIN
    },
    Case {
        name: "closed while its user thinks",
        arguments: "--requests 4 --requests-per-connection unlimited --think 400ms",
        serve: |it, _| {
            answer(it, KEPT);
            thread::sleep(2 * WAY);
            false
        },
        ..PLAIN
    },
    Case {
        name: "closed while no request is due",
        arguments: "--requests 4 --requests-per-connection unlimited --rate 2/s",
        serve: |it, _| {
            answer(it, KEPT);
            thread::sleep(2 * WAY);
            false
        },
        ..PLAIN
    },
];

/// Over a link: the buffers of loopback hold any request, and nothing crosses there for sure. The server closes when its response
/// is on its way, and when that close arrives, the next request is.
pub(crate) const OVER_A_LINK: &[Case] = &[
    Case {
        name: "a body of which only some is read",
        arguments: "--requests 2 --data @body",
        serve: |it, _| {
            it.read_exact(&mut [0; 10_000]).unwrap();
            false
        },
        expected: &[("request-cut-off", "request-cut-off", None)],
        ..FAILS
    },
    Case { exit: 1, crossed: [1, 0], ..LIMIT },
    Case {
        name: "a limit that is no failure to the user",
        arguments: "--requests 2 --requests-per-connection unlimited --fail-on failures",
        crossed: [1, 0],
        ..LIMIT
    },
    Case {
        name: "repeated",
        arguments: "--requests 2 --requests-per-connection unlimited --retry-closed",
        crossed: [1, 1],
        ..LIMIT
    },
    Case {
        name: "not repeated, because it is a POST",
        arguments: "--requests 2 --requests-per-connection unlimited --retry-closed --data a=b",
        crossed: [1, 0],
        exit: 1,
        ..LIMIT
    },
    Case {
        name: "an idle timeout",
        arguments: "--requests 2 --requests-per-connection unlimited --think 1200ms",
        serve: |it, number| {
            answer(it, KEPT);
            if number == 1 {
                thread::sleep(Duration::from_millis(1_200) + WAY);
            }
            false
        },
        expected: &[("close-race", "closed-unanswered", Some("server-restart"))],
        crossed: [1, 0],
        exit: 1,
        ..PLAIN
    },
];

/// A limit of requests for each connection, without a word.
const LIMIT: Case = Case {
    name: "a limit of requests",
    serve: |it, _| {
        answer(it, KEPT);
        thread::sleep(WAY / 2);
        false
    },
    expected: &[("close-race", "closed-unanswered", Some("request-limit"))],
    ..PLAIN
};

impl Case {
    /// Serves until the run is `over`.
    pub(crate) fn serve_all(&self, listener: TcpListener, over: &AtomicBool) {
        listener.set_nonblocking(true).unwrap();
        let (mut listener, requests) = (Some(listener), AtomicU32::new(0));
        thread::scope(|scope| {
            while !over.load(Ordering::Relaxed) {
                if self.refuses && requests.load(Ordering::Relaxed) > 0 {
                    listener = None;
                }
                match listener.as_ref().map(TcpListener::accept) {
                    Some(Ok((stream, _))) => {
                        drop(scope.spawn(|| self.serve_one(stream, &requests)))
                    }
                    _ => thread::sleep(Duration::from_millis(1)),
                }
            }
        });
    }

    fn serve_one(&self, mut stream: TcpStream, requests: &AtomicU32) {
        stream.set_nonblocking(false).unwrap();
        // `load` uses one connection only to look where the server is.
        while stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            let number = requests.fetch_add(1, Ordering::Relaxed) + 1;
            if self.refuses {
                thread::sleep(2 * WAY);
            }
            let goes_on = match number {
                1 if self.answers_first => answer(&mut stream, KEPT),
                _ => (self.serve)(&mut stream, number),
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// Answers the first request that comes, but does something before that.
pub(crate) fn answer_one(listener: &TcpListener, before: impl FnOnce()) -> TcpStream {
    loop {
        let mut stream = listener.accept().unwrap().0;
        // `load` uses one connection only to look where the server is.
        if read_request(&mut stream) {
            before();
            stream.write_all(KEPT).unwrap();
            return stream;
        }
    }
}

fn answer(stream: &mut TcpStream, response: &[u8]) -> bool {
    read_request(stream) && stream.write_all(response).is_ok()
}

fn reset(stream: &TcpStream) -> bool {
    SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
    false
}

/// Reads a head, and the content that it announces.
fn read_request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut content = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut content).is_ok()
}
