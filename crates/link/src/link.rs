//! Packets in, packets out at their time, and counts.

use alloc::collections::{BTreeMap, VecDeque};
use core::time::Duration;

use ackwise_tcp::{Instant, Octets};

use crate::{config::LinkConfig, pick::Picker, transmitter::Transmitter};

/// One direction of a link, for packets of type `T`.
///
/// The driver's contract: [`push`](Self::push) what is sent, sleep until
/// [`poll_timeout`](Self::poll_timeout), then drain [`poll`](Self::poll). `now` never goes back.
#[derive(Clone, Debug)]
pub struct Link<T> {
    transmitter: Transmitter,
    delay: Duration,
    lateness: Duration,
    loss: Picker,
    duplication: Picker,
    reordering: Picker,
    /// Under way, by arrival, which is also the order in which they came.
    in_order: VecDeque<(Instant, T)>,
    /// Under way and late, by arrival, then by number.
    late: BTreeMap<(Instant, u64), T>,
    counters: Counters,
}

impl<T> Link<T> {
    /// Packets that are under way at most, waiting ones included: the bound of a link so long or so
    /// fast that its queue bounds nothing.
    pub const MAX_UNDER_WAY: usize = 1 << 20;

    /// An empty link.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let LinkConfig { rate, delay, queue, faults, seed } = config;
        Self {
            transmitter: Transmitter::new(rate, queue),
            delay,
            lateness: faults.lateness,
            loss: Picker::new(faults.loss, seed.named("loss")),
            duplication: Picker::new(faults.duplication, seed.named("duplication")),
            reordering: Picker::new(faults.reordering, seed.named("reordering")),
            in_order: VecDeque::new(),
            late: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// When the next packet arrives; after every [`push`](Self::push) and [`poll`](Self::poll) it may
    /// have changed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let in_order = self.in_order.front().map(|(arrives, _)| *arrives);
        let late = self.late.first_key_value().map(|((arrives, _), _)| *arrives);
        in_order.into_iter().chain(late).min()
    }

    /// The next packet that has arrived by `now`. Of two that arrive at once, the one that is not
    /// late comes first.
    #[must_use]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        let arrives = self.poll_timeout().filter(|arrives| *arrives <= now)?;
        self.counters.delivered += 1;
        if let Some((_, packet)) = self.in_order.pop_front_if(|(first, _)| *first == arrives) {
            return Some(packet);
        }
        self.late.pop_first().map(|(_, packet)| packet)
    }

    /// What has happened so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Packets under way, waiting ones included.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.in_order.len() + self.late.len()
    }
}

impl<T: Clone> Link<T> {
    /// Offers a packet of `size` octets, link headers included, to the link.
    pub fn push(&mut self, packet: T, size: Octets, now: Instant) -> Verdict {
        // Each fault throws its dice for every packet: what happens to one does not shift the others.
        let lost = self.loss.next();
        let twice = self.duplication.next();
        let late = self.reordering.next();
        if lost {
            return self.drop_packet(DropReason::Loss);
        }
        // A duplicate needs a second place.
        if self.under_way() + 2 > Self::MAX_UNDER_WAY {
            return self.drop_packet(DropReason::UnderWayFull);
        }
        let Some(departs) = self.transmitter.offer(size, now) else {
            return self.drop_packet(DropReason::QueueFull);
        };
        let arrives = departs + self.delay;
        self.counters.queued += 1;
        self.counters.octets += size.0;
        if twice {
            self.counters.duplicated += 1;
            self.in_order.push_back((arrives, packet.clone()));
        }
        if late {
            self.counters.reordered += 1;
            self.late.insert((arrives + self.lateness, self.counters.queued), packet);
        } else {
            self.in_order.push_back((arrives, packet));
        }
        Verdict::Queued
    }

    const fn drop_packet(&mut self, reason: DropReason) -> Verdict {
        match reason {
            DropReason::QueueFull => self.counters.dropped_queue_full += 1,
            DropReason::Loss => self.counters.dropped_loss += 1,
            DropReason::UnderWayFull => self.counters.dropped_under_way_full += 1,
        }
        Verdict::Dropped(reason)
    }
}

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
    /// The fault [`loss`](crate::Faults::loss) hit it.
    Loss,
    /// [`Link::MAX_UNDER_WAY`] packets are under way.
    UnderWayFull,
}

/// What has happened on a link.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Packets taken; each will arrive, or has.
    pub queued: u64,
    /// Octets of the packets taken.
    pub octets: u64,
    /// Packets that found the queue full.
    pub dropped_queue_full: u64,
    /// Packets hit by the fault loss.
    pub dropped_loss: u64,
    /// Packets that found [`Link::MAX_UNDER_WAY`] of them under way.
    pub dropped_under_way_full: u64,
    /// Packets taken that arrive twice.
    pub duplicated: u64,
    /// Packets taken that arrive late.
    pub reordered: u64,
    /// Packets that have arrived, duplicates included.
    pub delivered: u64,
}

#[cfg(test)]
mod tests;
