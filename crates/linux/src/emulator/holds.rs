//! Times at which a link delivers nothing.

use ackwise_tcp::Instant;

use super::Hold;
use crate::clock::Clock;

/// Holds in the link's time.
#[derive(Clone, Debug)]
pub(super) struct Holds(Vec<(Instant, Instant)>);

impl Holds {
    pub(super) fn new(holds: &[Hold], clock: Clock) -> Self {
        let start = clock.now();
        Self(holds.iter().map(|hold| (start + hold.from, start + hold.until)).collect())
    }

    /// When a packet that is due at `due` can be delivered.
    pub(super) fn released(&self, due: Instant) -> Instant {
        let later = self.0.partition_point(|(from, _)| *from <= due);
        let before = later.checked_sub(1).map(|index| self.0[index].1);
        before.map_or(due, |until| until.max(due))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_due_within_a_hold_is_released_at_its_end() {
        let at = |ms| Instant::EPOCH + Duration::from_millis(ms);
        let holds = Holds(vec![(at(10), at(20)), (at(30), at(31))]);
        for (due, released) in [(9, 9), (10, 20), (19, 20), (20, 20), (25, 25), (30, 31), (40, 40)]
        {
            assert_eq!(holds.released(at(due)), at(released), "{due} ms");
        }
    }
}
