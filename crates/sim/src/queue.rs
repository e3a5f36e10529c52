//! The event queue: a radix heap, made for a clock that never goes back.
//!
//! An event lies in the bucket of the highest bit in which its time differs from the last time taken.
//! When the clock reaches a bucket, its events move to lower ones; an event moves at most 64 times, in
//! practice a few, and always through memory in order. (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
//! algorithms for the shortest path problem", 1990.)
//!
//! Events of one time come out in the order in which they went in, without a number to say so: a
//! bucket is in order of insertion, and emptying one keeps that order.

use ackwise_tcp::Instant;

/// Events of type `T` by time, first in first out among those of one time.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    /// The last time taken; nothing in the queue is earlier.
    now: u64,
    /// Events at `now`, from `taken` on.
    current: Vec<T>,
    taken: usize,
    /// Bucket b holds times that differ from `now` in bit b and in no higher one.
    buckets: [Vec<(u64, T)>; BUCKETS],
    /// Bit b says that bucket b is not empty.
    filled: u64,
}

const BUCKETS: usize = 64;

impl<T: Copy> Queue<T> {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            now: now.as_nanos(),
            current: Vec::new(),
            taken: 0,
            buckets: [const { Vec::new() }; BUCKETS],
            filled: 0,
        }
    }

    /// # Panics
    ///
    /// If `at` is before the last time taken: an event in the past is our bug.
    pub(crate) fn push(&mut self, at: Instant, event: T) {
        let at = at.as_nanos();
        assert!(at >= self.now, "an event at {at} ns, when {} ns is past", self.now);
        match (at ^ self.now).checked_ilog2() {
            None => self.current.push(event),
            Some(bit) => {
                self.buckets[bit as usize].push((at, event));
                self.filled |= 1 << bit;
            }
        }
    }

    /// The next event, unless it comes after `limit`.
    pub(crate) fn pop(&mut self, limit: Instant) -> Option<(Instant, T)> {
        if self.taken == self.current.len() && !self.advance(limit.as_nanos()) {
            return None;
        }
        let event = self.current[self.taken];
        self.taken += 1;
        Some((Instant::from_nanos(self.now), event))
    }

    /// Empties the lowest bucket into those below it; false if nothing comes until `limit`.
    fn advance(&mut self, limit: u64) -> bool {
        if self.filled == 0 {
            return false;
        }
        let bit = self.filled.trailing_zeros() as usize;
        let bucket = &self.buckets[bit];
        let next = bucket.iter().map(|(at, _)| *at).min().expect("a filled bucket is not empty");
        if next > limit {
            return false;
        }
        self.now = next;
        self.current.clear();
        self.taken = 0;
        self.filled &= !(1 << bit);
        let (below, from) = self.buckets.split_at_mut(bit);
        for (at, event) in from[0].drain(..) {
            match (at ^ next).checked_ilog2() {
                None => self.current.push(event),
                Some(bit) => {
                    below[bit as usize].push((at, event));
                    self.filled |= 1 << bit;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue<u32>, limit: u64) -> Vec<(u64, u32)> {
        core::iter::from_fn(|| queue.pop(Instant::from_nanos(limit)))
            .map(|(at, event)| (at.as_nanos(), event))
            .collect()
    }

    #[test]
    fn events_of_one_time_come_in_the_order_in_which_they_went() {
        let mut queue = Queue::new(Instant::EPOCH);
        for (at, event) in [(5, 1), (3, 2), (5, 3), (0, 4), (1 << 40, 5), (5, 6), (3, 7)] {
            queue.push(Instant::from_nanos(at), event);
        }
        assert_eq!(drain(&mut queue, 4), [(0, 4), (3, 2), (3, 7)]);
        queue.push(Instant::from_nanos(5), 8);
        queue.push(Instant::from_nanos(4), 9);
        assert_eq!(
            drain(&mut queue, 1 << 41),
            [(4, 9), (5, 1), (5, 3), (5, 6), (5, 8), (1 << 40, 5)]
        );
        assert_eq!(drain(&mut queue, u64::MAX), []);
    }

    #[test]
    fn it_agrees_with_a_sorted_list() {
        // A linear congruential walk: pushes at random distances, pops in between.
        let (mut queue, mut model) = (Queue::new(Instant::EPOCH), Vec::new());
        let (mut state, mut now) = (42_u64, 0);
        for number in 0..20_000_u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = now + (state >> 33 >> (state >> 60));
            queue.push(Instant::from_nanos(at), number);
            model.push((at, number));
            if state & 64 != 0 {
                model.sort_unstable();
                let popped =
                    queue.pop(Instant::FAR_FUTURE).map(|(at, event)| (at.as_nanos(), event));
                assert_eq!(popped, Some(model.remove(0)));
                now = popped.expect("there is one").0;
            }
        }
        model.sort_unstable();
        assert_eq!(drain(&mut queue, u64::MAX), model);
    }
}
