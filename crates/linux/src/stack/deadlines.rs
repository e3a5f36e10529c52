//! The next deadline of each connection.
//!
//! A retransmission timer moves with every ACK and almost never fires, so a deadline that moves
//! later is left in the queue; when it is due, the endpoint's current one is queried. The queue
//! holds at most one entry per connection, and is never traversed as a whole.

use std::collections::BTreeSet;

use ackwise_tcp::Instant;

/// The next deadlines, by slot of the connection table.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    queue: BTreeSet<(Instant, u32)>,
    armed: Vec<Option<Instant>>,
}

impl Deadlines {
    /// Wakes `slot` at `at` or earlier.
    pub(super) fn arm(&mut self, slot: u32, at: Instant) {
        let armed = self.armed(slot);
        if armed.is_some_and(|earlier| earlier <= at) {
            return;
        }
        if let Some(later) = armed.replace(at) {
            self.queue.remove(&(later, slot));
        }
        self.queue.insert((at, slot));
    }

    /// Removes the deadline of `slot`.
    pub(super) fn disarm(&mut self, slot: u32) {
        if let Some(at) = self.armed(slot).take() {
            self.queue.remove(&(at, slot));
        }
    }

    /// The earliest deadline.
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Removes and returns a slot whose deadline has passed by `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let (at, slot) = *self.queue.first()?;
        if at > now {
            return None;
        }
        self.disarm(slot);
        Some(slot)
    }

    /// Number of slots with a deadline.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn armed(&mut self, slot: u32) -> &mut Option<Instant> {
        let slot = slot as usize;
        if self.armed.len() <= slot {
            self.armed.resize(slot + 1, None);
        }
        &mut self.armed[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn the_earliest_comes_first_and_ties_by_slot() {
        let mut deadlines = Deadlines::default();
        for (slot, nanos) in [(3, 30), (1, 10), (0, 30), (2, 20)] {
            deadlines.arm(slot, at(nanos));
        }
        assert_eq!(deadlines.earliest(), Some(at(10)));
        let due: Vec<_> = std::iter::from_fn(|| deadlines.pop_due(at(30))).collect();
        assert_eq!(due, [1, 2, 0, 3]);
        assert_eq!(deadlines.earliest(), None);
    }

    #[test]
    fn a_deadline_moves_earlier_at_once_and_later_lazily() {
        let mut deadlines = Deadlines::default();
        deadlines.arm(7, at(20));
        deadlines.arm(7, at(90));
        assert_eq!(deadlines.earliest(), Some(at(20)), "left where it stands");
        deadlines.arm(7, at(5));
        assert_eq!((deadlines.earliest(), deadlines.len()), (Some(at(5)), 1));
        assert_eq!(deadlines.pop_due(at(4)), None);
        deadlines.disarm(7);
        assert_eq!((deadlines.pop_due(at(100)), deadlines.len()), (None, 0));
    }
}
