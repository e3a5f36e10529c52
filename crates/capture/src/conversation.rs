//! From the two streams of a connection, as far as a capture shows them, to its exchanges.
//!
//! ```
//! use ackwise_capture::conversation::{ExchangeReader, Event};
//! use ackwise_cause::Direction::{ToClient, ToServer};
//!
//! let mut conversation = ExchangeReader::new();
//! let request = b"GET /a?b HTTP/1.1\r\nHost: c\r\n\r\n";
//! conversation.handle_data(ToServer, 0, 30, request);
//! // The snap length cut this segment: 1000 bytes, the head and the beginning of the body.
//! let response = b"HTTP/1.1 200 OK\r\nContent-Length: 960\r\n\r\nAnd so";
//! conversation.handle_data(ToClient, 0, 1000, response);
//!
//! let mut ends = Vec::new();
//! while let Some(event) = conversation.poll_event() {
//!     if let Event::RequestEnds { position, .. } | Event::ResponseEnds { position, .. } = event {
//!         ends.push(position);
//!     }
//! }
//! assert_eq!(ends, [30, 1000]);
//! ```
//!
//! | module | its one idea |
//! | --- | --- |
//! | `event` | what comes of it: the vocabulary |
//! | `protocols` | the table: what each protocol is recognised by, and how it is judged |
//! | `opening`, `guess` | which protocol the first bytes begin |
//! | `switch` | how a connection goes on as something else |
//! | `proxy_header` | what a balancer sends before that |
//! | `http1` | requests in order, responses in the same order |
//! | `http2` | streams, flow-control windows, and four fields of HPACK |
//! | `resp` | commands of Redis and their replies |
//! | `postgres` | units of PostgreSQL, each up to ReadyForQuery |
//! | `in_order` | requests that are answered in order, and those that are not judged |
//! | `messages` | messages within a stream that is no exchange |
//! | `tls` | handshakes and records, by their types and lengths |
//! | `half_duplex` | turns of a protocol that is known by its beginning alone |
//! | `turn` | what a client's turn may be, by its first bytes |
//! | `tunnel` | what takes a connection over |
//! | `turns` | what to do when nothing can be read: whose turn is it? |
//! | `token` | which bytes are what, for those who ask |
//! | `span` | bytes that are there, and bytes that are only known to have been sent |
//!
//! What is kept of a connection is bounded: 32 KiB of a head, 1024 requests without an answer or
//! open streams, 64 KiB of HTTP/2's field blocks and what 64 KiB of HPACK's table hold.
//!
//! Not here: time and packets. The caller knows when each position was seen.

mod event;
mod guess;
mod half_duplex;
mod http1;
mod http2;
mod in_order;
mod log;
mod messages;
mod opening;
mod postgres;
mod protocols;
mod proxy_header;
mod resp;
mod span;
mod switch;
mod target;
mod text;
mod tls;
mod token;
mod tunnel;
mod turn;
mod turns;

pub use event::{
    Event, ExchangeId, Goaway, GrpcRequest, MessageNews, RequestHead, ResponseHead, StreamEnd,
    TlsFlight,
};
pub use protocols::{Judged, KnownProtocol, PROTOCOLS, Protocol};
pub use text::Text;
pub use tunnel::Tunnel;

use std::sync::Arc;

use ackwise_cause::Direction;
use half_duplex::HalfDuplex;
use http1::Http1;
use http2::Http2;
use log::Log;
use messages::WebSocket;
use opening::{Found, Opening};
use postgres::Postgres;
use proxy_header::{ProxyHeader, Read};
use resp::Resp;
use span::Span;
use tls::Tls;
pub use tls::{Alert, NotOpened};
pub(crate) use tls::{Shutdown, TlsEnd};
use turns::Turns;

use crate::{
    keys::{KeyLog, Random},
    limits::{Limit, Reached},
};

pub(crate) use token::{Alpn, KnownFields, Token, TokenKind};

