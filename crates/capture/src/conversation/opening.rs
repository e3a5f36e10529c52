//! The first bytes of a connection, and which protocol they begin.

use ackwise_cause::Direction;

use super::{
    guess::{GUESS_LIMIT, Guess},
    half_duplex::keep_magic,
    log::Log,
    protocols::{Ends, KnownProtocol, PROTOCOLS},
    proxy_header::ProxyHeader,
    span::{Span, Start},
};

/// What first bytes begin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// This.
    Known(&'static KnownProtocol),
    /// This, if the server answers in its words.
    Candidate(&'static KnownProtocol),
    /// Nothing that is known.
    Unknown,
}

/// What both sides have sent before it is clear what they speak.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    client: Prefix,
    server: Prefix,
    /// The capture does not show the beginning.
    pub(super) from_middle: bool,
    /// A proxy hands on what is sent.
    pub(super) in_tunnel: bool,
    /// Which rows of [`PROTOCOLS`] fit what the server said before the client's first byte, if it did.
    greeted: Option<u32>,
    /// Which row fits what the client has said, if the server's answer does.
    candidate: Option<u8>,
}

/// A bit for each row.
const _: () = assert!(PROTOCOLS.len() <= u32::BITS as usize);

impl Opening {
    /// What comes behind a CONNECT.
    pub(super) fn in_tunnel() -> Self {
        Self { in_tunnel: true, ..Self::default() }
    }

    /// Whether bytes are waiting for others to be clear.
    pub(super) const fn is_untouched(&self) -> bool {
        self.client.length == 0 && self.server.length == 0
    }

    /// Where the bytes of one side begin that are waiting, if there are any.
    pub(super) fn undecided(&self, direction: Direction) -> Option<u64> {
        let prefix = match direction {
            Direction::ToServer => &self.client,
            Direction::ToClient => &self.server,
        };
        (prefix.length > 0).then_some(prefix.at)
    }

    /// What was taken of each side, in the order it was sent.
    pub(super) fn taken(&self) -> [(Direction, Span<'_>); 2] {
        // A client that has spoken is understood, or else the server's answer ends the guessing.
        [(Direction::ToClient, self.server.span()), (Direction::ToServer, self.client.span())]
    }

    /// The header of a balancer that the client's side begins with.
    pub(super) fn proxy_header(&self) -> Option<ProxyHeader> {
        let seen = self.client.bytes();
        let is_one = !self.from_middle && ProxyHeader::guess(seen) == Guess::Yes;
        seen.first().filter(|_| is_one).map(|&first| ProxyHeader::new(first))
    }

    /// Takes bytes off the front of `span`; the protocol, once that is clear.
    pub(super) fn handle(
        &mut self,
        direction: Direction,
        span: &mut Span<'_>,
        log: &mut Log,
    ) -> Option<Found> {
        match direction {
            Direction::ToServer => self.handle_client(span),
            // The client has spoken, and not clearly.
            Direction::ToClient if self.client.length > 0 => Some(self.unclear()),
            Direction::ToClient => self.handle_server(span, log),
        }
    }

    fn handle_client(&mut self, span: &mut Span<'_>) -> Option<Found> {
        let more = self.client.extend(span);
        let (seen, place) = (self.client.bytes(), self.start());
        let header = if self.from_middle { Guess::No } else { ProxyHeader::guess(seen) };
        let mut is_open = header == Guess::Maybe;
        self.candidate = None;
        for (bit, row) in (0_u8..).zip(&PROTOCOLS) {
            let is_greeted = self.greeted.is_some_and(|rows| rows & 1_u32 << bit != 0);
            match row.client.guess(seen, place) {
                Guess::Yes if row.ends == Ends::One || is_greeted => {
                    return Some(Found::Known(row));
                }
                Guess::Yes if self.greeted.is_none() => self.candidate = Some(bit),
                Guess::Maybe => is_open = true,
                Guess::Yes | Guess::No => {}
            }
        }
        let waits = is_open && more && header != Guess::Yes;
        (!waits).then(|| self.unclear())
    }

    /// A server that speaks first says little: SETTINGS, or a greeting, which means nothing by itself. Or what it answers
    /// to is not in the capture.
    fn handle_server(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Found> {
        let more = self.server.extend(span);
        let (seen, place) = (self.server.bytes(), self.start());
        let (mut is_open, mut greeted) = (false, 0);
        for (bit, row) in (0_u8..).zip(&PROTOCOLS) {
            match row.server.guess(seen, place) {
                Guess::Yes if row.ends == Ends::One => return Some(Found::Known(row)),
                Guess::Yes => greeted |= 1 << bit,
                Guess::Maybe => is_open = true,
                Guess::No => {}
            }
        }
        if is_open && more {
            return None;
        }
        // What comes later is no greeting.
        if self.greeted.is_none() {
            self.greeted = Some(greeted);
            let rows = (0..).zip(&PROTOCOLS).filter(|(bit, _)| greeted & 1_u32 << bit != 0);
            for (_, row) in rows {
                keep_magic(row, Direction::ToClient, self.server.at, seen, log);
            }
        }
        self.server = Prefix::default();
        span.take_all();
        None
    }

    /// Nothing that is known, unless the server shows that.
    fn unclear(&self) -> Found {
        match self.candidate.and_then(|it| PROTOCOLS.get(usize::from(it))) {
            Some(row) => Found::Candidate(row),
            None => Found::Unknown,
        }
    }

    pub(super) const fn start(&self) -> Start {
        if self.from_middle { Start::Middle } else { Start::Beginning }
    }

    /// Notes what `row` was recognised by.
    pub(super) fn keep_magic(&self, row: &KnownProtocol, log: &mut Log) {
        for (direction, prefix) in
            [(Direction::ToServer, &self.client), (Direction::ToClient, &self.server)]
        {
            keep_magic(row, direction, prefix.at, prefix.bytes(), log);
        }
    }
}

/// The first bytes of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Prefix {
    at: u64,
    length: usize,
    bytes: [u8; GUESS_LIMIT],
}

impl Prefix {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn span(&self) -> Span<'_> {
        Span::segment(self.at, self.length as u64, self.bytes())
    }

    /// Takes bytes off the front of `span`; whether more of them can be looked at later.
    fn extend(&mut self, span: &mut Span<'_>) -> bool {
        if self.length == 0 {
            self.at = span.at();
        }
        let room = GUESS_LIMIT - self.length;
        let count = room.min(span.bytes().len());
        let taken = span.take(count as u64);
        self.bytes[self.length..][..count].copy_from_slice(taken);
        self.length += count;
        self.length < GUESS_LIMIT && !span.is_cut()
    }
}
