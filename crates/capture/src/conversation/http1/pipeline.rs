//! The requests that have begun and are not being answered yet.

use std::collections::VecDeque;

use super::{super::ExchangeId, head::Expected};
use crate::limits::OPEN_REQUESTS;

/// A request without a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) exchange: ExchangeId,
    pub(super) expected: Expected,
}

/// Requests in the order in which they will be answered.
///
/// Requests that are missing from the capture leave a hole in this order, of unknown size. Requests
/// before the hole are answered in turn. Those after it can be paired only if nothing was outstanding
/// when they were sent, that is, if the client does not pipeline.
///
/// A capture can show a client that asks for ever and a server that never answers: after
/// [`OPEN_REQUESTS`] requests, further ones are only counted until all before them are answered.
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
        self.uncounted == 0 && self.asked.len() < OPEN_REQUESTS
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

    /// Notes that the next response may answer any of the requests.
    pub(super) const fn push_hole_first(&mut self) {
        self.hole = Some(0);
    }

    /// Removes the hole if it is next: everything in it has been answered.
    pub(super) fn pass_hole(&mut self) {
        if self.hole == Some(0) {
            self.hole = None;
        }
    }

    /// Removes the requests that can no longer be paired with responses: those behind a hole that is
    /// next.
    pub(super) fn take_unpaired(&mut self) -> impl Iterator<Item = ExchangeId> {
        let unpaired = if self.hole == Some(0) { self.asked.len() } else { 0 };
        self.asked.drain(..unpaired).map(|asked| asked.exchange)
    }

    /// The number of known requests that are waiting.
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

    /// Whether no known request is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.uncounted == 0
    }

    /// Takes all off, oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        (self.uncounted, self.hole) = (0, None);
        self.asked.drain(..).map(|asked| asked.exchange)
    }
}
