//! One packet at a time at a rate; the others wait or are dropped.
//!
//! It holds no packets. First come, first served means that a packet's departure is known when it
//! arrives, so only sizes and departures are kept, for as long as they fill the queue.

use alloc::collections::VecDeque;

use ackwise_tcp::{Instant, Octets};

use crate::{
    config::{Limit, Queue},
    rate::Rate,
};

#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    rate: Option<Rate>,
    queue: Queue,
    /// What has not left wholly: when it will have, and its size.
    waiting: VecDeque<(Instant, Octets)>,
    waiting_octets: u64,
    free_at: Instant,
}

impl Transmitter {
    pub(crate) const fn new(rate: Option<Rate>, queue: Queue) -> Self {
        Self { rate, queue, waiting: VecDeque::new(), waiting_octets: 0, free_at: Instant::EPOCH }
    }

    /// When the last bit of a packet that comes at `now` will have left, or `None`: there is no room.
    pub(crate) fn offer(&mut self, size: Octets, now: Instant) -> Option<Instant> {
        self.forget_departed(now);
        if !self.has_room(size) {
            return None;
        }
        let begins = now.max(self.free_at);
        let departs = self.rate.map_or(begins, |rate| begins + rate.serialization_delay(size));
        self.free_at = departs;
        if departs > now {
            self.waiting.push_back((departs, size));
            self.waiting_octets += size.0;
        }
        Some(departs)
    }

    fn has_room(&self, size: Octets) -> bool {
        match self.queue {
            Queue::DropTail(Limit::Packets(limit)) => {
                self.waiting.len() < usize::try_from(limit.get()).unwrap_or(usize::MAX)
            }
            Queue::DropTail(Limit::Octets(limit)) => {
                self.waiting_octets.checked_add(size.0).is_some_and(|octets| octets <= limit.0)
            }
        }
    }

    fn forget_departed(&mut self, now: Instant) {
        while let Some((_, size)) = self.waiting.pop_front_if(|(departs, _)| *departs <= now) {
            self.waiting_octets -= size.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// 8 Mb/s: an octet takes a microsecond.
    fn transmitter(queue: Queue) -> Transmitter {
        Transmitter::new(Rate::bits_per_second(8_000_000), queue)
    }

    /// Rows of (comes, size, departs), in microseconds and octets.
    fn walk(mut transmitter: Transmitter, rows: &[(u64, u64, Option<u64>)]) {
        for &(comes, size, departs) in rows {
            let result = transmitter.offer(Octets(size), us(comes));
            assert_eq!(result, departs.map(us), "{size} octets at {comes} us");
        }
    }

    #[test]
    fn packets_wait_for_one_another_and_a_full_queue_refuses() {
        #[rustfmt::skip]
        walk(transmitter(Queue::packets(2).unwrap()), &[
            (    0, 1_000, Some(1_000)),
            (    0,   500, Some(1_500)),
            (    0,     1, None),
            (  999,     1, None),          // the first is not wholly sent
            (1_000,   100, Some(1_600)),
            (9_000,   100, Some(9_100)),
        ]);
    }

    #[test]
    fn octets_fill_the_queue_to_the_last() {
        #[rustfmt::skip]
        walk(transmitter(Queue::octets(1_500)), &[
            (    0, 1_501, None),
            (    0, 1_000, Some(1_000)),
            (    0,   501, None),
            (    0,   500, Some(1_500)),
            (    0,     1, None),
            (1_000, 1_000, Some(2_500)),
            (1_000, u64::MAX, None),
        ]);
    }

    #[test]
    fn at_infinite_rate_nothing_waits() {
        #[rustfmt::skip]
        walk(Transmitter::new(None, Queue::packets(1).unwrap()), &[
            (5, 1_000_000, Some(5)),
            (5, 1_000_000, Some(5)),
            (6,         1, Some(6)),
        ]);
    }
}
