//! One request and its response, with the time of everything that came.

use std::time::{Duration, Instant};

use ackwise_cause::GrpcStatus;
use ackwise_http::{Fields, KeepAlive, Persistence, ResponseHead};

use crate::stack::TransportError;

/// A response and how it arrived. Offsets are those of the server's TCP stream.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the last byte of the request was handed to TCP.
    pub sent: Instant,
    /// Where the response begins.
    pub start: u64,
    /// Where its head ends.
    pub head_end: HeadEnd,
    /// Where it ends.
    pub end: u64,
    /// All of it was read.
    pub complete: bool,
    /// Its head.
    pub head: Head,
    /// The fields behind its content, if HTTP/2 has any.
    pub trailers: Option<Fields>,
    /// Bytes of content.
    pub content: u64,
    /// Its first bytes, if the connection keeps them.
    pub beginning: Vec<u8>,
    /// When these became readable, in order.
    pub pieces: Vec<Piece>,
    /// A hash of the content.
    pub digest: u64,
    /// New bytes, in order of arrival: no retransmissions.
    pub arrivals: Vec<Arrived>,
    /// ACKs of ours, in order.
    pub acks: Vec<Acked>,
}

/// What the head of a response says, in either version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Head {
    /// Its bytes, with those of the frame in HTTP/2.
    pub bytes: u64,
    /// The status code.
    pub status: u16,
    /// All fields; in HTTP/2, without those that begin with a colon.
    pub fields: Fields,
    /// The `Content-Length`.
    pub content_length: Option<u64>,
    /// The `Keep-Alive` field.
    pub keep_alive: Option<KeepAlive>,
    /// Whether the connection takes another request after this response.
    pub persists: bool,
}

impl From<&ResponseHead> for Head {
    fn from(head: &ResponseHead) -> Self {
        Self {
            bytes: head.end - head.start,
            status: head.status,
            fields: head.fields.clone(),
            content_length: head.content_length,
            keep_alive: head.keep_alive,
            persists: head.persistence == Persistence::Persists,
        }
    }
}

/// Where a head ends in TCP's stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HeadEnd {
    /// The first offset after it.
    pub offset: u64,
    /// A segment could end there: false if a TLS record goes on behind the head.
    pub separable: bool,
}

/// Content that became readable together: of a chunk, or a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    /// Bytes of the content up to its end.
    pub content: u64,
    /// How far TCP's stream must have arrived for it to be readable.
    pub wire: u64,
}

/// A segment of our own stack, or a read from a kernel socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrived {
    /// When.
    pub at: Instant,
    /// The offset of its first byte.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// An ACK of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Acked {
    /// When it left.
    pub at: Instant,
    /// The first offset that it does not acknowledge.
    pub up_to: u64,
}

/// The end of the server's direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Closed {
    /// When.
    pub at: Instant,
    /// `None` for a FIN.
    pub error: Option<TransportError>,
}

/// A pause between two arrivals of one response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stall {
    /// The offset of the first byte that came after it.
    pub offset: u64,
    /// Bytes of the response that came before it.
    pub before: u64,
    /// When it began: the arrival before.
    pub from: Instant,
    /// When it ended: the arrival after.
    pub to: Instant,
    /// When we acknowledged everything before it, if we have.
    pub acked: Option<Instant>,
}

impl Arrived {
    /// The first offset after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}

impl Stall {
    /// How long it lasted.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.to.saturating_duration_since(self.from)
    }

    /// How long our ACK was withheld.
    #[must_use]
    pub fn withheld(&self) -> Option<Duration> {
        self.acked.map(|acked| acked.saturating_duration_since(self.from))
    }
}

impl Exchange {
    /// How a gRPC call ended: what its trailers say, or its head, if that is all (gRPC's PROTOCOL-HTTP2.md,
    /// "Trailers-Only").
    #[must_use]
    pub fn grpc_status(&self) -> Option<GrpcStatus> {
        let said = |fields: &Fields| fields.text("grpc-status").and_then(|it| it.parse().ok());
        self.trailers.as_ref().and_then(said).or_else(|| said(&self.head.fields)).map(GrpcStatus)
    }

    /// Whether it is a gRPC call's end without a message.
    #[must_use]
    pub fn is_trailers_only(&self) -> bool {
        self.trailers.is_none() && self.head.fields.first("grpc-status").is_some()
    }

