//! Where events wait for the caller, and where exchanges get their numbers.

use std::collections::VecDeque;

use super::{Event, ExchangeId};
use crate::strip::Outline;

/// What was found and not yet told.
///
/// It holds what one call found: no more events than that call's bytes and the exchanges that were
/// open give rise to.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    events: VecDeque<Event>,
    begun: u32,
    passed_over: u64,
    /// What has to stay of the bytes, if somebody wants to know.
    outline: Option<Box<Outline>>,
}

impl Log {
    pub(super) fn with_outline(outline: Outline) -> Self {
        Self { outline: Some(outline.into()), ..Self::default() }
    }

    /// Notes what has to stay of the bytes.
    pub(super) fn outline(&mut self, note: impl FnOnce(&mut Outline)) {
        if let Some(outline) = &mut self.outline {
            note(outline);
        }
    }

    /// Whether somebody wants to know what has to stay of the bytes.
    pub(super) const fn has_outline(&self) -> bool {
        self.outline.is_some()
    }

    pub(super) fn push(&mut self, event: Event) {
        self.events.push_back(event);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
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
