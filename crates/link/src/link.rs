//! A link: accepts packets, delivers them at their arrival time, counts.

use alloc::{boxed::Box, collections::VecDeque};
use core::time::Duration;

use ackwise_tcp::{ByteCount, Instant};

use crate::{
    config::{LinkConfig, Outage},
    fate::{Counters, DropReason, Fate},
    faulty::Faulty,
    transmitter::Transmitter,
};

/// One direction of a link, for packets of type `T`.
///
/// The driver must [`push`](Self::push) sent packets, sleep until
/// [`poll_timeout`](Self::poll_timeout), then drain [`poll`](Self::poll). `now` must not decrease.
#[derive(Clone, Debug)]
pub struct Link<T> {
    transmitter: Transmitter,
    /// Propagation delay. Not a `Duration`, which would need a multiplication for each packet.
    delay_nanos: u64,
    /// Packets in flight by arrival, which is also the order in which they were pushed.
    in_order: VecDeque<(Instant, T)>,
    /// Injected faults, if any.
    faulty: Option<Box<Faulty<T>>>,
    /// Counts that are not kept elsewhere: see [`counters`](Self::counters).
    counters: Counters,
}

impl<T> Link<T> {
    /// Maximum number of packets in flight, queued ones included (our choice). Bounds links so long
    /// or so fast that their queue does not.
    pub const MAX_IN_FLIGHT: usize = 1 << 20;

    /// After how many packets the memory is made smaller if few are in flight (our choice: seldom enough
    /// to cost nothing).
    const SHRINK_EVERY: u64 = 1 << 10;

    /// An empty link.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let LinkConfig { rate, rate_change, delay, queue, faults, seed } = config;
        Self {
            transmitter: Transmitter::new(rate, queue, seed.named("red"))
                .with_outage(faults.outage)
                .with_rate_change(rate_change),
            delay_nanos: u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX),
            in_order: VecDeque::new(),
            faulty: Faulty::new(faults, seed).map(Box::new),
            counters: Counters::default(),
        }
    }

    /// Arrival of the next packet. May change after every [`push`](Self::push) and
    /// [`poll`](Self::poll).
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let in_order = self.in_order.front().map(|(arrives, _)| *arrives);
        match self.next_late() {
            Some(late) => Some(in_order.map_or(late, |in_order| in_order.min(late))),
            None => in_order,
        }
    }

    /// The next packet that has arrived by `now`. Of two that arrive at the same time, the one that
    /// is not late comes first.
    #[must_use]
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        let late = self.next_late().filter(|late| *late <= now);
        let until = late.unwrap_or(now);
        if let Some((_, packet)) = self.in_order.pop_front_if(|(arrives, _)| *arrives <= until) {
            return Some(packet);
        }
        late?;
        self.faulty.as_mut().and_then(|faulty| faulty.pop_late())
    }

    /// Whether the link has faults other than an outage: packets may then be late or come twice.
    #[must_use]
    #[inline]
    pub const fn is_faulty(&self) -> bool {
        self.faulty.is_some()
    }

    /// The first packet in order, and when it arrives: on a link without faults, the next one.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<&(Instant, T)> {
        self.in_order.front()
    }

    /// Takes the [`first`](Self::first) packet, which has arrived.
    #[inline]
    pub fn take_first(&mut self) -> Option<T> {
        self.in_order.pop_front().map(|(_, packet)| packet)
    }

    #[inline]
    fn next_late(&self) -> Option<Instant> {
        self.faulty.as_ref().and_then(|faulty| faulty.next_late())
    }

    /// The counters so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let taken = self.counters.queued + self.counters.duplicated;
        Counters {
            busy: self.transmitter.busy(),
            delivered: taken - self.in_flight() as u64,
            ..self.counters
        }
    }

    /// The most packets that were in the queue at once, the one being sent included, since the link
    /// was created or [`forget_most_queued`](Self::forget_most_queued) was called. Only times at which a
    /// packet was accepted count.
    #[must_use]
    pub const fn most_queued(&self) -> usize {
        self.transmitter.most()
    }

    /// Begins [`most_queued`](Self::most_queued) anew, with the next packet.
    pub const fn forget_most_queued(&mut self) {
        self.transmitter.forget_most();
    }

    /// When the last bit of the packets accepted so far will have left.
    #[must_use]
    pub const fn busy_until(&self) -> Instant {
        self.transmitter.free_at()
    }

    /// Time that a packet of `size` bytes takes on the link.
    #[must_use]
    pub fn serialization_delay(&self, size: ByteCount) -> Duration {
        self.transmitter.serialization_delay(size)
    }

    /// The time in which nothing leaves, if there is one.
    #[must_use]
    pub const fn outage(&self) -> Option<Outage> {
        self.transmitter.outage()
    }

    /// Packets in flight, queued ones included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_order.len() + self.faulty.as_ref().map_or(0, |faulty| faulty.late())
    }

    /// Accepts and counts a packet of `size` bytes. Returns its in-order arrival.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `push`")]
    fn take(&mut self, size: ByteCount, now: Instant) -> Result<Instant, DropReason> {
        // A duplicate needs a second slot.
        if self.in_flight() + 2 > Self::MAX_IN_FLIGHT {
            return Err(DropReason::InFlightFull);
        }
        let departs = self.transmitter.offer(size, now)?;
        self.counters.queued += 1;
        if self.counters.queued.is_multiple_of(Self::SHRINK_EVERY) {
            self.shrink();
        }
        self.counters.bytes = self.counters.bytes.saturating_add(size.0);
        Ok(Instant::from_nanos(departs.as_nanos().saturating_add(self.delay_nanos)))
    }

    /// A ring that was full once would be walked through for ever, from one cache line to the next.
    #[cold]
    fn shrink(&mut self) {
        if self.in_order.capacity() / 4 > self.in_order.len() {
            self.in_order.shrink_to(2 * self.in_order.len());
        }
    }

    /// Counts a packet that the driver drops at the entrance of the link.
    pub fn refuse(&mut self, reason: DropReason) -> Fate {
        self.drop_packet(reason)
    }

    #[cold]
    fn drop_packet(&mut self, reason: DropReason) -> Fate {
        self.counters.count_drop(reason);
        Fate::Dropped(reason)
    }
}

