//! What a connection may cost beyond its packets themselves: a thousand requests may be open, and a segment may have one
//! byte.
//!
//! Each connection has a budget of its own, which its own segments fill. So what all of them cost together is bounded by the
//! size of the capture, and no connection, and no thread, has a part in the verdicts of another.

use crate::limits::{WORK_AT_FIRST, WORK_PER_SEGMENT};

/// What is left of the budget. A unit is what takes as long as dividing a gap for one exchange, or less.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Work {
    left: usize,
    is_spent: bool,
}

impl Work {
    pub(super) const NEW: Self = Self { left: WORK_AT_FIRST, is_spent: false };

    /// A segment has this much data in the capture.
    pub(super) const fn grant(&mut self, captured: usize) {
        self.left = self.left.saturating_add(WORK_PER_SEGMENT).saturating_add(captured);
    }

    /// Whether there is enough for this; if not, there is nothing left for the rest of the connection.
    pub(super) const fn spend(&mut self, units: usize) -> bool {
        match self.left.checked_sub(units) {
            Some(left) if !self.is_spent => self.left = left,
            _ => self.is_spent = true,
        }
        !self.is_spent
    }

    /// Whether there was not enough once.
    pub(super) const fn is_spent(&self) -> bool {
        self.is_spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_fill_the_budget_and_what_is_spent_stays_spent() {
        let mut work = Work::NEW;
        assert!(work.spend(WORK_AT_FIRST));
        work.grant(100);
        assert!(work.spend(WORK_PER_SEGMENT + 100) && !work.is_spent());
        assert!(!work.spend(1) && work.is_spent());
        work.grant(1_000);
        assert!(!work.spend(1));
    }
}
