//! How many packets leave in a round trip: what Heidemann 1996 and TCP Vegas measure a rate by.
//!
//! Heidemann 1996, section 2.4: "counting packets sent in a given packet's round trip". Vegas in ns-2
//! does the same (`rttLen` between two marks), and takes the mean of that round trip's samples as its
//! time; we take the time of the marked segment, in nanoseconds, whatever clock the timers have.
//!
//! An endpoint has a count only if its policy asks for it.

use crate::{
    policy::Counted,
    units::{Instant, Nanos},
};

/// Counts the segments of one round trip after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketCount {
    /// The round trip that is being counted.
    round: Option<Round>,
    /// The last one that was counted to its end.
    last: Option<Counted>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// It ends when this position is acknowledged: the end of the marked segment.
    mark: u64,
    began: Instant,
    segments: u32,
}

impl PacketCount {
    /// A new segment that ends at `end` has left.
    pub(crate) fn on_sent(&mut self, end: u64, now: Instant) {
        let round = self.round.get_or_insert(Round { mark: end, began: now, segments: 0 });
        round.segments = round.segments.saturating_add(1);
    }

    /// Something was sent again: whose acknowledgement comes next is not known (Karn).
    pub(crate) const fn on_retransmission(&mut self) {
        self.round = None;
    }

    /// Everything before `una` is acknowledged.
    pub(crate) fn on_ack(&mut self, una: u64, now: Instant) {
        if let Some(Round { segments, began, .. }) = self.round.take_if(|round| round.mark <= una) {
            self.last = Some(Counted { segments, time: Nanos::between(began, now).into() });
        }
    }

    pub(crate) const fn counted(&self) -> Option<Counted> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_segments_of_a_round_trip_are_those_between_a_segment_and_its_acknowledgement() {
        let mut count = PacketCount::default();
        let counted = |segments, ms| Some(Counted { segments, time: Duration::from_millis(ms) });
        for (end, ms) in [(100, 0), (200, 1), (300, 2)] {
            count.on_sent(end, at(ms));
        }
        assert_eq!(count.counted(), None);
        count.on_ack(99, at(70));
        assert_eq!(count.counted(), None, "the marked segment is on its way");
        count.on_ack(200, at(80));
        assert_eq!(count.counted(), counted(3, 80));
        // The next round trip begins with the next segment, after a pause or at once.
        count.on_sent(400, at(100));
        count.on_ack(300, at(110));
        count.on_sent(500, at(110));
        count.on_ack(400, at(190));
        assert_eq!(count.counted(), counted(2, 90));
        // What was sent again is not counted.
        count.on_sent(600, at(200));
        count.on_retransmission();
        count.on_ack(600, at(300));
        assert_eq!(count.counted(), counted(2, 90));
    }
}