impl<T: Clone> Link<T> {
    /// Offers a packet of `size` bytes, link headers included, to the link.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a simulator calls it for each hop; the call took 25 of 954 instructions"
    )]
    pub fn push(&mut self, packet: T, size: ByteCount, now: Instant) -> Fate {
        if self.faulty.is_some() {
            return self.push_at_risk(packet, size, now);
        }
        match self.take(size, now) {
            Ok(arrives) => {
                self.in_order.push_back((arrives, packet));
                Fate::Queued
            }
            Err(reason) => self.drop_packet(reason),
        }
    }

    #[inline(never)]
    fn push_at_risk(&mut self, packet: T, size: ByteCount, now: Instant) -> Fate {
        let fate = self.faulty.as_mut().map(|faulty| faulty.next(size));
        if fate.is_some_and(|fate| fate.too_large) {
            return self.drop_packet(DropReason::TooLarge);
        }
        if fate.is_some_and(|fate| fate.lost) {
            return self.drop_packet(DropReason::Loss);
        }
        let arrives = match self.take(size, now) {
            Ok(arrives) => arrives,
            Err(reason) => return self.drop_packet(reason),
        };
        if fate.is_some_and(|fate| fate.twice) {
            self.counters.duplicated += 1;
            self.in_order.push_back((arrives, packet.clone()));
        }
        match &mut self.faulty {
            Some(faulty) if fate.is_some_and(|fate| fate.late) => {
                self.counters.reordered += 1;
                faulty.delay(packet, self.counters.queued, arrives);
            }
            _ => self.in_order.push_back((arrives, packet)),
        }
        Fate::Queued
    }
}

#[cfg(test)]
mod tests;
