//! The event queue: a hierarchy of wheels, made for a clock that never goes back.
//!
//! Times are read as digits of six bits. An event lies on the wheel of the highest digit in which its
//! time differs from the clock's, in the slot of its own digit there. When the clock reaches a slot,
//! its events move to lower wheels: at most ten times, in practice two or three, and without copying,
//! because a slot is a list of places in one table. (Varghese and Lauck, "Hashed and hierarchical
//! timing wheels", 1987; with the lowest wheel turning in nanoseconds, it is exact.)
//!
//! Events of one time come out in the order in which they went in, without a number to say so: a slot
//! is in order of insertion, and emptying one keeps that order.

use ackwise_tcp::Instant;

/// Events of type `T` by time, first in first out among those of one time.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    /// The last time taken; nothing in the queue is earlier.
    now: u64,
    /// The slots of all wheels, wheel by wheel.
    slots: [Slot; WHEELS * SLOTS],
    /// By wheel: bit s says that slot s is not empty.
    filled_slots: [u64; WHEELS],
    /// Bit w says that wheel w is not empty. (As wide as a register: half of one is written and read
    /// with different widths, for which a processor waits.)
    filled: u32,
    nodes: Vec<Node<T>>,
    /// The first of the nodes that are not in use.
    free: u32,
}

/// An event in a slot's list, or a node that is not in use.
#[derive(Clone, Copy, Debug)]
struct Node<T> {
    at: u64,
    event: T,
    next: u32,
}

/// The first and the last node of a list; what they are in an empty one does not matter.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const WHEELS: usize = u64::BITS.div_ceil(DIGIT) as usize;
const NONE: u32 = u32::MAX;

impl<T: Copy> Queue<T> {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            now: now.as_nanos(),
            slots: [Slot { first: NONE, last: NONE }; WHEELS * SLOTS],
            filled_slots: [0; WHEELS],
            filled: 0,
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// # Panics
    ///
    /// If `at` is before the last time taken: an event in the past is our bug.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: T) {
        if at.as_nanos() < self.now {
            self.is_past(at);
        }
        let place = self.free;
        let Some(unused) = self.nodes.get_mut(place as usize) else {
            return self.push_into_a_new_node(at, event);
        };
        self.free = unused.next;
        *unused = Node { at: at.as_nanos(), event, next: NONE };
        self.link(place, at.as_nanos());
    }

    #[cold]
    fn is_past(&self, at: Instant) -> ! {
        panic!("an event at {} ns, when {} ns is past", at.as_nanos(), self.now);
    }

    #[cold]
    fn push_into_a_new_node(&mut self, at: Instant, event: T) {
        self.free = u32::try_from(self.nodes.len()).expect("events number fewer than 2^32");
        self.nodes.push(Node { at: at.as_nanos(), event, next: NONE });
        self.push(at, event);
    }

    /// Appends a node, which has no next one, to the slot of its time.
    #[inline]
    fn link(&mut self, place: u32, at: u64) {
        let wheel = (((at ^ self.now) | 1).ilog2() / DIGIT) as usize;
        let number = digit(at, wheel);
        let slot = &mut self.slots[wheel * SLOTS + number];
        let filled = &mut self.filled_slots[wheel];
        if *filled & 1 << number == 0 {
            *filled |= 1 << number;
            self.filled |= 1 << wheel;
            slot.first = place;
        } else {
            self.nodes[slot.last as usize].next = place;
        }
        slot.last = place;
    }

    /// The next event, unless it comes after `limit`.
    #[inline]
    pub(crate) fn pop(&mut self, limit: Instant) -> Option<(Instant, T)> {
        let limit = limit.as_nanos();
        loop {
            let wheel = self.filled.trailing_zeros() as usize;
            let filled = self.filled_slots.get_mut(wheel)?;
            let number = filled.trailing_zeros() as usize % SLOTS;
            let slot = &mut self.slots[wheel * SLOTS + number];
            let place = slot.first;
            let node = &mut self.nodes[place as usize];
            // On the lowest wheel, a slot is one moment; elsewhere, an event alone in the next slot
            // to come is the next event.
            if wheel == 0 || node.next == NONE {
                if node.at > limit {
                    return None;
                }
                let next = std::mem::replace(&mut node.next, self.free);
                self.free = place;
                self.now = node.at;
                if next == NONE {
                    *filled &= *filled - 1;
                    if *filled == 0 {
                        self.filled &= self.filled - 1;
                    }
                } else {
                    slot.first = next;
                }
                return Some((Instant::from_nanos(node.at), node.event));
            }
            if !self.turn(wheel, number, limit) {
                return None;
            }
        }
    }

    /// Empties the next slot of the lowest wheel that is not empty into those below it; false if
    /// nothing comes until `limit`.
    fn turn(&mut self, wheel: usize, number: usize, limit: u64) -> bool {
        // The slot's first moment: its digit here, the clock's above, and nothing below.
        let below = wheel * DIGIT as usize;
        let above = (u64::MAX << below) << DIGIT;
        let first = self.now & above | (number as u64) << below;
        let last = first + ((1 << below) - 1);
        let mut place = self.slots[wheel * SLOTS + number].first;
        if limit < last && limit < self.earliest(place) {
            return false;
        }
        let filled = &mut self.filled_slots[wheel];
        *filled &= !(1 << number);
        if *filled == 0 {
            self.filled &= !(1 << wheel);
        }
        self.now = first;
        while place != NONE {
            let node = &mut self.nodes[place as usize];
            let (at, next) = (node.at, std::mem::replace(&mut node.next, NONE));
            self.link(place, at);
            place = next;
        }
        true
    }

    /// The earliest time in a list.
    fn earliest(&self, mut place: u32) -> u64 {
        let mut earliest = u64::MAX;
        while let Some(node) = self.nodes.get(place as usize) {
            earliest = earliest.min(node.at);
            place = node.next;
        }
        earliest
    }
}

/// The digit of a time that decides its slot on a wheel.
#[expect(clippy::cast_possible_truncation, reason = "a digit is below 64")]
const fn digit(at: u64, wheel: usize) -> usize {
    (at >> (wheel * DIGIT as usize)) as usize & (SLOTS - 1)
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
