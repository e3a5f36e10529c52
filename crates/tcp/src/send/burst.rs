//! Segments that leave together.

use crate::units::Instant;

/// Segments that leave together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    /// What is left of them.
    left: u16,
    /// How many will leave together with the segment that is about to leave, if that was asked.
    next: Option<u32>,
}

impl Burst {
    /// Whether something is left of it.
    #[inline]
    pub(crate) const fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// An ACK has come: what leaves now begins another one.
    pub(crate) const fn end(&mut self) {
        self.left = 0;
    }

    /// These `segments` will leave together; the next is the first of them.
    pub(crate) const fn plan(&mut self, segments: u32) {
        self.next = Some(segments);
    }

    /// A segment is about to leave, the one before has left `last`: goes on, or begins one of this `size` unless it was
    /// planned.
    pub(crate) fn on_sent(&mut self, last: Instant, size: impl FnOnce() -> u32, now: Instant) {
        let planned = self.next.take();
        if last == now && self.goes_on() {
            self.left -= 1;
            return;
        }
        let segments = planned.unwrap_or_else(size);
        self.left = u16::try_from(segments).unwrap_or(u16::MAX).saturating_sub(1);
    }
}
