//! Segments in any order to a stream in order, with what the capture lacks as gaps.

use std::{collections::VecDeque, ops::Range};

use ackwise_tcp::Instant;

/// Data that came before what precedes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    /// In the order of the stream: mostly, the next one comes behind the others.
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// The segments that had waited, among the pieces delivered last.
    released: Vec<Arrival>,
}

/// When a segment was captured, and in which packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Arrival {
    start: u64,
    pub at: Instant,
    pub packet: u64,
}

impl Arrival {
    pub(crate) const fn new(start: u64, at: Instant, packet: u64) -> Self {
        Self { start, at, packet }
    }
}

#[derive(Clone, Debug)]
struct Waiting {
    arrival: Arrival,
    len: u32,
    bytes: Box<[u8]>,
}

/// The next of a stream.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Piece<'a> {
    /// A position, the number of bytes from there on, and those that were captured.
    Data(u64, u32, &'a [u8]),
    /// Bytes that the capture does not have.
    Gap(Range<u64>),
}

impl Reassembly {
    /// The most bytes that wait at once; of later segments only the place is kept. Our choice.
    const MAX_BYTES: usize = 256 * 1024;
    /// The most segments that wait at once; then what they wait for is given up. Our choice.
    const MAX_SEGMENTS: usize = 1_024;

