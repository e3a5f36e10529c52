//! What becomes of packets, one by one and in all.

use core::time::Duration;

/// What becomes of a packet that is offered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// It will arrive.
    Queued,
    /// It will not.
    Dropped(DropReason),
}

/// Why a packet will not arrive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue has no room.
    QueueFull,
    /// The queue has room, but [`Red`](crate::Red) tells the senders that it grows.
    EarlyDrop,
    /// The fault [`loss`](crate::Faults::loss) hit it.
    Loss,
    /// [`Link::MAX_IN_FLIGHT`](crate::Link::MAX_IN_FLIGHT) packets are in flight.
    InFlightFull,
}

/// What has happened on a link since it was made. They are never reset: for an interval,
/// subtract what they were at its beginning.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Packets taken; each will arrive, or has.
    pub queued: u64,
    /// Bytes of the packets taken.
    pub bytes: u64,
    /// How long the packets taken keep the link sending: the sum of their serialization delays, of
    /// those that still wait too. Without a rate there is none.
    pub busy: Duration,
    /// Packets that found the queue full.
    pub dropped_queue_full: u64,
    /// Packets that [`Red`](crate::Red) dropped although there was room.
    pub dropped_red: u64,
    /// Packets hit by the fault loss.
    pub dropped_loss: u64,
    /// Packets that found [`Link::MAX_IN_FLIGHT`](crate::Link::MAX_IN_FLIGHT) of them in flight.
    pub dropped_in_flight_full: u64,
    /// Packets taken that arrive twice.
    pub duplicated: u64,
    /// Packets taken that arrive late.
    pub reordered: u64,
    /// Packets that have arrived, duplicates included.
    pub delivered: u64,
}

impl Counters {
    /// Packets dropped, for whatever reason.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue_full + self.dropped_red + self.dropped_loss + self.dropped_in_flight_full
    }

    /// Packets offered: taken or dropped.
    #[must_use]
    pub const fn offered(&self) -> u64 {
        self.queued + self.dropped()
    }

    pub(crate) const fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::QueueFull => self.dropped_queue_full += 1,
            DropReason::EarlyDrop => self.dropped_red += 1,
            DropReason::Loss => self.dropped_loss += 1,
            DropReason::InFlightFull => self.dropped_in_flight_full += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_to_drop_is_counted_apart_and_in_all() {
        let mut counters = Counters { queued: 100, ..Counters::default() };
        let reasons = [
            DropReason::QueueFull,
            DropReason::EarlyDrop,
            DropReason::Loss,
            DropReason::InFlightFull,
        ];
        for (times, reason) in (1..).zip(reasons) {
            for _ in 0..times {
                counters.count_drop(reason);
            }
        }
        let expected = Counters {
            queued: 100,
            dropped_queue_full: 1,
            dropped_red: 2,
            dropped_loss: 3,
            dropped_in_flight_full: 4,
            ..Counters::default()
        };
        assert_eq!((counters, counters.dropped(), counters.offered()), (expected, 10, 110));
    }
}
