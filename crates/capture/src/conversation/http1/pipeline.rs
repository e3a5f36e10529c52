//! The requests that have begun and are not being answered yet.

use std::collections::VecDeque;

use super::{super::ExchangeId, head::Expected};

/// A request without a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) exchange: ExchangeId,
    pub(super) expected: Expected,
}

/// Requests in the order in which they will be answered.
///
/// A capture can show a client that asks for ever and a server that never answers: after
/// [`PIPELINE_LIMIT`] requests, further ones are only counted until all before them are answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipeline {
    asked: VecDeque<Asked>,
    uncounted: u64,
}

impl Pipeline {
    /// Whether one more request can be remembered.
    pub(super) fn has_room(&self) -> bool {
        self.uncounted == 0 && self.asked.len() < PIPELINE_LIMIT
    }

    pub(super) fn push(&mut self, exchange: ExchangeId) {
        self.asked.push_back(Asked { exchange, expected: Expected::Ordinary });
    }

    /// Notes a request that is not told of.
    pub(super) fn push_untold(&mut self) {
        self.uncounted = self.uncounted.saturating_add(1);
    }

    /// Says what the request that began last asks for.
    pub(super) fn expect(&mut self, expected: Expected) {
        if let (0, Some(last)) = (self.uncounted, self.asked.back_mut()) {
            last.expected = expected;
        }
    }

    /// The request that the next response answers.
    pub(super) fn front(&self) -> Option<Asked> {
        self.asked.front().copied()
    }

    /// Takes it off, now that it is answered.
    pub(super) fn pop(&mut self) -> Option<Asked> {
        let front = self.asked.pop_front();
        if front.is_none() {
            self.uncounted = self.uncounted.saturating_sub(1);
        }
        front
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.uncounted == 0
    }

    /// Takes all off, oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.uncounted = 0;
        self.asked.drain(..).map(|asked| asked.exchange)
    }
}

/// Most requests of a connection that wait for their responses. Browsers that pipelined at all had
/// 8 under way; load generators go to some hundred.
pub(super) const PIPELINE_LIMIT: usize = 1024;
