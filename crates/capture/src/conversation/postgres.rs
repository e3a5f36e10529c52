//! PostgreSQL's protocol, version 3: a unit goes from the first message behind the last one to `Query` or `Sync`, and is
//! answered up to `ReadyForQuery`.
//!
//! Not here: what statements say. What comes after `SSLRequest` is TLS's.

mod messages;

use ackwise_cause::Direction;
use messages::{CANCEL, GSS, Kind, Messages, SSL, STARTUP, Step};

use super::{
    Event, Switch, Tunnel, guess,
    guess::Guess,
    in_order::{Effect, InOrder, NOBODY},
    log::Log,
    span::{Edge, Span, Start},
    token::TokenKind,
};

/// Both directions of a connection.
#[derive(Clone, Debug)]
pub(super) struct Postgres {
    phase: Phase,
    requests: Messages,
    replies: Messages,
    order: InOrder,
    /// The unit that is under way has a message that ends none: the server answers before it is over.
    flushes: bool,
    /// The last unit ended with `Sync`.
    ends_with_sync: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// The client begins.
    Beginning,
    /// It has asked for encryption.
    Asking,
    /// Up to the first `ReadyForQuery`.
    Authentication,
    Units,
    /// Nothing more is read: the connection cancels a query of another one.
    Over,
}

impl Postgres {
    /// From the first byte of a connection on, or from its middle.
    pub(super) const fn new(start: Start) -> Self {
        let (phase, requests, replies) = match start {
            Start::Beginning => (Phase::Beginning, Messages::untyped(), Messages::typed()),
            Start::Middle => (Phase::Units, Messages::resting(), Messages::resting()),
        };
        Self {
            phase,
            requests,
            replies,
            order: InOrder::new(),
            flushes: false,
            ends_with_sync: false,
        }
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.order.cost()
    }

