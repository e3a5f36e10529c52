//! Where events wait for the caller, and where exchanges get their numbers.

use std::collections::VecDeque;

use ackwise_cause::Direction;

use super::{
    Event, ExchangeId, MessageNews, RequestHead,
    span::Edge,
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

    /// As new, with the memory of its queue, which is empty.
    pub(super) fn forget(&mut self) {
        let Self { wanted, begun, passed_over } = self;
        match wanted {
            Wanted::Events(queue) => queue.clear(),
            Wanted::Tokens(queue) => queue.clear(),
        }
        (*begun, *passed_over) = (0, 0);
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

    /// Tells of messages. What one call finds of a stream is one event, if nothing else happens between.
    pub(super) fn push_messages(
        &mut self,
        exchange: ExchangeId,
        direction: Direction,
        news: MessageNews,
    ) {
        if let Wanted::Events(queue) = &mut self.wanted
            && let Some(Event::Messages { exchange: last, direction: way, news: sum }) =
                queue.back_mut()
            && (*last, *way) == (exchange, direction)
        {
            return sum.add(news);
        }
        self.push(Event::Messages { exchange, direction, news });
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
    pub(super) fn begin(&mut self, stream: u32, edge: Edge) -> ExchangeId {
        let exchange = ExchangeId(self.begun);
        self.begun = self.begun.saturating_add(1);
        self.push(Event::RequestBegins { exchange, stream, position: edge.at, exact: edge.exact });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::ExchangeReader;

    /// What one call finds to be a token has at least a byte of that call: so the queue is bounded by the
    /// longest segment.
    #[test]
    fn tokens_that_wait_are_no_more_than_the_bytes_of_one_call() {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let repeated =
            |begin: &[u8], unit: &[u8]| [begin, &unit.repeat(60_000 / unit.len())].concat();
        for (name, bytes) in [
            ("empty lines", repeated(b"GET / HTTP/1.1\r\n\r\n", b"\r\n")),
            ("pipelined requests", repeated(b"", b"GET / HTTP/1.1\r\n\r\n")),
            ("headers", repeated(b"GET / HTTP/1.1\r\n", b"a:b\r\n")),
            (
                "chunks",
                repeated(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
            ),
            ("empty DATA frames", repeated(PREFACE, &[0, 0, 0, 0, 0, 0, 0, 0, 1])),
            ("SETTINGS", repeated(PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0])),
            (
                "indexed fields",
                repeated(
                    PREFACE,
                    &[0, 0, 8, 1, 5, 0, 0, 0, 1, 130, 130, 130, 130, 130, 130, 130, 130],
                ),
            ),
            ("TLS records", repeated(&[22, 3, 1, 0, 1, 1], &[23, 3, 3, 0, 1, 0])),
        ] {
            let mut reader = ExchangeReader::with_tokens();
            let length = u32::try_from(bytes.len()).unwrap();
            for call in 0..3 {
                let at = u64::from(length) * call;
                reader.handle_data(Direction::ToServer, at, length, &bytes);
                let tokens = std::iter::from_fn(|| reader.poll_token()).count();
                assert!(tokens <= bytes.len(), "{name}: {tokens} tokens of {length} bytes");
                assert!(call > 0 || tokens > 0, "{name}");
            }
        }
    }
}