/// One connection's bytes on their way to exchanges.
///
/// The caller's contract: data of one direction comes in order and without overlap, what the
/// capture does not show is a gap, and after each `handle_*` call [`poll_event`](Self::poll_event)
/// is drained. The two directions may be interleaved as the capture has them. A connection that the
/// capture shows from its middle begins with a gap (of any length). Nothing that a capture holds
/// makes it panic; what it keeps is bounded.
#[derive(Clone, Debug)]
pub struct ExchangeReader {
    state: State,
    /// How far the streams have come, to the server and to the client.
    ends: [u64; 2],
    log: Log,
    keys: Option<Arc<KeyLog>>,
    /// What asked for TLS.
    encrypted: Option<Protocol>,
}

#[derive(Clone, Debug)]
enum State {
    Opening(Opening),
    ProxyHeader(ProxyHeader),
    Http1(Box<Http1>),
    Http2(Box<Http2>),
    Resp(Box<Resp>),
    Postgres(Box<Postgres>),
    Tls(Box<Tls>),
    WebSocket(Box<WebSocket>),
    HalfDuplex(Box<HalfDuplex>),
    /// Neither side can be understood. Seen from the middle, that may change.
    Turns {
        turns: Turns,
        from_middle: bool,
    },
    /// Nobody can tell who waits for whom.
    Tunnel,
}

/// That a connection goes on as something else.
#[derive(Clone, Copy, Debug)]
enum Switch {
    /// By turns, from the byte at `start` on.
    Turns { turns: Turns, start: u64 },
    /// As something new, behind a proxy.
    Connect,
    /// As something without exchanges.
    Tunnel(Tunnel),
    /// As a WebSocket that this exchange has opened.
    WebSocket(ExchangeId),
    /// As something that cannot be divided into exchanges any more.
    NotDivided,
    /// As TLS, from its first byte on.
    Tls,
    /// As HTTP/2, with the response to `exchange` on stream 1.
    Http2 { exchange: ExchangeId },
}

