//! Outcome of each packet, and totals.

use core::time::Duration;

/// Outcome of a packet offered to the link.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fate {
    /// It will arrive.
    Queued,
    /// It will not arrive.
    Dropped(DropReason),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue is full.
    QueueFull,
    /// The queue has room, but [`Red`](crate::Red) signals its growth to the senders.
    EarlyDrop,
    /// Selected by the fault [`loss`](crate::Faults::loss).
    Loss,
    /// Larger than the link's [`mtu`](crate::Faults::mtu).
    TooLarge,
    /// The driver dropped it ([`Link::refuse`](crate::Link::refuse)): the flow that it belongs to
    /// has been forgotten, as by a NAT.
    FlowForgotten,
    /// [`Link::MAX_IN_FLIGHT`](crate::Link::MAX_IN_FLIGHT) packets are in flight.
    InFlightFull,
}

/// Totals since the link was created. They are never reset: for an interval, subtract the values at
/// its start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Packets accepted; each has arrived or will arrive.
    pub queued: u64,
    /// Bytes of the packets accepted.
    pub bytes: u64,
    /// Total serialization delay of the packets accepted, including those still waiting. Zero
    /// without a rate.
    pub busy: Duration,
    /// Packets dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Packets that [`Red`](crate::Red) dropped although there was room.
    pub dropped_red: u64,
    /// Packets dropped by the fault `loss`.
    pub dropped_loss: u64,
    /// Packets dropped because they were larger than the [`mtu`](crate::Faults::mtu).
    pub dropped_too_large: u64,
    /// Packets that the driver dropped because their flow had been forgotten.
    pub dropped_flow_forgotten: u64,
    /// Packets dropped because [`Link::MAX_IN_FLIGHT`](crate::Link::MAX_IN_FLIGHT) were in flight.
    pub dropped_in_flight_full: u64,
    /// Packets accepted that arrive twice.
    pub duplicated: u64,
    /// Packets accepted that arrive late.
    pub reordered: u64,
    /// Packets that have arrived, duplicates included.
    pub delivered: u64,
}

impl Counters {
    /// Packets dropped for any reason.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_red
            + self.dropped_loss
            + self.dropped_too_large
            + self.dropped_flow_forgotten
            + self.dropped_in_flight_full
    }

    /// Packets offered: accepted or dropped.
    #[must_use]
    pub const fn offered(&self) -> u64 {
        self.queued + self.dropped()
    }

    pub(crate) const fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::QueueFull => self.dropped_queue_full += 1,
            DropReason::EarlyDrop => self.dropped_red += 1,
            DropReason::Loss => self.dropped_loss += 1,
            DropReason::TooLarge => self.dropped_too_large += 1,
            DropReason::FlowForgotten => self.dropped_flow_forgotten += 1,
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
            DropReason::TooLarge,
            DropReason::FlowForgotten,
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
            dropped_too_large: 5,
            dropped_flow_forgotten: 6,
            ..Counters::default()
        };
        assert_eq!((counters, counters.dropped(), counters.offered()), (expected, 21, 121));
    }
}
