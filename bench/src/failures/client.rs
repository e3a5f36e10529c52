//! A client that writes down what it does: one connection, its exchanges, and how each ended.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};

use super::truth::Diary;
use crate::witness::clock::Nanos;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: &'static str,
    /// What the server is to do: see [`Script`](super::server::Script).
    pub(super) script: String,
    pub(super) body: usize,
    /// Head and body are written apart.
    pub(super) apart: bool,
    /// Write only this number of bytes of the body.
    pub(super) only: Option<usize>,
    pub(super) patience: Duration,
    /// Close the sending half behind it.
    pub(super) shut: bool,
}

impl Ask {
    pub(super) fn get(script: impl Into<String>) -> Self {
        Self {
            method: "GET",
            script: script.into(),
            body: 0,
            apart: false,
            only: None,
            patience: PATIENCE,
            shut: false,
        }
    }

    pub(super) fn post(script: impl Into<String>, body: usize) -> Self {
        Self { method: "POST", body, ..Self::get(script) }
    }

    pub(super) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

/// How an exchange ended, for its client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// With a complete response.
    Answered(u16),
    /// By an EOF. The number of bytes before it.
    Eof(usize),
    /// By an error. The number of bytes before it.
    Error(ErrorKind, usize),
    /// The client gave up waiting. The number of bytes before that.
    TimedOut(usize),
}

impl End {
    pub(super) const fn is_answered(&self) -> bool {
        matches!(self, Self::Answered(_))
    }
}

/// An exchange that is over.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) port: u16,
    pub(super) number: u32,
    /// When the client began to connect.
    pub(super) opened: Nanos,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    pub(super) end: End,
}

impl Done {
    /// Whoever opens a connection for a request waits for that, too: docs/explain/rules-path.md, "Distance, connection setup".
    pub(super) const fn start(&self) -> Nanos {
        if self.number == 0 { self.opened } else { self.began }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conn<'a> {
    pub(super) stream: TcpStream,
    pub(super) port: u16,
    number: u32,
    /// When the client began to connect.
    pub(super) opened: Nanos,
    diary: &'a Diary,
}

/// A try to connect that failed.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) port: u16,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    pub(super) error: ErrorKind,
}

/// What is set before a connect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before<'a> {
    pub(super) from: Option<SocketAddrV4>,
    pub(super) set: Option<fn(&Socket) -> io::Result<()>>,
    pub(super) within: Option<Duration>,
    pub(super) what: &'a str,
}

impl<'a> Conn<'a> {
    /// Connects from the calling thread's namespace.
    pub(super) fn open(to: SocketAddrV4, diary: &'a Diary) -> anyhow::Result<Self> {
        match Self::attempt(to, Before::default(), diary)? {
            Ok(it) => Ok(it),
            Err(why) => anyhow::bail!("cannot connect to {to}: {}", why.error),
        }
    }