    /// Where bytes begin that have to be read together with later ones.
    pub(super) fn undecided(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::ToServer => self.requests.undecided(),
            Direction::ToClient => self.replies.undecided(),
        }
    }

    /// The server has the client's bytes before `position`.
    pub(super) fn handle_arrival(&mut self, direction: Direction, position: u64) {
        self.order.handle_arrival(direction, position);
    }

    pub(super) fn handle(
        &mut self,
        direction: Direction,
        span: &mut Span<'_>,
        log: &mut Log,
    ) -> Option<Switch> {
        match (self.phase, direction) {
            (Phase::Over, _) => {
                span.take_all();
                None
            }
            (Phase::Asking, Direction::ToClient) => self.handle_encryption(span, log),
            (_, Direction::ToServer) => self.handle_requests(span, log),
            (_, Direction::ToClient) => self.handle_replies(span, log),
        }
    }

    /// The server says with one byte whether it encrypts.
    fn handle_encryption(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        let at = span.at();
        let answer = span.bytes().first().copied();
        match answer {
            Some(byte @ b'S') | Some(byte @ b'G') | Some(byte @ b'N') => {
                let kind = || TokenKind::Framing(vec![byte]);
                log.token(Direction::ToClient, at, kind);
                span.take(1);
            }
            _ => {
                span.take_all();
            }
        }
        match answer {
            Some(b'S') => return Some(Switch::Tls),
            Some(b'N') => {
                self.phase = Phase::Beginning;
                self.requests = Messages::untyped();
            }
            _ => self.phase = Phase::Over,
        }
        None
    }

    fn handle_requests(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        if self.requests.is_resting() {
            let begins = guess::postgres_unit(span.bytes()) == Guess::Yes;
            if !begins || !span.begins_segment() || span.is_cut() {
                span.take_all();
                return None;
            }
            keep_end(span, log);
            self.requests = Messages::typed();
            self.replies = Messages::typed();
        }
        if self.requests.turn().is_some() {
            span.take_all();
            return self.lose(log);
        }
        loop {
            match self.requests.advance(span, &mut log.tokens(Direction::ToServer)) {
                Step::NeedsMore => return None,
                Step::Begins { kind: Kind::Typed(kind), at } if self.phase == Phase::Units => {
                    if !self.begin_request(kind, at, log) {
                        span.take_all();
                        return self.lose(log);
                    }
                }
                Step::Ends { kind: Kind::Typed(kind @ (b'Q' | b'S' | b'F')), at }
                    if self.phase == Phase::Units =>
                {
                    if !self.end_request(kind, at, log) {
                        span.take_all();
                        return self.lose(log);
                    }
                }
                Step::Begins { kind: Kind::Coded(code), .. } => self.begin_connection(code, log),
                Step::Begins { .. } | Step::Ends { .. } => {}
                Step::Cut if self.can_follow_turn(span) && self.order.is_asking() => {
                    self.requests.follow_turn(span);
                }
                Step::Cut | Step::Broken => {
                    span.take_all();
                    return self.lose(log);
                }
            }
        }
    }

    fn begin_connection(&mut self, code: u32, log: &mut Log) {
        self.phase = match code {
            SSL | GSS => Phase::Asking,
            CANCEL => Phase::Over,
            _ if STARTUP.contains(&code) => {
                let tunnel = Tunnel::Startup;
                log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
                Phase::Authentication
            }
            _ => Phase::Over,
        };
    }

    /// A message of this type begins; whether there is one.
    fn begin_request(&mut self, kind: u8, at: u64, log: &mut Log) -> bool {
        match kind {
            // What is copied, passwords and the end of the connection belong to no unit of their own.
            b'd' | b'c' | b'f' | b'p' | b'X' => return true,
            // Nothing waits to be flushed.
            b'H' if !self.order.is_asking() => return true,
            b'Q' | b'S' | b'F' | b'P' | b'B' | b'E' | b'D' | b'C' | b'H' => {}
            _ => return false,
        }
        if self.order.answered_by_turn(self.replies.turn(), log) {
            self.replies = Messages::typed();
        }
        if !self.order.is_asking() {
            self.order.begin(Edge::exact(at), log);
            self.flushes = false;
        }
        self.flushes |= kind == b'H';
        match kind {
            b'Q' => self.order.name(Some("Query"), at, log),
            b'S' => self.order.name(Some("Sync"), at, log),
            _ => {}
        }
        true
    }

    fn end_request(&mut self, kind: u8, at: u64, log: &mut Log) -> bool {
        self.ends_with_sync = kind == b'S';
        let effect = match self.flushes {
            true => Effect::Waits(Tunnel::Dialogue),
            false => Effect::Answered,
        };
        self.order.end(Edge::exact(at), effect, log)
    }

    fn handle_replies(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        if let Some(end) = self.requests.turn() {
            return self.answer_turn(end, span, log);
        }
        loop {
            match self.replies.advance(span, &mut log.tokens(Direction::ToClient)) {
                Step::NeedsMore => return None,
                Step::Begins { kind: Kind::Typed(kind), at } => {
                    let is_known = BACKEND.contains(&kind);
                    if !is_known || self.phase == Phase::Units && !self.begin_reply(kind, at, log) {
                        span.take_all();
                        return self.lose(log);
                    }
                    if kind == b'W' || kind == b'G' && self.is_copied_after_sync() {
                        span.take_all();
                        return Some(self.end_order(kind, log));
                    }
                }
                Step::Ends { kind: Kind::Typed(b'Z'), at } => match self.phase {
                    Phase::Units => self.order.answered(Edge::exact(at), log),
                    _ => {
                        self.phase = Phase::Units;
                        log.push(Event::TunnelEnds { exchange: NOBODY });
                    }
                },
                Step::Begins { .. } | Step::Ends { .. } => {}
                Step::Cut if self.can_follow_turn(span) && self.order.is_answering() => {
                    self.replies.follow_turn(span);
                }
                Step::Cut | Step::Broken => {
                    span.take_all();
                    return self.lose(log);
                }
            }
        }
    }

    /// A message of this type begins; whether it can be part of the response that is due.
    fn begin_reply(&mut self, kind: u8, at: u64, log: &mut Log) -> bool {
        // PostgreSQL, "Asynchronous Operations": notices, notifications and parameters come at any time.
        if matches!(kind, b'N' | b'A' | b'S') {
            return true;
        }
        if self.order.answer(Edge::exact(at), log).is_err() {
            return false;
        }
        if matches!(kind, b'G' | b'H') {
            self.order.wait(Tunnel::Copy, log);
        }
        true
    }

    /// "The backend will ignore Flush and Sync messages received during copy-in mode" (PostgreSQL, "COPY Operations"): of
    /// a `Sync` that was sent before, nobody knows whether it ends anything.
    const fn is_copied_after_sync(&self) -> bool {
        matches!(self.phase, Phase::Units) && self.ends_with_sync && !self.order.is_asking()
    }

    fn can_follow_turn(&self, span: &Span<'_>) -> bool {
        !span.is_gap() && self.phase == Phase::Units && !self.order.is_pipelined() && !self.flushes
    }

    /// The unit that has come to `end`, for all that is known, is answered.
    fn answer_turn(&mut self, end: u64, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        self.requests = Messages::resting();
        self.order.end(Edge::guessed(end), Effect::Answered, log);
        if self.order.answer(Edge::guessed(span.at()), log).is_err() {
            span.take_all();
            return self.lose(log);
        }
        self.requests = Messages::typed();
        self.replies.follow_turn(span);
        None
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        match (direction, self.requests.turn()) {
            (Direction::ToClient, _) => self.handle_abort(log),
            (Direction::ToServer, Some(end)) => {
                self.requests = Messages::resting();
                self.order.end(Edge::guessed(end), Effect::Answered, log);
            }
            (Direction::ToServer, None) => {}
        }
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        self.order.answered_by_turn(self.replies.turn(), log);
        self.phase = Phase::Over;
        if self.order.is_asking() {
            // Without its end, nobody waits for an answer.
            self.order.forget(log);
        }
        self.order.abandon(log);
    }

    /// Replication, or a COPY whose end nobody knows.
    fn end_order(&mut self, kind: u8, log: &mut Log) -> Switch {
        let tunnel = if kind == b'W' { Tunnel::Push } else { Tunnel::Copy };
        let switch = self.order.give_up(log);
        log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
        switch
    }

    /// The capture does not show which responses are still to come.
    fn lose(&mut self, log: &mut Log) -> Option<Switch> {
        if self.phase != Phase::Units {
            log.push(Event::TunnelEnds { exchange: NOBODY });
        }
        let switch = self.order.lose(log);
        if switch.is_none() {
            self.phase = Phase::Units;
            self.flushes = false;
            (self.requests, self.replies) = (Messages::resting(), Messages::resting());
        }
        switch
    }
}

/// What a unit was recognised by includes that the capture has all of it.
pub(super) fn keep_end(span: &Span<'_>, log: &mut Log) {
    if span.bytes().last() == Some(&0) {
        log.token(Direction::ToServer, span.end() - 1, || TokenKind::Framing(vec![0]));
    }
}

/// Types of the server's messages.
const BACKEND: &[u8] = b"RKvSENAZ123CDIntsTGHWdcV";
