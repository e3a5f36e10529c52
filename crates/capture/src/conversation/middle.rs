//! A connection that is seen from its middle: which protocol is found there.

use ackwise_cause::Direction;

use super::{
    Event, ExchangeReader, Protocol, State,
    guess::{self, Guess},
    http1::Http1,
    postgres::{self, Postgres},
    resp::Resp,
    span::Span,
    turns::Turns,
};

impl ExchangeReader {
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
                Http1::new(false)
            }
        };
        self.state = State::Http1(Box::new(http1));
        self.log.push(Event::Protocol(Protocol::Http1));
        true
    }

    /// The same for protocols of which only what the client sends can be distinguished from others.
    fn finds_other(&mut self, mut turns: Turns, span: &Span<'_>) -> bool {
        let (protocol, state) = if guess::resp_command(span.bytes()) == Guess::Yes {
            (Protocol::Resp, State::Resp(Box::new(Resp::new(false))))
        } else if !span.is_cut() && guess::postgres_unit(span.bytes()) == Guess::Yes {
            postgres::keep_end(span, &mut self.log);
            (Protocol::Postgres, State::Postgres(Box::new(Postgres::new(false))))
        } else {
            return false;
        };
        turns.handle_abort(&mut self.log);
        self.state = state;
        self.log.push(Event::Protocol(protocol));
        true
    }
}