impl ExchangeReader {
    /// A connection on which nothing was sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Opening(Opening::default()),
            ends: [0; 2],
            log: Log::default(),
            keys: None,
            encrypted: None,
        }
    }

    /// From now on reads what TLS has sealed, as far as these are its secrets. Nothing may have been read yet.
    #[must_use]
    pub fn with_keys(self, keys: Arc<KeyLog>) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// As of [`with_keys`](Self::with_keys).
    pub(crate) fn use_keys(&mut self, keys: &Arc<KeyLog>) {
        self.keys = Some(Arc::clone(keys));
    }

    /// As new, with the memory of its queue.
    pub(crate) fn forget(&mut self) {
        (self.keys, self.encrypted) = (None, None);
        self.state = State::Opening(Opening::default());
        self.ends = [0; 2];
        self.log.forget();
    }

    /// The same, which says what the bytes are that it reads instead of what that means: see
    /// [`poll_token`](Self::poll_token).
    pub(crate) fn with_tokens() -> Self {
        Self { log: Log::with_tokens(), ..Self::new() }
    }

    /// What was read, oldest first.
    pub(crate) fn poll_token(&mut self) -> Option<Token> {
        self.log.pop_token()
    }

    /// Up to where all tokens of a stream are there.
    pub(crate) fn decided(&mut self, direction: Direction) -> u64 {
        let undecided = match &self.state {
            State::Opening(opening) => opening.undecided(direction),
            State::Http1(http1) => http1.undecided(direction),
            State::Http2(http2) => http2.undecided(direction),
            State::Resp(resp) => resp.undecided(direction),
            State::Postgres(postgres) => postgres.undecided(direction),
            State::Tls(tls) => tls.undecided(direction),
            State::WebSocket(it) => match it.undecided(direction) {
                0 => None,
                bytes => Some(self.ends[direction as usize].saturating_sub(bytes)),
            },
            State::ProxyHeader(_) | State::HalfDuplex(_) | State::Turns { .. } | State::Tunnel => {
                None
            }
        };
        undecided.unwrap_or_else(|| *self.end(direction))
    }

    /// Takes the next `len` bytes of a stream, from `position` on; `bytes` is their beginning, as
    /// far as the capture holds it. A segment is best given whole: where segments begin is a hint.
    pub fn handle_data(&mut self, direction: Direction, position: u64, len: u32, bytes: &[u8]) {
        self.handle_gap_before(direction, position);
        if self.would_pass(direction, position, len, bytes) {
            return self.pass(direction, position, len);
        }
        let mut span = Span::segment(position, len.into(), bytes);
        span.take(self.end(direction).saturating_sub(position));
        self.handle(direction, span);
        *self.end(direction) = (*self.end(direction)).max(span.end());
    }

    /// Whether the next `len` bytes of a stream, from `position` on, are of the middle of a body, of which
    /// [`handle_data`](Self::handle_data) makes nothing but that they are there.
    #[inline]
    pub(crate) fn would_pass(
        &self,
        direction: Direction,
        position: u64,
        len: u32,
        bytes: &[u8],
    ) -> bool {
        let State::Http1(http1) = &self.state else { return false };
        position == self.ends[direction as usize]
            && !self.log.has_tokens()
            && http1.would_pass(direction, &Span::segment(position, len.into(), bytes))
    }

    /// Takes bytes that [would pass](Self::would_pass).
    #[inline]
    pub(crate) fn pass(&mut self, direction: Direction, position: u64, len: u32) {
        let span = Span::segment(position, len.into(), &[]);
        if let State::Http1(http1) = &mut self.state {
            http1.pass(direction, &span);
        }
        *self.end(direction) = span.end();
    }

    /// Says that who sends in the other direction has the bytes of `direction` before `position`, as
    /// its acknowledgement shows: what comes next was sent in the light of them. Only then HTTP/2's
    /// flow control counts what they give.
    pub fn handle_arrival(&mut self, direction: Direction, position: u64) {
        match &mut self.state {
            State::Http2(http2) => http2.handle_arrival(direction, position, &mut self.log),
            State::Tls(tls) => tls.handle_arrival(direction, position, &mut self.log),
            State::Resp(resp) => resp.handle_arrival(direction, position),
            State::Postgres(postgres) => postgres.handle_arrival(direction, position),
            State::HalfDuplex(turns) => turns.handle_arrival(direction, position),
            _ => {}
        }
    }

    /// Says that the server was silent for long after what the client sent last: a session ticket of TLS would have
    /// come earlier.
    pub fn handle_silence(&mut self) {
        if let State::Tls(tls) = &mut self.state {
            tls.handle_silence();
        }
    }

    /// Says that the client's next bytes are these: if they are a request, what the server has sent was a response.
    pub(crate) fn expect_request(&mut self, bytes: &[u8]) {
        if let State::Tls(tls) = &mut self.state {
            tls.expect_request(bytes, &mut self.log);
        }
    }

    /// What the next `len` bytes of a stream may be, if they may be what an end closes TLS with and nothing else. Then
    /// the caller decides later: it gives them to [`handle_content`](Self::handle_content), or
    /// [passes over](Self::pass_over) them.
    pub(crate) fn shutdown(
        &self,
        direction: Direction,
        len: u32,
        bytes: &[u8],
    ) -> Option<Shutdown> {
        let State::Tls(tls) = &self.state else { return None };
        tls.shutdown(direction, len, bytes)
    }

    /// As [`handle_data`](Self::handle_data), of bytes that turned out not to close anything.
    pub(crate) fn handle_content(
        &mut self,
        direction: Direction,
        position: u64,
        len: u32,
        bytes: &[u8],
    ) {
        if let State::Tls(tls) = &mut self.state {
            tls.expect_content();
        }
        self.handle_data(direction, position, len, bytes);
        if let State::Tls(tls) = &mut self.state {
            tls.expect_alert();
        }
    }

    /// Passes over whole records that nobody waits for, up to `position`: the last of a direction.
    pub(crate) const fn pass_over(&mut self, direction: Direction, position: u64) {
        *self.end(direction) = position;
    }

    /// What was passed over refuses the client, as [`Shutdown::MayBeRefusal`] has it.
    pub(crate) fn handle_refusal(&mut self) {
        if let State::Tls(tls) = &mut self.state {
            tls.handle_refusal(&mut self.log);
        }
    }

    /// Whether a server of TLS has refused the client, and so whatever it asked.
    pub(crate) fn is_refused(&self) -> bool {
        let alert = self.tls_end().and_then(TlsEnd::alert);
        alert.is_some_and(|it| it.refuses_client)
    }

    /// Says that bytes `from` to `to` of a stream were sent but are not in the capture.
    pub fn handle_gap(&mut self, direction: Direction, from: u64, to: u64) {
        match &mut self.state {
            State::Opening(opening) if opening.is_untouched() => {
                opening.from_middle = true;
                *self.end(direction) = to;
            }
            _ => {
                self.handle_gap_before(direction, from);
                self.handle_gap_before(direction, to);
            }
        }
    }

    /// Says that one side sends no more (FIN).
    pub fn handle_end(&mut self, direction: Direction) {
        match &mut self.state {
            State::Opening(_) | State::ProxyHeader(_) | State::WebSocket(_) | State::Tunnel => {}
            State::Http1(http1) => http1.handle_end(direction, &mut self.log),
            State::Http2(http2) => http2.handle_end(direction, &mut self.log),
            State::Resp(resp) => resp.handle_end(direction, &mut self.log),
            State::Postgres(postgres) => postgres.handle_end(direction, &mut self.log),
            State::HalfDuplex(turns) => turns.handle_end(direction, &mut self.log),
            State::Tls(tls) => tls.handle_end(direction, &mut self.log),
            State::Turns { turns, .. } => turns.handle_end(direction, &mut self.log),
        }
    }

    /// Says that the connection is gone: RST, or the capture ends.
    pub fn handle_abort(&mut self) {
        match &mut self.state {
            State::Opening(_) | State::ProxyHeader(_) | State::WebSocket(_) | State::Tunnel => {}
            State::Http1(http1) => http1.handle_abort(&mut self.log),
            State::Http2(http2) => http2.handle_abort(&mut self.log),
            State::Resp(resp) => resp.handle_abort(&mut self.log),
            State::Postgres(postgres) => postgres.handle_abort(&mut self.log),
            State::HalfDuplex(turns) => turns.handle_abort(&mut self.log),
            State::Tls(tls) => tls.handle_abort(&mut self.log),
            State::Turns { turns, .. } => turns.handle_abort(&mut self.log),
        }
    }

    /// What came of it, oldest first.
    #[inline]
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.log.pop()
    }

    /// How TLS's handshake has ended by now; `None` if the connection has no TLS.
    pub(crate) const fn tls_end(&self) -> Option<TlsEnd> {
        if let State::Tls(tls) = &self.state { Some(tls.end()) } else { None }
    }

    /// Whether TLS is spoken, so that bytes that were seen may turn out to begin something later.
    #[inline]
    pub(crate) const fn is_sealed(&self) -> bool {
        matches!(self.state, State::Tls(_))
    }

    /// Where the bytes begin that were seen, and may turn out to begin something.
    pub(crate) fn undecided_since(&self, direction: Direction) -> Option<u64> {
        if let State::Tls(tls) = &self.state { tls.undecided_since(direction) } else { None }
    }

    /// Whether what TLS has sealed was read, or why not; `None` without TLS, or without any secrets.
    pub(crate) fn opened(&self) -> Option<Result<(), NotOpened>> {
        if let State::Tls(tls) = &self.state { tls.opened() } else { None }
    }

    /// As of [`ConnectionResult::client_random`](crate::analysis::ConnectionResult).
    pub(crate) fn client_random(&self) -> Option<Random> {
        if let State::Tls(tls) = &self.state { tls.client_random() } else { None }
    }

    /// Whether exchanges may be told wrongly, because HTTP/2 is sealed.
    pub(crate) const fn may_be_multiplexed(&self) -> bool {
        matches!(&self.state, State::Tls(tls) if tls.may_be_multiplexed())
    }

    /// The protocol that asked for TLS, and goes on in it.
    pub(crate) const fn encrypted(&self) -> Option<Protocol> {
        self.encrypted
    }

    /// Whether a server of TLS asked for another ClientHello.
    pub(crate) const fn hello_retried(&self) -> bool {
        matches!(&self.state, State::Tls(tls) if tls.hello_retried())
    }

    /// How many requests were not told of, because too many before them had no answer yet.
    #[must_use]
    pub const fn passed_over(&self) -> u64 {
        self.log.passed_over()
    }

    /// Bytes that it takes in memory, about, beside its own.
    #[inline]
    pub(crate) fn cost(&self) -> usize {
        match &self.state {
            State::Http1(http1) => http1.cost(),
            State::Http2(http2) => http2.cost(),
            State::Tls(tls) => tls.cost(),
            State::Resp(resp) => resp.cost(),
            State::Postgres(postgres) => postgres.cost(),
            State::WebSocket(_) => size_of::<WebSocket>(),
            State::HalfDuplex(turns) => turns.cost(),
            State::Opening(_) | State::ProxyHeader(_) | State::Turns { .. } | State::Tunnel => 0,
        }
    }

    /// How often limits were reached.
    pub(crate) fn reached(&self) -> Reached {
        let mut reached = Reached::default();
        reached.count(Limit::OpenRequests, self.passed_over());
        if let State::Http2(http2) = &self.state {
            reached.count(Limit::BlockFields, http2.long_blocks());
        }
        reached
    }

    /// Passes over what is missing before `position`.
    fn handle_gap_before(&mut self, direction: Direction, position: u64) {
        let end = *self.end(direction);
        if position > end {
            self.handle(direction, Span::gap(end, position - end));
            *self.end(direction) = position;
        }
    }

    const fn end(&mut self, direction: Direction) -> &mut u64 {
        match direction {
            Direction::ToServer => &mut self.ends[0],
            Direction::ToClient => &mut self.ends[1],
        }
    }

    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn handle(&mut self, direction: Direction, mut span: Span<'_>) {
        // Each switch leads nearer to turns, or consumes a head.
        while !span.is_empty() {
            match &mut self.state {
                State::Opening(opening) => {
                    let found = opening.handle(direction, &mut span, &mut self.log);
                    let Some(found) = found else { return };
                    let opening = *opening;
                    match opening.proxy_header() {
                        Some(header) => self.state = State::ProxyHeader(header),
                        None => self.open(found, &opening),
                    }
                    for (direction, taken) in opening.taken() {
                        self.handle(direction, taken);
                    }
                }
                State::ProxyHeader(_) if direction == Direction::ToClient => return,
                State::ProxyHeader(header) => {
                    match header.handle(&mut span, &mut self.log.tokens(direction)) {
                        Read::NeedsMore => return,
                        Read::Whole => self.state = State::Opening(Opening::default()),
                        Read::Broken => self.open(Found::Unknown, &Opening::default()),
                    }
                }
                State::Http1(http1) => match http1.handle(direction, &mut span, &mut self.log) {
                    Some(switch) => self.switch(switch, direction, &mut span),
                    None => return,
                },
                State::Http2(http2) => {
                    http2.handle(direction, &mut span, &mut self.log);
                    return;
                }
                State::Resp(resp) => match resp.handle(direction, &mut span, &mut self.log) {
                    Some(switch) => self.switch(switch, direction, &mut span),
                    None => return,
                },
                State::Postgres(postgres) => {
                    match postgres.handle(direction, &mut span, &mut self.log) {
                        Some(switch) => self.switch(switch, direction, &mut span),
                        None => return,
                    }
                }
                State::HalfDuplex(turns) => {
                    match turns.handle(direction, &mut span, &mut self.log) {
                        Some(switch) => self.switch(switch, direction, &mut span),
                        None => return,
                    }
                }
                State::Tls(tls) => {
                    tls.handle(direction, &mut span, &mut self.log);
                    return;
                }
                State::WebSocket(it) => {
                    it.handle(direction, &mut span, &mut self.log);
                    return;
                }
                State::Turns { from_middle: true, turns } if span.begins_segment() => {
                    let turns = *turns;
                    if !self.resynchronise(turns, direction, &span) {
                        self.take_turn(direction, &mut span);
                    }
                }
                State::Turns { .. } => self.take_turn(direction, &mut span),
                State::Tunnel => return,
            }
        }
    }

    fn take_turn(&mut self, direction: Direction, span: &mut Span<'_>) {
        if let State::Turns { turns, .. } = &mut self.state {
            turns.handle(direction, span.at(), span.end(), &mut self.log);
        }
        span.take_all();
    }
}

impl Default for ExchangeReader {
    fn default() -> Self {
        Self::new()
    }
}
