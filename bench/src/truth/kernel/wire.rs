//! How messages look on the wire: HTTP/1, HTTP/2, TLS and a protocol that nobody knows.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::time::Duration;

use super::channel::Channel;
use super::h2;
use super::line::{Line, pause};
use super::plan::{Kind, Message, Plan, Protocol, Reading, Step};
use super::secrets::Secrets;

/// One end, which speaks a protocol.
#[derive(Debug)]
pub(super) enum Wire {
    /// Messages one behind the other.
    Messages(Channel, Protocol),
    Http2(h2::Peer),
}

impl Wire {
    pub(super) fn client(
        line: Line,
        protocol: Protocol,
        secrets: &Secrets,
    ) -> anyhow::Result<Self> {
        let channel = Channel::client(line, protocol, secrets)?;
        Ok(match protocol {
            Protocol::Http2(http2) => Self::Http2(h2::Peer::client(channel, http2)?),
            _ => Self::Messages(channel, protocol),
        })
    }

    pub(super) fn server(line: Line, plan: &Plan) -> anyhow::Result<Self> {
        let channel = Channel::server(line, plan)?;
        Ok(match plan.protocol {
            Protocol::Http2(http2) => Self::Http2(h2::Peer::server(channel, http2)?),
            protocol => Self::Messages(channel, protocol),
        })
    }

    /// Writes a message step by step.
    pub(super) fn write(&mut self, kind: Kind, message: &Message) -> io::Result<()> {
        if let Self::Http2(peer) = self {
            return peer.write(kind, message);
        }
        let head = self.head(kind, message.body);
        let bytes = [head.clone(), vec![b'x'; message.body]].concat();
        let mut at = 0;
        self.line().diary.begin();
        for step in &message.steps {
            let until = match *step {
                Step::Head => head.len(),
                Step::Bytes(len) => bytes.len().min(at + len),
                Step::Rest => bytes.len(),
                Step::Pause(span) => {
                    pause(span);
                    continue;
                }
                Step::Cork(on) => {
                    self.line().cork(on)?;
                    continue;
                }
                Step::AwaitContinue => {
                    self.await_continue()?;
                    continue;
                }
            };
            let part = match self.is_chunked(kind) {
                true => chunked(&bytes, head.len(), at..until, matches!(step, Step::Rest)).into(),
                false => Cow::from(&bytes[at..until]),
            };
            self.stream().write_all(&part)?;
            self.stream().flush()?;
            at = until;
        }
        self.line().diary.end();
        Ok(())
    }

    /// Reads a message, whose size both ends know.
    pub(super) fn read(&mut self, kind: Kind, body: usize, reading: Reading) -> io::Result<()> {
        if let Self::Http2(peer) = self {
            return peer.read(kind, reading);
        }
        let rest = match self {
            Self::Messages(_, Protocol::Proxied) => Rest::Headed { head: Vec::new(), body },
            _ if self.is_chunked(kind) => Rest::Chunks(Vec::new()),
            _ => Rest::Bytes(self.head(kind, body).len() + body),
        };
        self.read_rest(rest, reading)
    }

    /// Reads a request's head, says after a while that the body may come, and reads it.
    pub(super) fn read_with_leave(
        &mut self,
        body: usize,
        after: Duration,
        reading: Reading,
    ) -> io::Result<()> {
        let mut head = vec![0; self.head(Kind::Request, body).len()];
        self.stream().read_exact(&mut head)?;
        pause(after);
        self.stream().write_all(CONTINUE)?;
        self.stream().flush()?;
        self.read_rest(Rest::Bytes(body), reading)
    }

    /// What the server says then is read; it may say nothing.
    fn await_continue(&mut self) -> io::Result<()> {
        if self.line().await_leave(CONTINUE_LIMIT)? {
            self.stream().read_exact(&mut [0; CONTINUE.len()])?;
        }
        Ok(())
    }

    fn read_rest(&mut self, mut rest: Rest, reading: Reading) -> io::Result<()> {
        if !reading.late.is_zero() {
            // Late for what has come, not for what will.
            self.line().wait_for_data()?;
            self.line().stay_away(reading.late);
        }
        let mut buffer = vec![0; reading.chunk];
        let mut length = 0;
        while !rest.is_over() {
            let part = rest.at_most(buffer.len());
            let len = self.stream().read(&mut buffer[..part])?;
            if len == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            rest.take(&buffer[..len]);
            length += len as u64;
            if !rest.is_over() {
                self.line().stay_away(reading.pause);
            }
        }
        let now = self.line().now();
        let diary = &mut self.line().diary;
        diary.received.push(now);
        diary.lengths.push(length);
        Ok(())
    }

    const fn is_chunked(&self, kind: Kind) -> bool {
        matches!((self, kind), (Self::Messages(_, Protocol::Chunked), Kind::Response))
    }

    pub(super) fn line(&mut self) -> &mut Line {
        self.stream().line()
    }

    const fn stream(&mut self) -> &mut Channel {
        match self {
            Self::Messages(channel, _) => channel,
            Self::Http2(peer) => peer.channel(),
        }
    }