    /// The first byte that is not there yet.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn held(&self) -> usize {
        self.bytes + self.waiting.capacity() * size_of::<Waiting>()
    }

    /// When the segment with the byte at `position` was captured, if it had waited for others and was
    /// delivered last.
    pub(crate) fn arrival(&self, position: u64) -> Option<Arrival> {
        // They are in order.
        let behind = self.released.partition_point(|it| it.start <= position);
        self.released[..behind].last().copied()
    }

    /// Takes a segment, and gives `on` all that is in order now.
    pub(crate) fn insert(
        &mut self,
        arrival: Arrival,
        len: u32,
        bytes: &[u8],
        mut on: impl FnMut(Piece<'_>),
    ) {
        let start = arrival.start;
        self.released.clear();
        if start > self.next {
            self.wait(arrival, len, bytes);
            if self.waiting.len() > Self::MAX_SEGMENTS {
                self.give_up_to(start.min(self.first_waiting()), &mut on);
            }
            return;
        }
        self.pass(start, len, bytes, &mut on);
        self.release(&mut on);
    }

    /// Whether nothing waits, and the byte at `position` is next.
    #[inline]
    pub(crate) fn is_in_order_at(&self, position: u64) -> bool {
        self.next == position && self.waiting.is_empty()
    }

    /// The next `len` bytes are there, from `start` on, and were handed on: [`insert`](Self::insert) without what
    /// [waits](Self::is_in_order_at).
    #[inline]
    pub(crate) fn run_on(&mut self, start: u64, len: u32) {
        self.released.clear();
        self.next = start + u64::from(len);
    }

    /// What is missing before `position` will not come.
    pub(crate) fn give_up_to(&mut self, position: u64, on: &mut impl FnMut(Piece<'_>)) {
        self.released.clear();
        while self.next < position {
            let until = position.min(self.first_waiting());
            if self.next < until {
                on(Piece::Gap(self.next..until));
                self.next = until;
            }
            self.release(on);
        }
        self.release(on);
    }

    fn first_waiting(&self) -> u64 {
        self.waiting.front().map_or(u64::MAX, |it| it.arrival.start)
    }

    #[inline(never)]
    fn wait(&mut self, arrival: Arrival, len: u32, bytes: &[u8]) {
        let start = arrival.start;
        let place = match self.waiting.back() {
            Some(last) if last.arrival.start >= start => {
                self.waiting.partition_point(|it| it.arrival.start < start)
            }
            _ => self.waiting.len(),
        };
        let same = self.waiting.get(place).filter(|it| it.arrival.start == start);
        if same.is_some_and(|it| it.len >= len) {
            return;
        }
        let kept = if self.bytes + bytes.len() <= Self::MAX_BYTES { bytes } else { &[] };
        self.bytes += kept.len();
        let waiting = Waiting { arrival, len, bytes: kept.into() };
        match same.is_some() {
            true => {
                let shorter = std::mem::replace(&mut self.waiting[place], waiting);
                self.bytes -= shorter.bytes.len();
            }
            false => self.waiting.insert(place, waiting),
        }
    }

    fn release(&mut self, on: &mut impl FnMut(Piece<'_>)) {
        if self.waiting.is_empty() {
            return;
        }
        while self.first_waiting() <= self.next
            && let Some(Waiting { arrival, len, bytes }) = self.waiting.pop_front()
        {
            self.bytes -= bytes.len();
            self.released.push(arrival);
            self.pass(arrival.start, len, &bytes, on);
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }

    /// Hands on what of a segment is new.
    fn pass(&mut self, start: u64, len: u32, bytes: &[u8], on: &mut impl FnMut(Piece<'_>)) {
        let end = start + u64::from(len);
        let Some(new) = end.checked_sub(self.next).filter(|&new| new > 0) else { return };
        let old = usize::try_from(self.next - start).unwrap_or(usize::MAX);
        let len = u32::try_from(new).unwrap_or(u32::MAX);
        on(Piece::Data(self.next, len, bytes.get(old..).unwrap_or_default()));
        self.next = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrival(start: u64) -> Arrival {
        Arrival::new(start, Instant::EPOCH, 0)
    }

    fn insert(reassembly: &mut Reassembly, start: u64, bytes: &[u8], into: &mut Vec<u8>) {
        let len = u32::try_from(bytes.len()).unwrap();
        reassembly.insert(arrival(start), len, bytes, |piece| match piece {
            Piece::Data(position, len, bytes) => {
                assert_eq!((position, len as usize), (into.len() as u64, bytes.len()));
                into.extend_from_slice(bytes);
            }
            Piece::Gap(gap) => panic!("{gap:?}"),
        });
    }

    #[test]
    fn what_the_capture_lacks_is_a_gap_between_the_pieces() {
        let mut reassembly = Reassembly::default();
        let mut found = Vec::new();
        let mut note = |piece: Piece<'_>| found.push(format!("{piece:?}"));
        reassembly.insert(arrival(0), 2, b"ab", &mut note);
        reassembly.insert(arrival(0), 2, b"ab", &mut note);
        reassembly.insert(arrival(5), 2, b"f", &mut note);
        reassembly.give_up_to(9, &mut note);
        assert_eq!(found, ["Data(0, 2, [97, 98])", "Gap(2..5)", "Data(5, 2, [102])", "Gap(7..9)"]);
    }

    #[test]
    fn of_segments_that_wait_from_one_byte_on_the_first_counts_unless_it_is_shorter() {
        for (first, second, packet) in [(2, 2, 1), (2, 1, 1), (2, 3, 2)] {
            let mut reassembly = Reassembly::default();
            for (packet, len) in [(1, first), (2, second)] {
                let bytes = &b"abc"[..len];
                let segment = Arrival::new(5, Instant::EPOCH, packet);
                reassembly.insert(segment, u32::try_from(len).unwrap(), bytes, |_| ());
            }
            assert_eq!(reassembly.waiting.len(), 1, "{first} {second}");
            assert_eq!(reassembly.bytes, first.max(second));
            reassembly.insert(arrival(0), 5, b"01234", |_| ());
            assert_eq!(reassembly.arrival(4), None);
            assert_eq!(reassembly.arrival(5).unwrap().packet, packet, "{first} {second}");
            assert_eq!(reassembly.bytes, 0);
        }
    }

    #[test]
    fn segments_wait_in_the_order_of_the_stream() {
        let mut reassembly = Reassembly::default();
        for start in [9, 5, 7, 5] {
            reassembly.insert(arrival(start), 1, b"a", |_| ());
        }
        let starts: Vec<_> = reassembly.waiting.iter().map(|it| it.arrival.start).collect();
        assert_eq!(starts, [5, 7, 9]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut reassembly = Reassembly::default();
        let half = vec![0; Reassembly::MAX_BYTES / 2];
        let len = u32::try_from(half.len()).unwrap();
        let mut gaps = 0;
        for number in 1..=Reassembly::MAX_SEGMENTS as u64 {
            let start = number * 2 * u64::from(len);
            reassembly.insert(arrival(start), len, &half, |_| gaps += 1);
            let kept = usize::try_from(number.min(2)).unwrap() * half.len();
            assert_eq!((reassembly.bytes, gaps), (kept, 0), "{number}");
        }
        reassembly.insert(arrival(5), 1, b"a", |_| gaps += 1);
        assert_eq!(reassembly.next(), 6, "what the first of too many waits for is given up");
        assert_eq!(gaps, 2);
    }

    #[test]
    fn what_is_next_is_in_order_if_nothing_waits() {
        let mut reassembly = Reassembly::default();
        assert!(reassembly.is_in_order_at(0) && !reassembly.is_in_order_at(1));
        reassembly.insert(arrival(5), 1, b"a", |_| ());
        assert!(!reassembly.is_in_order_at(0));
    }

    #[test]
    fn what_waits_up_to_a_position_is_given_up_and_no_more() {
        let given_up = |position| {
            let mut reassembly = Reassembly::default();
            let mut found = Vec::new();
            let mut note = |piece: Piece<'_>| match piece {
                Piece::Data(start, len, _) => found.push((start, start + u64::from(len), true)),
                Piece::Gap(range) => found.push((range.start, range.end, false)),
            };
            reassembly.insert(arrival(0), 2, b"ab", &mut note);
            reassembly.insert(arrival(5), 2, b"fg", &mut note);
            found.clear();
            let mut note = |piece: Piece<'_>| match piece {
                Piece::Data(start, len, _) => found.push((start, start + u64::from(len), true)),
                Piece::Gap(range) => found.push((range.start, range.end, false)),
            };
            reassembly.give_up_to(position, &mut note);
            (found, reassembly.next())
        };
        assert_eq!(given_up(2), (vec![], 2));
        assert_eq!(given_up(3), (vec![(2, 3, false)], 3));
        assert_eq!(given_up(5), (vec![(2, 5, false), (5, 7, true)], 7));
        assert_eq!(given_up(6), (vec![(2, 5, false), (5, 7, true)], 7));
        assert_eq!(given_up(8), (vec![(2, 5, false), (5, 7, true), (7, 8, false)], 8));
        assert_eq!(given_up(1), (vec![], 2), "that is there");
    }

    proptest! {
        #[test]
        fn any_order_of_overlapping_segments_gives_the_stream(
            cuts in proptest::collection::vec((0_usize..190, 1_usize..60), 1..40),
        ) {
            let stream: Vec<u8> = (0..=255).collect();
            let (mut reassembly, mut out) = (Reassembly::default(), Vec::new());
            for (start, len) in cuts {
                insert(&mut reassembly, start as u64, &stream[start..start + len], &mut out);
            }
            insert(&mut reassembly, 0, &stream, &mut out);
            prop_assert_eq!(out, stream);
        }
    }
}
