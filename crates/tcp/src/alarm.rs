//! A timer as data: a point in time, or off.

use crate::units::Instant;

/// Off, or due at a point in time. Eight bytes, where `Option<Instant>` takes sixteen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Alarm(Instant);

impl Alarm {
    pub(crate) const OFF: Self = Self(Instant::FAR_FUTURE);

    pub(crate) const fn at(due: Instant) -> Self {
        Self(due)
    }

    pub(crate) fn is_on(self) -> bool {
        self != Self::OFF
    }

    pub(crate) fn is_due(self, now: Instant) -> bool {
        self.is_on() && self.0 <= now
    }

    pub(crate) fn is_before(self, other: Self) -> bool {
        self.0 < other.0
    }

    pub(crate) fn due(self) -> Option<Instant> {
        self.is_on().then_some(self.0)
    }

    /// Turns it off; whether it was due.
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        let due = self.is_due(now);
        if due {
            *self = Self::OFF;
        }
        due
    }

    /// Brings it forward to `due` if it is off or later.
    pub(crate) fn not_later_than(&mut self, due: Self) {
        self.0 = self.0.min(due.0);
    }
}
