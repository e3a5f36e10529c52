//! How a connection goes on as something else: once the first bytes are clear, at an upgrade, or when it turns out not to be
//! what it seemed.

use ackwise_cause::Direction;

use super::{
    Event, ExchangeReader, Judged, Protocol, State, Switch, Tunnel,
    guess::{self, Guess},
    half_duplex::HalfDuplex,
    http1::Http1,
    http2::Http2,
    in_order,
    messages::WebSocket,
    opening::{Found, Opening},
    postgres::{self, Postgres},
    protocols::KnownProtocol,
    resp::Resp,
    span::{Span, Start},
    tls::Tls,
    turns::Turns,
};

impl ExchangeReader {
    /// Goes on in the protocol that the first bytes show.
    pub(super) fn open(&mut self, found: Found, opening: &Opening) {
        let &Opening { from_middle, in_tunnel, .. } = opening;
        let start = opening.start();
        let protocol = match found {
            Found::Known(row) => row.protocol,
            Found::Candidate(_) | Found::Unknown => Protocol::Opaque,
        };
        self.log.push(Event::Protocol(protocol));
        self.state = match (protocol, found) {
            (Protocol::Http1, _) => State::Http1(Box::new(Http1::new(start))),
            (Protocol::Http2, _) => State::Http2(Box::new(Http2::new())),
            // A turn of direction in a tunnel does not show who waits: both sides may push.
            _ if in_tunnel => State::Tunnel,
            (Protocol::Resp, _) => State::Resp(Box::new(Resp::new(start))),
            (Protocol::Postgres, _) => State::Postgres(Box::new(Postgres::new(start))),
            (Protocol::Tls, _) => State::Tls(Box::new(Tls::new(start, self.keys.clone()))),
            (_, Found::Known(row)) => {
                opening.keep_magic(row, &mut self.log);
                self.open_known(row)
            }
            (_, Found::Candidate(row)) => {
                opening.keep_magic(row, &mut self.log);
                State::HalfDuplex(Box::new(HalfDuplex::if_answered(row)))
            }
            (_, Found::Unknown) => State::Turns { turns: Turns::Idle, from_middle },
        };
    }

    /// As a protocol that has no reader of its own.
    fn open_known(&mut self, row: &'static KnownProtocol) -> State {
        let Judged::NotDivided(tunnel) = row.judged else {
            return State::HalfDuplex(Box::new(HalfDuplex::new(row)));
        };
        self.log.push(Event::TunnelBegins { exchange: in_order::NOBODY, tunnel });
        State::Tunnel
    }

    /// Goes on as `switch` says, with the bytes that are left in `span`.
    pub(super) fn switch(&mut self, switch: Switch, direction: Direction, span: &mut Span<'_>) {
        match switch {
            Switch::Turns { turns, start } => {
                self.state = State::Turns { turns, from_middle: false };
                self.log.push(Event::Protocol(Protocol::Opaque));
                let end = span.end();
                span.take_all();
                if let (State::Turns { turns, .. }, true) = (&mut self.state, start < end) {
                    turns.handle(direction, start, end, &mut self.log);
                }
            }
            Switch::Connect => {
                self.state = State::Opening(Opening::in_tunnel());
            }
            Switch::Tunnel(tunnel) => {
                self.state = State::Tunnel;
                self.log.push(Event::Protocol(match tunnel {
                    Tunnel::WebSocket => Protocol::WebSocket,
                    _ => Protocol::Opaque,
                }));
            }
            Switch::WebSocket(exchange) => {
                self.state = State::WebSocket(Box::new(WebSocket::new(exchange)));
                self.log.push(Event::Protocol(Protocol::WebSocket));
            }
            Switch::NotDivided => self.state = State::Tunnel,
            Switch::Tls => {
                self.encrypted = match &self.state {
                    State::HalfDuplex(turns) => Some(turns.protocol()),
                    _ => Some(Protocol::Postgres),
                };
                self.state = State::Tls(Box::new(Tls::new(Start::Beginning, self.keys.clone())));
                self.log.push(Event::Protocol(Protocol::Tls));
            }
            Switch::Http2 { exchange } => {
                self.state = State::Http2(Box::new(Http2::upgraded(exchange)));
                self.log.push(Event::Protocol(Protocol::Http2));
            }
        }
    }

    /// Looks for HTTP in a connection seen from its middle.
    pub(super) fn resynchronise(
        &mut self,
        turns: Turns,
        direction: Direction,
        span: &Span<'_>,
    ) -> bool {
        if direction == Direction::ToServer && self.finds_other(turns, span) {
            return true;
        }
        let guess = match direction {
            Direction::ToServer => guess::request_line(span.bytes()),
            Direction::ToClient => guess::status_line(span.bytes()),
        };
        if guess != Guess::Yes {
            return false;
        }
        let http1 = match (turns, direction) {
            (Turns::Request { exchange, end: position }, Direction::ToClient) => {
                self.log.push(Event::RequestEnds { exchange, position, exact: false });
                Http1::resume(exchange)
            }
            (mut turns, _) => {
                turns.handle_abort(&mut self.log);
                Http1::new(Start::Middle)
            }
        };
        self.state = State::Http1(Box::new(http1));
        self.log.push(Event::Protocol(Protocol::Http1));
        true
    }

    /// The same for protocols of which only what the client sends can be distinguished from others.
    fn finds_other(&mut self, mut turns: Turns, span: &Span<'_>) -> bool {
        let (protocol, state) = if guess::resp_command(span.bytes()) == Guess::Yes {
            (Protocol::Resp, State::Resp(Box::new(Resp::new(Start::Middle))))
        } else if !span.is_cut() && guess::postgres_unit(span.bytes()) == Guess::Yes {
            postgres::keep_end(span, &mut self.log);
            (Protocol::Postgres, State::Postgres(Box::new(Postgres::new(Start::Middle))))
        } else {
            return false;
        };
        turns.handle_abort(&mut self.log);
        self.state = state;
        self.log.push(Event::Protocol(protocol));
        true
    }
}
