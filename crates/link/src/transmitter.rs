//! Sends one packet at a time at a rate; the others wait or are dropped.
//!
//! Packets are not stored. FIFO order determines a packet's departure when it arrives, so only the
//! departures of queued packets are kept.

use alloc::{boxed::Box, collections::VecDeque};
use core::time::Duration;

use ackwise_tcp::{ByteCount, Instant};

use crate::{
    config::{Limit, Outage, Queue, RateChange},
    fate::DropReason,
    rate::{Pace, Rate},
    red::EarlyDetection,
    seed::Seed,
};

#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    pace: Pace,
    discipline: Discipline,
    outage: Option<Outage>,
    /// While it is still to come.
    change: Option<RateChange>,
    /// When the last accepted packet will have left completely.
    free_at: Instant,
    /// Departures of the packets before it that have not left; empty while no packet waits.
    before: VecDeque<Instant>,
    busy_nanos: u64,
    /// The most packets at once, the one that is sent included.
    most: usize,
}

/// A [`Queue`] with its state.
#[derive(Clone, Debug)]
enum Discipline {
    Packets(usize),
    Bytes(Box<WaitingBytes>),
    Red(Box<EarlyDetection>),
}

#[derive(Clone, Debug)]
struct WaitingBytes {
    limit: u64,
    total: u64,
    /// Sizes of the waiting packets, the last one included.
    sizes: VecDeque<u64>,
}

impl Transmitter {
    /// `seed` is for the queue's random decisions.
    pub(crate) fn new(rate: Option<Rate>, queue: Queue, seed: Seed) -> Self {
        let discipline = match queue {
            Queue::DropTail(Limit::Packets(limit)) => {
                Discipline::Packets(usize::try_from(limit.get()).unwrap_or(usize::MAX))
            }
            Queue::DropTail(Limit::Bytes(limit)) => Discipline::Bytes(Box::new(WaitingBytes {
                limit: limit.0,
                total: 0,
                sizes: VecDeque::new(),
            })),
            Queue::Red(red) => Discipline::Red(Box::new(EarlyDetection::new(red, rate, seed))),
        };
        Self {
            pace: Pace::new(rate),
            discipline,
            outage: None,
            change: None,
            free_at: Instant::EPOCH,
            before: VecDeque::new(),
            busy_nanos: 0,
            most: 0,
        }
    }

    /// The same, with a time in which it sends nothing.
    pub(crate) fn with_outage(self, outage: Option<Outage>) -> Self {
        Self { outage, ..self }
    }

    /// The same, with a rate that becomes another one.
    pub(crate) fn with_rate_change(self, change: Option<RateChange>) -> Self {
        Self { change, ..self }
    }

    pub(crate) const fn outage(&self) -> Option<Outage> {
        self.outage
    }

    pub(crate) fn serialization_delay(&self, size: ByteCount) -> Duration {
        self.pace.rate().map_or(Duration::ZERO, |rate| rate.serialization_delay(size))
    }

    /// When the last bit of the packets accepted so far will have left.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When the last bit of a packet that arrives at `now` will have left, or why it is dropped.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `Link::push`")]
    pub(crate) fn offer(&mut self, size: ByteCount, now: Instant) -> Result<Instant, DropReason> {
        let waiting = if self.free_at <= now { self.none_waits() } else { self.waiting(now) };
        self.admit(waiting, size, now)?;
        self.most = self.most.max(waiting + 1);
        if let Some(RateChange { at, rate }) = self.change
            && at <= now
        {
            (self.pace, self.change) = (Pace::new(Some(rate)), None);
        }
        let sending = self.pace.serialization_nanos(size);
        self.busy_nanos = self.busy_nanos.saturating_add(sending);
        let begins = now.max(self.free_at);
        if waiting > 0 {
            self.before.push_back(self.free_at);
        }
        self.free_at = Instant::from_nanos(begins.as_nanos().saturating_add(sending));
        if let Some(outage) = self.outage {
            self.wait_for(outage, begins, sending);
        }
        Ok(self.free_at)
    }

    /// The last packet, which would have left from `begins` on, waits for the end of an outage.
    #[cold]
    fn wait_for(&mut self, outage: Outage, begins: Instant, sending: u64) {
        let resumed = outage.resume(begins);
        self.free_at = Instant::from_nanos(resumed.as_nanos().saturating_add(sending));
        if outage.interrupts(resumed, self.free_at) {
            self.free_at = self.free_at + outage.lasts;
        }
    }

