//! RESP, the protocol of Redis, in versions 2 and 3: commands in order, replies in the same order.
//!
//! After a gap of the capture nobody knows how many replies are to come. A client that has never pipelined is followed again
//! from its next command on; any other is not.

mod commands;
mod line;
mod replies;
mod requests;

use ackwise_cause::Direction;
use replies::Replies;
use requests::Requests;

use super::{
    Switch,
    in_order::InOrder,
    log::Log,
    span::{Edge, Span, Start},
};

/// Both directions of a connection.
#[derive(Clone, Debug)]
pub(super) struct Resp {
    requests: Requests,
    replies: Replies,
    order: InOrder,
    /// Unknown commands may have no reply yet.
    in_hole: bool,
}

impl Resp {
    /// From the first byte of a connection on, or from its middle.
    pub(super) fn new(start: Start) -> Self {
        let mut resp = Self {
            requests: Requests::new(start),
            replies: Replies::new(),
            order: InOrder::default(),
            in_hole: start == Start::Middle,
        };
        if start == Start::Middle {
            resp.replies.rest();
        }
        resp
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.order.cost() + self.replies.cost()
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
        match direction {
            Direction::ToServer => self.handle_requests(span, log),
            Direction::ToClient => self.handle_replies(span, log),
        }
    }

    fn handle_requests(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        loop {
            match self.requests.advance(span, &mut log.tokens(Direction::ToServer)) {
                requests::Step::NeedsMore => return None,
                requests::Step::Begins { at } => self.begin(at, log),
                requests::Step::Named { name, at } => self.order.name(name, at, log),
                requests::Step::Empty => self.order.forget(log),
                requests::Step::Ends { at, effect } => {
                    let is_noted = self.order.end(Edge::exact(at), effect, log);
                    if !is_noted {
                        return self.lose(log);
                    }
                    if self.order.ends() {
                        return Some(self.order.give_up(log));
                    }
                }
                requests::Step::Cut if span.is_gap() || !self.order.is_asking() => {
                    span.take_all();
                    return self.lose(log);
                }
                requests::Step::Cut
                    if self.order.is_pipelined() || self.requests.effect().is_none() =>
                {
                    span.take_all();
                    return self.lose(log);
                }
                requests::Step::Cut => self.requests.follow_turn(span),
                requests::Step::Broken => {
                    span.take_all();
                    return self.lose(log);
                }
            }
        }
    }

    fn begin(&mut self, at: u64, log: &mut Log) {
        if self.order.answered_by_turn(self.replies.turn(), log) {
            self.replies.resume();
        }
        if std::mem::take(&mut self.in_hole) {
            self.replies.resume();
        }
        self.order.begin(Edge::exact(at), log);
    }

    fn handle_replies(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        if let Some(end) = self.requests.turn() {
            // Nothing but its answer shows where it has ended, and so how many replies there are.
            return self.answer_turn(end, span, log);
        }
        loop {
            match self.replies.advance(span, &mut log.tokens(Direction::ToClient)) {
                replies::Step::NeedsMore => return None,
                replies::Step::Begins { at } => {
                    if self.order.answer(Edge::exact(at), log).is_err() {
                        span.take_all();
                        return self.lose(log);
                    }
                }
                replies::Step::Ends { at } => {
                    self.order.answered(Edge::exact(at), log);
                    if self.order.ends() {
                        return Some(self.order.give_up(log));
                    }
                }
                replies::Step::Cut if self.can_follow_turn(span) => self.replies.follow_turn(span),
                replies::Step::Cut | replies::Step::Broken => {
                    span.take_all();
                    return self.lose(log);
                }
            }
        }
    }

    /// Whether the reply that is under way is the last one that is due.
    fn can_follow_turn(&self, span: &Span<'_>) -> bool {
        !span.is_gap() && self.order.is_answering() && !self.order.is_pipelined()
    }

    /// The command that ends at `end`, for all that is known, is answered.
    fn answer_turn(&mut self, end: u64, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        let effect = self.requests.effect().unwrap_or_default();
        self.requests.rest();
        self.order.end(Edge::guessed(end), effect, log);
        if self.order.ends() {
            return Some(self.order.give_up(log));
        }
        if self.order.answer(Edge::guessed(span.at()), log).is_err() {
            span.take_all();
            return self.lose(log);
        }
        self.replies.follow_turn(span);
        None
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        match direction {
            Direction::ToClient => self.handle_abort(log),
            Direction::ToServer => {
                if let Some(end) = self.requests.turn() {
                    let effect = self.requests.effect().unwrap_or_default();
                    self.requests.rest();
                    self.order.end(Edge::guessed(end), effect, log);
                }
            }
        }
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        self.order.answered_by_turn(self.replies.turn(), log);
        self.requests.rest();
        self.replies.rest();
        self.order.abandon(log);
    }

    /// The capture does not show which replies are still to come.
    fn lose(&mut self, log: &mut Log) -> Option<Switch> {
        let switch = self.order.lose(log);
        if switch.is_none() {
            self.requests.rest();
            self.replies.rest();
            self.in_hole = true;
        }
        switch
    }
}
