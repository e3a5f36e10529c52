//! The first bytes of a connection, and which protocol they begin.

use ackwise_cause::Direction;

use super::{
    Protocol,
    guess::{self, GUESS_LIMIT, Guess},
    proxy_header::ProxyHeader,
    span::Span,
};

/// What both sides have sent before it is clear what they speak.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    client: Prefix,
    server: Prefix,
    /// The capture does not show the beginning.
    pub(super) from_middle: bool,
    /// A proxy hands on what is sent.
    pub(super) in_tunnel: bool,
}

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
    pub(super) fn handle(&mut self, direction: Direction, span: &mut Span<'_>) -> Option<Protocol> {
        match direction {
            Direction::ToServer => self.handle_client(span),
            // The client has spoken, and not clearly.
            Direction::ToClient if self.client.length > 0 => Some(Protocol::Opaque),
            Direction::ToClient => self.handle_server(span),
        }
    }

    fn handle_client(&mut self, span: &mut Span<'_>) -> Option<Protocol> {
        let more = self.client.extend(span);
        let seen = self.client.bytes();
        let header = if self.from_middle { Guess::No } else { ProxyHeader::guess(seen) };
        let tls = if self.from_middle { 20..=23 } else { 22..=22 };
        let guesses = [
            (Protocol::Http2, guess::http2_preface(seen)),
            (Protocol::Tls, guess::tls_record(seen, tls)),
            (Protocol::Http1, guess::request_line(seen)),
            (Protocol::Opaque, header),
            (Protocol::Resp, guess::resp_command(seen)),
            (
                Protocol::Postgres,
                if self.from_middle { Guess::No } else { guess::postgres_startup(seen) },
            ),
        ];
        match decide(&guesses) {
            Err(Guess::Maybe) if more => None,
            guess => Some(guess.unwrap_or(Protocol::Opaque)),
        }
    }

    /// A server that speaks first says little: SETTINGS, or a banner, which means nothing. Or what
    /// it answers to is not in the capture.
    fn handle_server(&mut self, span: &mut Span<'_>) -> Option<Protocol> {
        let more = self.server.extend(span);
        let seen = self.server.bytes();
        let guesses = [
            (Protocol::Http2, guess::http2_settings(seen)),
            (Protocol::Tls, guess::tls_record(seen, 20..=23)),
            (Protocol::Http1, guess::status_line(seen)),
        ];
        match decide(&guesses) {
            Ok(Protocol::Http2) if self.from_middle => {}
            Ok(protocol) => return Some(protocol),
            Err(Guess::Maybe) if more => return None,
            Err(_) => {}
        }
        self.server = Prefix::default();
        span.take_all();
        None
    }
}

/// The first that it certainly is, or whether it can still be one.
fn decide(guesses: &[(Protocol, Guess)]) -> Result<Protocol, Guess> {
    for &(protocol, guess) in guesses {
        if guess == Guess::Yes {
            return Ok(protocol);
        }
    }
    let open = guesses.iter().any(|(_, guess)| *guess == Guess::Maybe);
    Err(if open { Guess::Maybe } else { Guess::No })
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