    /// Whether the server takes another request on this connection.
    #[must_use]
    pub fn persists(&self) -> bool {
        self.head.persists
    }

    /// Time from the request to the first byte of the response.
    #[must_use]
    pub fn first_byte(&self) -> Option<Duration> {
        self.response().next().map(|arrived| arrived.at.saturating_duration_since(self.sent))
    }

    /// Time from the request to the last byte of the response.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        self.response().last().map(|arrived| arrived.at.saturating_duration_since(self.sent))
    }

    /// Bytes of the whole response, as far as its head tells, or as were read.
    #[must_use]
    pub fn length(&self) -> u64 {
        let head = self.head_end.offset - self.start;
        let said = self.head.content_length.map_or(0, |content| head + content);
        said.max(self.end - self.start)
    }

    /// Whether a segment (or read) ended with the head although content followed.
    #[must_use]
    pub fn has_split_head(&self) -> bool {
        self.head_end.separable
            && self.head_end.offset < self.end
            && self.response().any(|arrived| arrived.end() == self.head_end.offset)
    }

    /// The arrivals that hold bytes of this response.
    pub fn response(&self) -> impl Iterator<Item = &Arrived> {
        self.arrivals
            .iter()
            .filter(|arrived| arrived.end() > self.start && arrived.offset < self.end)
    }

    /// The pauses inside the response, in order.
    pub fn stalls(&self) -> impl Iterator<Item = Stall> {
        self.response()
            .zip(self.response().skip(1))
            .map(|(before, after)| self.stall(before, after))
    }

    fn stall(&self, before: &Arrived, after: &Arrived) -> Stall {
        Stall {
            offset: after.offset,
            before: after.offset.saturating_sub(self.start),
            from: before.at,
            to: after.at,
            acked: self.first_ack_of(after.offset),
        }
    }

    /// The longest pause after something had come for the request: also before the response, behind TLS's tickets.
    #[must_use]
    pub fn longest_stall_since_request(&self) -> Option<Stall> {
        let since = || self.arrivals.iter().filter(|it| it.at >= self.sent && it.offset < self.end);
        let pairs = since().zip(since().skip(1));
        pairs.map(|(before, after)| self.stall(before, after)).max_by_key(Stall::length)
    }

    /// When everything before `offset` was acknowledged. A server may cause tens of thousands of ACKs,
    /// so they are not searched one by one.
    fn first_ack_of(&self, offset: u64) -> Option<Instant> {
        let place = self.acks.partition_point(|acked| acked.up_to < offset);
        self.acks.get(place).map(|acked| acked.at)
    }

    /// The longest pause inside the response.
    #[must_use]
    pub fn longest_stall(&self) -> Option<Stall> {
        self.stalls().max_by_key(Stall::length)
    }

    /// What happened, one tcpdump-like line each, times in milliseconds since the request; what is
    /// left out is said.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        let before = self.arrivals.iter().filter(|it| it.at >= self.sent && it.end() <= self.start);
        let before = before.map(|arrived| {
            (arrived.at, format!("server > client: before the response, length {}", arrived.len))
        });
        let arrived = self.response().map(|arrived| {
            let (from, to) = (arrived.offset - self.start.min(arrived.offset), arrived.end());
            let head = if to == self.head_end.offset { " (head)" } else { "" };
            let to = to - self.start;
            (arrived.at, format!("server > client: {from}:{to}, length {}{head}", arrived.len))
        });
        let acked = self.acks.iter().filter(|acked| acked.at >= self.sent).map(|acked| {
            (acked.at, format!("client > server: ack {}", acked.up_to.saturating_sub(self.start)))
        });
        let mut events: Vec<_> = before.chain(arrived).chain(acked).collect();
        events.sort_by_key(|(at, _)| *at);
        let request = (self.sent, "client > server: request".to_owned());
        let omitted = events.len().saturating_sub(EVIDENCE_LINES);
        let mut lines: Vec<String> = std::iter::once(request)
            .chain(events.into_iter().take(EVIDENCE_LINES))
            .map(|(at, what)| {
                let ms = at.saturating_duration_since(self.sent).as_secs_f64() * 1e3;
                format!("{ms:9.3} ms  {what}")
            })
            .collect();
        if omitted > 0 {
            lines.push(format!("              ... and {omitted} more"));
        }
        lines
    }
}

/// Lines of evidence after the request.
const EVIDENCE_LINES: usize = 8;
