//! Turns of a protocol of which only the beginning is known: the client asks, and then the server answers.
//!
//! What shows that a request was sent before the answer to an earlier one had come, is that an end sends before it has what
//! the other has sent already. From then on, the connection is not divided.

use ackwise_cause::Direction;

use super::{
    Event, Switch, Tunnel,
    guess::{self, Guess},
    in_order::NOBODY,
    log::Log,
    protocols::{KnownProtocol, Protocol},
    span::{Span, Start},
    token::TokenKind,
    turn::Turn,
    turns::Turns,
};

/// Both directions of a connection.
#[derive(Clone, Debug)]
pub(super) struct HalfDuplex {
    protocol: &'static KnownProtocol,
    /// Whether the server has to show that it is that.
    is_sure: bool,
    turns: Turns,
    /// The client's turn is answered once something happens.
    waits: bool,
    /// What the client sent last begins no exchange.
    is_silent: bool,
    /// How far each end has sent.
    ends: [u64; 2],
    /// How far the other end had that, when it last sent something.
    heard: [Option<u64>; 2],
}

impl HalfDuplex {
    /// From the first byte of a connection on.
    pub(super) fn new(protocol: &'static KnownProtocol) -> Self {
        let turns = Turns::default();
        let (waits, is_silent) = (false, false);
        Self { protocol, is_sure: true, turns, waits, is_silent, ends: [0; 2], heard: [None; 2] }
    }

    /// The same, unless the server answers as another one does.
    pub(super) fn if_answered(protocol: &'static KnownProtocol) -> Self {
        Self { is_sure: false, ..Self::new(protocol) }
    }

    pub(super) const fn protocol(&self) -> Protocol {
        self.protocol.protocol
    }

    /// Bytes that it takes in memory, about.
    pub(super) const fn cost(&self) -> usize {
        size_of::<Self>()
    }

    /// Who sends in the other direction has the bytes of this one before `position`.
    pub(super) fn handle_arrival(&mut self, direction: Direction, position: u64) {
        let heard = &mut self.heard[direction as usize];
        *heard = (*heard).max(Some(position));
    }

    pub(super) fn handle(
        &mut self,
        direction: Direction,
        span: &mut Span<'_>,
        log: &mut Log,
    ) -> Option<Switch> {
        if self.is_too_early(direction) {
            span.take_all();
            return Some(self.overlap(log));
        }
        let switch = match direction {
            Direction::ToServer => self.begin_turn(span, log),
            Direction::ToClient => self.answer(span, log),
        };
        self.ends[direction as usize] = self.ends[direction as usize].max(span.end());
        if switch.is_none() && !span.is_empty() {
            self.turns.handle(direction, span.at(), span.end(), log);
            span.take_all();
        }
        switch
    }

    /// Whether who sends now does not have all that the other has sent in its turn.
    fn is_too_early(&self, direction: Direction) -> bool {
        let other = direction.opposite() as usize;
        let is_others_turn = match direction {
            Direction::ToServer => matches!(self.turns, Turns::Response { .. }),
            Direction::ToClient => matches!(self.turns, Turns::Request { .. }),
        };
        is_others_turn && self.heard[other].is_some_and(|heard| heard < self.ends[other])
    }

    /// Nobody knows which request an answer is to.
    fn overlap(&mut self, log: &mut Log) -> Switch {
        self.end_waiting(log);
        match std::mem::take(&mut self.turns) {
            Turns::Request { exchange, .. }
            | Turns::Asked { exchange }
            | Turns::Response { exchange, .. } => log.push(Event::Unjudged { exchange }),
            Turns::Idle => {}
        }
        let tunnel = Tunnel::Overlapping;
        log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
        Switch::NotDivided
    }

    /// The client sends: what, if it is its turn now.
    fn begin_turn(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        let goes_on = matches!(self.turns, Turns::Request { .. } | Turns::Asked { .. });
        if goes_on || !self.is_sure {
            return None;
        }
        if !span.begins_segment() {
            // The rest of a segment is no turn of its own.
            self.pass_silent(span);
            return None;
        }
        if guess::client_hello(span.bytes()) == Guess::Yes {
            self.end_turn(log);
            return Some(Switch::Tls);
        }
        let (turn, shown) = (self.protocol.turn)(span.bytes());
        for range in shown {
            let bytes = span.bytes().get(range.clone()).filter(|it| !it.is_empty());
            let Some(bytes) = bytes else { continue };
            let at = span.at() + range.start as u64;
            log.token(Direction::ToServer, at, || TokenKind::Framing(bytes.to_vec()));
        }
        self.is_silent = matches!(turn, Turn::Unanswered | Turn::Waits(_));
        match turn {
            Turn::Asks => self.end_waiting(log),
            Turn::Unanswered => self.end_turn(log),
            Turn::Waits(tunnel) => {
                self.end_turn(log);
                self.waits = true;
                log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
            }
            Turn::Ends(tunnel) => {
                self.end_turn(log);
                span.take_all();
                log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
                return Some(Switch::NotDivided);
            }
        }
        self.pass_silent(span);
        None
    }

    /// Passes over what begins no exchange.
    fn pass_silent(&mut self, span: &mut Span<'_>) {
        if self.is_silent {
            self.ends[Direction::ToServer as usize] = span.end();
            span.take_all();
        }
    }

    /// The server sends.
    fn answer(&mut self, span: &Span<'_>, log: &mut Log) -> Option<Switch> {
        self.end_waiting(log);
        if self.is_sure {
            return None;
        }
        let server = self.protocol.magic(Direction::ToClient);
        if server.guess(span.bytes(), Start::Beginning) != Guess::Yes {
            let turns = self.turns;
            return Some(Switch::Turns { turns, start: span.at() });
        }
        self.is_sure = true;
        log.push(Event::Protocol(self.protocol.protocol));
        keep_magic(self.protocol, Direction::ToClient, span.at(), span.bytes(), log);
        None
    }

    fn end_waiting(&mut self, log: &mut Log) {
        if std::mem::take(&mut self.waits) {
            log.push(Event::TunnelEnds { exchange: NOBODY });
        }
    }

    /// The turn before is over.
    fn end_turn(&mut self, log: &mut Log) {
        self.end_waiting(log);
        self.turns.handle_abort(log);
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        self.turns.handle_end(direction, log);
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        self.end_turn(log);
    }
}

/// Notes what a protocol was recognised by.
pub(super) fn keep_magic(
    protocol: &KnownProtocol,
    direction: Direction,
    at: u64,
    bytes: &[u8],
    log: &mut Log,
) {
    if log.has_tokens() {
        let len = protocol.magic_len(direction, bytes);
        log.token(direction, at, || TokenKind::Framing(bytes[..len].to_vec()));
    }
}
