//! Where events wait for the caller, and where exchanges get their numbers.

use std::collections::VecDeque;

use ackwise_cause::Direction;

use super::{
    Event, ExchangeId,
    token::{Token, TokenKind, Tokens},
};

/// What was found and not yet told.
///
/// It holds what one call found: no more events than that call's bytes and the exchanges that were
/// open give rise to.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Event>,
    begun: u32,
    passed_over: u64,
    /// What the readers have read, if somebody asked for it.
    tokens: Option<VecDeque<Token>>,
}

impl Log {
    pub(super) fn with_tokens() -> Self {
        Self { tokens: Some(VecDeque::new()), ..Self::default() }
    }

    /// Where readers of one direction put their tokens.
    pub(super) const fn tokens(&mut self, direction: Direction) -> Tokens<'_> {
        Tokens::new(direction, self.tokens.as_mut())
    }

    /// Notes what the bytes from `at` on are, if somebody asked for that.
    pub(super) fn token(
        &mut self,
        direction: Direction,
        at: u64,
        kind: impl FnOnce() -> TokenKind,
    ) {
        self.tokens(direction).push(at, kind);
    }

    pub(super) fn pop_token(&mut self) -> Option<Token> {
        self.tokens.as_mut()?.pop_front()
    }

    /// Whether somebody asked for tokens.
    pub(super) const fn has_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    pub(super) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        if event.is_none() && self.events.capacity() > KEPT_EVENTS {
            self.events = VecDeque::new();
        }
        event
    }

    /// Tells of a request's first byte.
    pub(super) fn begin(&mut self, stream: u32, position: u64, exact: bool) -> ExchangeId {
        let exchange = ExchangeId(self.begun);
        self.begun = self.begun.saturating_add(1);
        self.push(Event::RequestBegins { exchange, stream, position, exact });
        exchange
    }

    /// Counts a request that is not told of.
    pub(super) const fn pass_over(&mut self) {
        self.passed_over = self.passed_over.saturating_add(1);
    }

    pub(super) const fn passed_over(&self) -> u64 {
        self.passed_over
    }
}

/// Room for events that stays once they have been told: a segment mostly has fewer. Our choice.
const KEPT_EVENTS: usize = 64;
