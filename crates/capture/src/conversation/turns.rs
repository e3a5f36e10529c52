//! Exchanges of a protocol that cannot be read: a client's burst is a request, the server's burst
//! after it the response.
//!
//! What a server says before it was asked anything (a banner, a session ticket) begins nothing. Two
//! requests one after the other without an answer between them are one: nothing tells them apart.

use ackwise_cause::Direction;

use super::{Event, ExchangeId, log::Log, span::Edge};

/// Whose turn it is, and of which exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Turns {
    /// Nobody has asked anything that is not answered.
    #[default]
    Idle,
    /// The client speaks, or has spoken, up to `end`.
    Request { exchange: ExchangeId, end: u64 },
    /// The request has ended, and its end has been told.
    Asked { exchange: ExchangeId },
    /// The server speaks, or has spoken, up to `end`.
    Response { exchange: ExchangeId, end: u64 },
}

impl Turns {
    /// Takes data of one side, from `start` to `end`.
    pub(super) fn handle(&mut self, direction: Direction, start: u64, end: u64, log: &mut Log) {
        *self = match (*self, direction) {
            (Self::Idle, Direction::ToServer) => {
                Self::Request { exchange: log.begin(0, Edge::guessed(start)), end }
            }
            (Self::Idle, Direction::ToClient) => Self::Idle,
            (Self::Request { exchange, .. }, Direction::ToServer) => {
                Self::Request { exchange, end }
            }
            (Self::Request { exchange, end: position }, Direction::ToClient) => {
                log.push(Event::RequestEnds { exchange, position, exact: false });
                log.push(Event::ResponseBegins { exchange, position: start, exact: false });
                Self::Response { exchange, end }
            }
            (Self::Asked { exchange }, Direction::ToServer) => Self::Asked { exchange },
            (Self::Asked { exchange }, Direction::ToClient) => {
                log.push(Event::ResponseBegins { exchange, position: start, exact: false });
                Self::Response { exchange, end }
            }
            (Self::Response { exchange, .. }, Direction::ToClient) => {
                Self::Response { exchange, end }
            }
            (Self::Response { exchange, end: position }, Direction::ToServer) => {
                log.push(Event::ResponseEnds { exchange, position, exact: false });
                Self::Request { exchange: log.begin(0, Edge::guessed(start)), end }
            }
        };
    }

    /// Takes the end of one side's stream.
    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        if direction == Direction::ToClient {
            self.handle_abort(log);
        }
    }

    /// Takes the end of the connection.
    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        match std::mem::take(self) {
            Self::Idle => {}
            Self::Request { exchange, .. } | Self::Asked { exchange } => {
                log.push(Event::Abandoned { exchange, stream: None });
            }
            Self::Response { exchange, end: position } => {
                log.push(Event::ResponseEnds { exchange, position, exact: false });
            }
        }
    }
}
