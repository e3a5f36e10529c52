//! Where events wait for the caller, and where exchanges get their numbers.

use std::collections::VecDeque;

use ackwise_cause::Direction;

use super::{
    Event, ExchangeId, RequestHead,
    token::{Token, TokenKind, Tokens},
};

/// What was found and not yet told.
///
/// It holds what one call found: no more events than that call's bytes and the exchanges that were
/// open give rise to.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    wanted: Wanted,
    begun: u32,
    passed_over: u64,
}

/// What the caller asks for. Nobody needs both, and each costs memory for every request.
#[derive(Clone, Debug)]
enum Wanted {
    Events(VecDeque<Event>),
    /// What the readers have read.
    Tokens(VecDeque<Token>),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Events(VecDeque::new())
    }
}

impl Log {
    /// With tokens instead of events.
    pub(super) fn with_tokens() -> Self {
        Self { wanted: Wanted::Tokens(VecDeque::new()), ..Self::default() }
    }

    /// Where readers of one direction put their tokens.
    pub(super) const fn tokens(&mut self, direction: Direction) -> Tokens<'_> {
        let queue = match &mut self.wanted {
            Wanted::Tokens(queue) => Some(queue),
            Wanted::Events(_) => None,
        };
        Tokens::new(direction, queue)
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
        match &mut self.wanted {
            Wanted::Tokens(queue) => pop(queue),
            Wanted::Events(_) => None,
        }
    }

    /// Whether somebody asked for tokens.
    pub(super) const fn has_tokens(&self) -> bool {
        matches!(self.wanted, Wanted::Tokens(_))
    }

    pub(super) fn push(&mut self, event: Event) {
        if let Wanted::Events(queue) = &mut self.wanted {
            queue.push_back(event);
        }
    }

    /// Tells what a request asks.
    pub(super) fn push_head(&mut self, exchange: ExchangeId, head: impl FnOnce() -> RequestHead) {
        if let Wanted::Events(queue) = &mut self.wanted {
            queue.push_back(Event::RequestHead { exchange, head: Box::new(head()) });
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let Wanted::Events(queue) = &mut self.wanted else { return None };
        pop(queue)
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

#[inline]
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if first.is_none() && queue.capacity() > KEPT_EVENTS {
        *queue = VecDeque::new();
    }
    first
}

/// Room for events that stays once they have been told: a segment mostly has fewer. Our choice.
const KEPT_EVENTS: usize = 64;