    /// Tries to. The outer error is the bench's own.
    pub(super) fn attempt(
        to: SocketAddrV4,
        before: Before<'_>,
        diary: &'a Diary,
    ) -> anyhow::Result<Result<Self, Refusal>> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let from = before.from.unwrap_or_else(|| SocketAddrV4::new([0, 0, 0, 0].into(), 0));
        if before.from.is_some() {
            socket.set_reuse_address(true)?;
        }
        // The port is known before it is used.
        socket.bind(&from.into())?;
        if let Some(set) = before.set {
            set(&socket)?;
        }
        let port = socket.local_addr()?.as_socket_ipv4().map_or(0, |it| it.port());
        let began = diary.note("client", port, format!("connects to {to} {}", before.what));
        let result = match before.within {
            Some(limit) => socket.connect_timeout(&to.into(), limit),
            None => socket.connect(&to.into()),
        };
        let said = match &result {
            Ok(()) => "is connected".to_owned(),
            Err(why) => format!("cannot connect: {why}"),
        };
        // A socket that gives up closes before the note is read.
        if result.is_err() {
            drop(socket);
            let ended = diary.note("client", port, said);
            let error = result.err().map_or(ErrorKind::Other, |it| it.kind());
            return Ok(Err(Refusal { port, began, ended, error }));
        }
        diary.note("client", port, said);
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        Ok(Ok(Self { stream, port, number: 0, opened: began, diary }))
    }

    /// One exchange, to its end.
    pub(super) fn ask(&mut self, ask: &Ask) -> Done {
        let number = self.number;
        self.number += 1;
        let what = format!("asks {} {} with {} bytes", ask.method, ask.script, ask.body);
        // Made before the clock is read: megabytes take milliseconds.
        let message = message(ask, number);
        let began = self.diary.note("client", self.port, what);
        let end = self.exchange(ask, &message);
        let ended = self.diary.note("client", self.port, format!("ends: {end:?}"));
        Done { port: self.port, number, opened: self.opened, began, ended, end }
    }

    fn exchange(&mut self, ask: &Ask, message: &[Vec<u8>]) -> End {
        let until = Instant::now() + ask.patience;
        // What cannot be written may still be answered.
        let written = self.write(message, until);
        if ask.shut {
            let _ = self.stream.shutdown(Shutdown::Write);
        }
        match (self.read(ask, until), written) {
            (End::Eof(0), Err(why)) => End::Error(why.kind(), 0),
            (end, _) => end,
        }
    }

    fn write(&mut self, message: &[Vec<u8>], until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        self.stream.set_write_timeout(Some(left.max(LEAST)))?;
        message.iter().try_for_each(|it| self.stream.write_all(it))
    }

    fn read(&mut self, ask: &Ask, until: Instant) -> End {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 65_536];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return End::TimedOut(bytes.len());
            }
            let _ = self.stream.set_read_timeout(Some(left.max(LEAST)));
            match self.stream.read(&mut chunk) {
                Ok(0) => return at_eof(&bytes),
                Ok(len) => bytes.extend(&chunk[..len]),
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return End::TimedOut(bytes.len());
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) => return End::Error(why.kind(), bytes.len()),
            }
            if let Some(status) = complete(&bytes, ask.method) {
                return End::Answered(status);
            }
        }
    }

    /// Reads until nothing more comes; whether the other end closed in that time.
    pub(super) fn is_closed_within(&self, limit: Duration) -> bool {
        let _ = self.stream.set_read_timeout(Some(limit.max(LEAST)));
        let mut buffer = [0; 1];
        !matches!(self.stream.peek(&mut buffer), Err(why)
            if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// With a FIN, if everything was read.
    pub(super) fn close(self) -> Nanos {
        let Self { stream, port, diary, .. } = self;
        let at = diary.note("client", port, "closes");
        drop(stream);
        at
    }

    /// With an RST.
    pub(super) fn reset(self) -> Nanos {
        let Self { stream, port, diary, .. } = self;
        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        let at = diary.note("client", port, "resets");
        drop(stream);
        at
    }
}

/// A request, in pieces that are written one after the other.
fn message(ask: &Ask, number: u32) -> Vec<Vec<u8>> {
    let mut head = format!("{} /{number} HTTP/1.1\r\nHost: server\r\n", ask.method);
    if ask.body > 0 {
        head += &format!("Content-Length: {}\r\n", ask.body);
    }
    let head = format!("{head}X-Do: {}\r\n\r\n", ask.script).into_bytes();
    let body = vec![b'x'; ask.only.unwrap_or(ask.body)];
    if ask.apart { vec![head, body] } else { vec![[head, body].concat()] }
}

/// The status, if the message is over. What ends with the connection is not.
fn complete(bytes: &[u8], method: &str) -> Option<u16> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status: u16 = head.get(9..12)?.parse().ok()?;
    let body = bytes.len() - end;
    if method == "HEAD" || matches!(status, 204 | 304) {
        return Some(status);
    }
    if let Some(length) = header(&head, "content-length") {
        return (body >= length.parse().ok()?).then_some(status);
    }
    header(&head, "transfer-encoding")?;
    bytes.ends_with(b"\r\n0\r\n\r\n").then_some(status)
}

fn at_eof(bytes: &[u8]) -> End {
    let head = bytes.windows(4).position(|it| it == b"\r\n\r\n");
    let head = head.map(|end| String::from_utf8_lossy(&bytes[..end + 4]).to_ascii_lowercase());
    let Some(head) = head else { return End::Eof(bytes.len()) };
    let ends = |name| header(&head, name).is_none();
    match head.get(9..12).and_then(|it| it.parse().ok()) {
        Some(status) if ends("content-length") && ends("transfer-encoding") => {
            End::Answered(status)
        }
        _ => End::Eof(bytes.len()),
    }
}

/// Of a head in lower case.
pub(super) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Longer than any exchange that ends by itself.
const PATIENCE: Duration = Duration::from_secs(30);
const LEAST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_by_its_framing() {
        let status = |text: &str, method| complete(text.as_bytes(), method);
        assert_eq!(status("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", "GET"), None);
        assert_eq!(status("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", "GET"), Some(200));
        assert_eq!(status("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "HEAD"), Some(200));
        assert_eq!(status("HTTP/1.1 304 Not\r\n\r\n", "GET"), Some(304));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
        assert_eq!(status(chunked, "GET"), None);
        assert_eq!(status(&format!("{chunked}0\r\n\r\n"), "GET"), Some(200));
        let until_close = "HTTP/1.1 200 OK\r\n\r\nab";
        assert_eq!(status(until_close, "GET"), None);
        assert_eq!(at_eof(until_close.as_bytes()), End::Answered(200));
        assert_eq!(at_eof(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"), End::Eof(38));
    }
}
