//! The client's segments that Nagle's algorithm held: a request may begin with one.

use std::time::Duration;

use ackwise_tcp::Wait;

use crate::{
    attribution::{Confidence, Nanos, gap::Gap},
    held_requests::HeldRequests,
};

/// A segment of the client that a delayed ACK released, and what may begin with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldSegment {
    start: u64,
    held: HeldRequests,
}

impl HeldSegment {
    /// The segment from `start` on, which ends `gap`, if it was held so.
    pub(super) fn of(gap: &Gap, start: u64) -> Option<Self> {
        let by_nagle = gap.hold.wait == Wait::Nagle;
        // As a verdict of low confidence, this would be a guess.
        let is_shown = by_nagle && gap.hold.confidence > Confidence::Low && gap.before.is_none();
        gap.ack_delay().filter(|_| is_shown)?;
        let time: Duration = Nanos::between(gap.arrived, gap.until).into();
        let (evidence, confidence) = (gap.evidence, gap.hold.confidence);
        let held = HeldRequests { evidence, ..HeldRequests::once(time, confidence) };
        Some(Self { start, held })
    }

    /// What it shows if a request begins at `position`.
    pub(super) fn request_at(self, position: u64) -> Option<HeldRequests> {
        (self.start == position).then_some(self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::gap::tests::{HELD, at};

    /// Why it is not shown, and how that gap is another.
    type Other = (&'static str, fn(&mut Gap));

    #[test]
    fn a_request_was_held_if_nagle_and_a_delayed_acknowledgement_are_shown_to_hold_it() {
        let with = |change: fn(&mut Gap)| {
            let mut gap = HELD;
            change(&mut gap);
            HeldSegment::of(&gap, 100)
        };
        let held = with(|_| {}).unwrap();
        assert_eq!(held.request_at(100).unwrap().total, Duration::from_millis(50));
        assert!(held.request_at(101).is_none());
        let others: [Other; 4] = [
            ("its program", |it| it.hold.wait = Wait::Application),
            ("a guess", |it| it.hold.confidence = Confidence::Low),
            ("something else first", |it| it.before = Some((at(40), it.hold))),
            ("no delayed ACK", |it| it.delayed_until = None),
        ];
        for (why, change) in others {
            assert!(with(change).is_none(), "{why}");
        }
    }
}
