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
/// Where the capture lacks some, nobody knows how many: that is a hole in the order. A response answers
/// what stands before the hole in turn; what comes behind can only be paired if the client asks one
/// thing at a time, so that nothing is outstanding when it asks again.
///
/// A capture can show a client that asks for ever and a server that never answers: after
/// [`PIPELINE_LIMIT`] requests, further ones are only counted until all before them are answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipeline {
    asked: VecDeque<Asked>,
    uncounted: u64,
    /// Requests before the hole, if there is one.
    hole: Option<usize>,
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

    /// Notes that the capture lacks an unknown number of requests.
    pub(super) fn push_hole(&mut self) {
        self.hole.get_or_insert(self.asked.len());
    }

    /// Notes that nobody knows which of the requests the next response answers.
    pub(super) const fn push_hole_first(&mut self) {
        self.hole = Some(0);
    }

    /// Takes the hole off, if nothing stands before it: all that was in it is answered.
    pub(super) fn pass_hole(&mut self) {
        if self.hole == Some(0) {
            self.hole = None;
        }
    }

    /// Requests that cannot be paired with responses any more: those behind a hole that is next.
    pub(super) fn take_unpaired(&mut self) -> impl Iterator<Item = ExchangeId> {
        let unpaired = if self.hole == Some(0) { self.asked.len() } else { 0 };
        self.asked.drain(..unpaired).map(|asked| asked.exchange)
    }

    /// How many requests are known that wait.
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    /// The request that the next response answers.
    pub(super) fn front(&self) -> Option<Asked> {
        self.asked.front().copied().filter(|_| self.hole != Some(0))
    }

    /// Takes it off, now that it is answered.
    pub(super) fn pop(&mut self) -> Option<Asked> {
        let front = self.front();
        match front {
            Some(_) => {
                self.asked.pop_front();
                self.hole = self.hole.map(|before| before - 1);
            }
            None => self.uncounted = self.uncounted.saturating_sub(1),
        }
        front
    }

    /// Whether no request waits that is known.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.uncounted == 0
    }

    /// Takes all off, oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        (self.uncounted, self.hole) = (0, None);
        self.asked.drain(..).map(|asked| asked.exchange)
    }
}

/// Most requests of a connection that wait for their responses. Browsers that pipelined at all had
/// 8 under way; load generators go to some hundred.
pub(super) const PIPELINE_LIMIT: usize = 1024;