    /// Total serialization delay of the accepted packets.
    pub(crate) const fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_nanos)
    }

    /// The most packets at once, the one that is sent included, since that was last forgotten.
    pub(crate) const fn most(&self) -> usize {
        self.most
    }

    pub(crate) const fn forget_most(&mut self) {
        self.most = 0;
    }

    #[inline]
    fn admit(&mut self, waiting: usize, size: ByteCount, now: Instant) -> Result<(), DropReason> {
        let has_room = match &mut self.discipline {
            Discipline::Packets(limit) => waiting < *limit,
            Discipline::Bytes(bytes) => bytes.take(size),
            Discipline::Red(red) => return red.admit(waiting, self.free_at, now),
        };
        if has_room { Ok(()) } else { Err(DropReason::QueueFull) }
    }

    /// Clears the state: all packets have left.
    #[inline]
    fn none_waits(&mut self) -> usize {
        self.before.clear();
        if let Discipline::Bytes(bytes) = &mut self.discipline {
            bytes.clear();
        }
        0
    }

    /// Number of packets that have not left completely by `now`, if the last one has not.
    #[inline]
    fn waiting(&mut self, now: Instant) -> usize {
        while self.before.pop_front_if(|departs| *departs <= now).is_some() {
            if let Discipline::Bytes(bytes) = &mut self.discipline {
                bytes.pop();
            }
        }
        self.before.len() + 1
    }
}

impl WaitingBytes {
    /// Whether there is room for a packet; if so, it is taken.
    fn take(&mut self, size: ByteCount) -> bool {
        let has_room = self.total.checked_add(size.0).is_some_and(|bytes| bytes <= self.limit);
        if has_room {
            self.total += size.0;
            self.sizes.push_back(size.0);
        }
        has_room
    }

    fn pop(&mut self) {
        self.total -= self.sizes.pop_front().unwrap_or(0);
    }

    fn clear(&mut self) {
        self.total = 0;
        self.sizes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// 8 Mb/s: a byte takes a microsecond.
    fn transmitter(queue: Queue) -> Transmitter {
        Transmitter::new(Rate::bits_per_second(8_000_000), queue, Seed(1))
    }

    /// Checks rows of (arrival, size, departure), in microseconds and bytes.
    fn walk(mut transmitter: Transmitter, rows: &[(u64, u64, Option<u64>)]) {
        for &(comes, size, departs) in rows {
            let result = transmitter.offer(ByteCount(size), us(comes)).ok();
            assert_eq!(result, departs.map(us), "{size} bytes at {comes} us");
        }
    }

    #[test]
    fn packets_wait_for_one_another_and_a_full_queue_refuses() {
        #[rustfmt::skip]
        walk(transmitter(Queue::packets(2).unwrap()), &[
            (    0, 1_000, Some(1_000)),
            (    0,   500, Some(1_500)),
            (    0,     1, None),
            (  999,     1, None),          // the first is not completely sent
            (1_000,   100, Some(1_600)),
            (9_000,   100, Some(9_100)),
        ]);
    }

    #[test]
    fn bytes_fill_the_queue_to_the_last() {
        #[rustfmt::skip]
        walk(transmitter(Queue::bytes(1_500)), &[
            (    0, 1_501, None),
            (    0, 1_000, Some(1_000)),
            (    0,   501, None),
            (    0,   500, Some(1_500)),
            (    0,     1, None),
            (1_000, 1_000, Some(2_500)),
            (1_000,     1, None),          // one of 500 waits beside it
            (1_000, u64::MAX, None),
            (5_000, 1_500, Some(6_500)),   // all have left
        ]);
    }

    #[test]
    fn in_an_outage_nothing_leaves_and_what_waits_takes_room() {
        let outage = Some(Outage { from: us(2_500), lasts: Duration::from_micros(5_000) });
        #[rustfmt::skip]
        walk(transmitter(Queue::packets(2).unwrap()).with_outage(outage), &[
            (    0, 1_000, Some(1_000)),
            (2_000, 1_000, Some(8_000)),   // half of it has left when the outage begins
            (3_000,   100, Some(8_100)),
            (7_000,   100, None),
            (8_050,   100, Some(8_200)),
        ]);
        let (from, queue) = (us(1_000), Queue::packets(9).unwrap());
        let outage = Some(Outage { from, lasts: Duration::from_micros(500) });
        walk(
            Transmitter::new(None, queue, Seed(1)).with_outage(outage),
            &[(999, 9, Some(999)), (1_000, 9, Some(1_500)), (1_499, 9, Some(1_500))],
        );
    }

    #[test]
    fn what_arrives_after_a_change_leaves_at_the_new_rate() {
        let half = Rate::bits_per_second(4_000_000).unwrap();
        let change = Some(RateChange { at: us(1_000), rate: half });
        #[rustfmt::skip]
        walk(transmitter(Queue::packets(9).unwrap()).with_rate_change(change), &[
            (    0,   500, Some(500)),
            (  999, 1_000, Some(1_999)),
            (1_000, 1_000, Some(3_999)),
            (9_000,   100, Some(9_200)),
        ]);
    }

    #[test]
    fn at_infinite_rate_nothing_waits() {
        #[rustfmt::skip]
        walk(Transmitter::new(None, Queue::packets(1).unwrap(), Seed(1)), &[
            (5, 1_000_000, Some(5)),
            (5, 1_000_000, Some(5)),
            (6,         1, Some(6)),
        ]);
    }
}