    fn head(&self, kind: Kind, body: usize) -> Vec<u8> {
        // Only HTTP/2 has others.
        let Self::Messages(_, protocol) = self else { return Vec::new() };
        head(*protocol, kind, body)
    }
}

/// The head of a message whose size both ends know; not with HTTP/2.
pub(super) fn head(protocol: Protocol, kind: Kind, body: usize) -> Vec<u8> {
    match (kind, protocol) {
        // 16 bytes, none of which looks like a protocol: a mark and the length.
        (_, Protocol::Unknown) => {
            [&[0xa7, 0x5c, 0, 1, 0, 0, 0, 0], &(body as u64).to_be_bytes()[..]].concat()
        }
        (Kind::Request, _) if body == 0 => b"GET /page HTTP/1.1\r\nHost: server\r\n\r\n".to_vec(),
        (Kind::Request, _) => {
            let expects = match protocol {
                Protocol::Expects => "Expect: 100-continue\r\n",
                _ => "",
            };
            let fields = format!("Host: server\r\nContent-Length: {body}\r\n{expects}");
            format!("POST /upload HTTP/1.1\r\n{fields}\r\n").into()
        }
        (Kind::Response, Protocol::Closes) => {
            b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec()
        }
        (Kind::Response, Protocol::Chunked) => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()
        }
        (Kind::Response, _) => {
            let fields = format!("Content-Type: text/plain\r\nContent-Length: {body}");
            format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").into()
        }
    }
}

/// What is left of a message.
enum Rest {
    Bytes(usize),
    /// Up to its last chunk, after these last bytes.
    Chunks(Vec<u8>),
    /// The rest of a head of which this has come, and a body.
    Headed {
        head: Vec<u8>,
        body: usize,
    },
}

impl Rest {
    fn is_over(&self) -> bool {
        match self {
            Self::Bytes(left) => *left == 0,
            // No other chunk has this end: bodies have no line ends.
            Self::Chunks(last) => last.ends_with(LAST_CHUNK),
            Self::Headed { .. } => false,
        }
    }

    fn at_most(&self, room: usize) -> usize {
        match self {
            Self::Bytes(left) => room.min(*left),
            Self::Chunks(_) | Self::Headed { .. } => room,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self {
            Self::Bytes(left) => *left -= bytes.len(),
            Self::Chunks(last) => {
                last.extend(bytes);
                last.drain(..last.len().saturating_sub(LAST_CHUNK.len()));
            }
            Self::Headed { head, body } => {
                head.extend(bytes);
                if let Some(end) = head.windows(4).position(|it| it == b"\r\n\r\n") {
                    *self = Self::Bytes(*body - (head.len() - end - 4));
                }
            }
        }
    }
}

/// A part of head and body as chunks (RFC 9112, section 7.1).
#[expect(clippy::fn_params_excessive_bools, reason = "a fact of the part")]
fn chunked(bytes: &[u8], head: usize, part: Range<usize>, is_last: bool) -> Vec<u8> {
    let body = part.start.max(head)..part.end.max(head);
    let mut written = bytes[part.start..part.end.min(head).max(part.start)].to_vec();
    if !body.is_empty() {
        written.extend(format!("{:x}\r\n", body.len()).bytes());
        written.extend(&bytes[body]);
        written.extend(b"\r\n");
    }
    if is_last {
        written.extend(&LAST_CHUNK[2..]);
    }
    written
}

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// As long as curl waits by default (`--expect100-timeout`).
const CONTINUE_LIMIT: Duration = Duration::from_secs(1);
/// Behind the end of another chunk.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_is_a_chunk_and_the_last_one_ends_the_body() {
        let bytes = b"HEADbody and more";
        let written = [(0..2, false), (2..8, false), (8..17, true)]
            .map(|(part, is_last)| String::from_utf8(chunked(bytes, 4, part, is_last)).unwrap());
        assert_eq!(written, ["HE", "AD4\r\nbody\r\n", "9\r\n and more\r\n0\r\n\r\n"]);
        // All was written before: an end alone.
        assert_eq!(chunked(bytes, 4, 17..17, true), b"0\r\n\r\n");
    }

    #[test]
    fn a_message_ends_with_its_body_whatever_its_head_is() {
        let message = b"HTTP/1.1 200 OK\r\nServer: some\r\n\r\nbody";
        for piece in 1..=message.len() {
            let mut rest = Rest::Headed { head: Vec::new(), body: 4 };
            for part in message.chunks(piece) {
                assert!(!rest.is_over(), "{piece}");
                rest.take(part);
            }
            assert!(rest.is_over(), "{piece}");
        }
    }

    #[test]
    fn chunks_are_read_up_to_the_last_one_however_they_come() {
        let message = b"HEAD4\r\nbody\r\n0\r\n\r\n";
        for piece in 1..=message.len() {
            let mut rest = Rest::Chunks(Vec::new());
            for part in message.chunks(piece) {
                assert!(!rest.is_over(), "{piece}");
                rest.take(part);
            }
            assert!(rest.is_over(), "{piece}");
        }
    }
}
