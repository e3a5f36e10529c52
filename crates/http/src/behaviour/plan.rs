//! The writes of one response, as ranges of its head and body. Pure, so that the simulator and the
//! kernel sockets use the same writes.

use core::{ops::Range, time::Duration};

use super::{Behaviour, HeadFlush, Tail};

/// One write: bytes of the head followed by bytes of the body, in one call.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Write {
    /// Think time before the write.
    pub after: Duration,
    /// Range of the head's bytes.
    pub head: Range<usize>,
    /// Range of the body's bytes.
    pub body: Range<u64>,
    /// Whether the write is corked, so that a partial segment is held back.
    pub corked: bool,
}

/// The unwritten rest of a response. Every byte is written once; no write is empty.
///
/// Separate from [`Behaviour`] because a simulated server has one plan for each connection and one
/// behaviour for all of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WritePlan {
    head: Range<u32>,
    body: Range<u64>,
}

impl WritePlan {
    /// A plan for a response of `head` and `body` bytes. A head has 4 GB at most.
    #[must_use]
    pub const fn new(head: usize, body: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the smaller of the two fits")]
        let head = if head < u32::MAX as usize { head as u32 } else { u32::MAX };
        Self { head: 0..head, body: 0..body }
    }

    /// A plan for several responses as one stream of `bytes`; all bytes count as body.
    #[must_use]
    pub const fn gathered(bytes: u64) -> Self {
        Self::new(0, bytes)
    }

    /// Whether there is nothing left to write.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.head.start == self.head.end && self.body.start == self.body.end
    }

    /// The next write under `behaviour`; `None` when everything is written.
    pub fn next_write(&mut self, behaviour: &Behaviour) -> Option<Write> {
        if self.is_done() {
            return None;
        }
        let size = behaviour.write_size.map_or(usize::MAX, usize::from);
        let after = self.thought(behaviour);
        let head = take_front(&mut self.head, size);
        let head_alone = behaviour.head_flush == HeadFlush::Apart && !head.is_empty();
        let room = if head_alone { 0 } else { (size - head.len()) as u64 };
        let body = take_front_bytes(&mut self.body, room);
        let corked = self.is_done() && behaviour.tail == Tail::Corked;
        Some(Write { after, head, body, corked })
    }

    /// Think time before the next write.
    fn thought(&self, behaviour: &Behaviour) -> Duration {
        let Behaviour { head_flush, think, think_after_head, think_between_writes, .. } = behaviour;
        match (self.head.start, self.body.start) {
            (0, 0) => *think,
            (_, 0) if !self.head.is_empty() => Duration::ZERO,
            (_, 0) if *head_flush == HeadFlush::Apart => *think_after_head,
            (_, 0) => Duration::ZERO,
            _ => *think_between_writes,
        }
    }
}

/// The writes of a plan, in order.
#[derive(Clone, Debug)]
pub struct Writes<'b> {
    behaviour: &'b Behaviour,
    plan: WritePlan,
}

impl<'b> Writes<'b> {
    pub(super) const fn new(behaviour: &'b Behaviour, plan: WritePlan) -> Self {
        Self { behaviour, plan }
    }
}

impl Iterator for Writes<'_> {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        self.plan.next_write(self.behaviour)
    }
}

fn take_front(range: &mut Range<u32>, most: usize) -> Range<usize> {
    let start = range.start;
    range.start += (range.end - start).min(u32::try_from(most).unwrap_or(u32::MAX));
    start as usize..range.start as usize
}

fn take_front_bytes(range: &mut Range<u64>, most: u64) -> Range<u64> {
    let taken = range.start..range.start + (range.end - range.start).min(most);
    range.start = taken.end;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::num::NonZeroUsize;

    const JOINED_4096: Behaviour =
        Behaviour { write_size: NonZeroUsize::new(4096), ..Behaviour::FIXED };
    const APART: Behaviour = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };

    #[test]
    fn heads_and_bodies_become_these_writes() {
        type Writes = &'static [(Range<usize>, Range<u64>)];
        #[rustfmt::skip]
        let table: &[(&str, Behaviour, usize, u64, Writes)] = &[
            ("figure 2 and 4 of Heidemann 1997", Behaviour::PAPER_1996, 226, 6651,
                &[(0..226, 0..0), (226..226, 0..4096), (226..226, 4096..6651)]),
            ("exactly one chunk",  Behaviour::PAPER_1996, 226, 4096, &[(0..226, 0..0), (226..226, 0..4096)]),
            ("HEAD",               Behaviour::PAPER_1996, 226, 0,    &[(0..226, 0..0)]),
            ("long head",          Behaviour::PAPER_1996, 5000, 1,   &[(0..4096, 0..0), (4096..5000, 0..0), (5000..5000, 0..1)]),
            ("fixed",              Behaviour::FIXED,      226, 6651, &[(0..226, 0..6651)]),
            ("fixed HEAD",         Behaviour::FIXED,      226, 0,    &[(0..226, 0..0)]),
            ("apart, whole",       APART,                 226, 6651, &[(0..226, 0..0), (226..226, 0..6651)]),
            ("joined, 4 KB",       JOINED_4096,           226, 6651, &[(0..226, 0..3870), (226..226, 3870..6651)]),
            ("joined, fits",       JOINED_4096,           226, 3870, &[(0..226, 0..3870)]),
            ("joined, long head",  JOINED_4096,           4097, 9,   &[(0..4096, 0..0), (4096..4097, 0..9)]),
            ("nothing",            Behaviour::FIXED,      0, 0,      &[]),
            ("huge",               APART,                 1, u64::MAX, &[(0..1, 0..0), (1..1, 0..u64::MAX)]),
        ];
        for (name, behaviour, head, body, expected) in table {
            let writes: Vec<_> =
                behaviour.writes(*head, *body).map(|write| (write.head, write.body)).collect();
            assert_eq!(writes, *expected, "{name}");
        }
    }

    #[test]
    fn thinking_comes_before_the_head_before_the_body_and_between_its_writes() {
        let [two, ten, forty] = [2, 10, 40].map(Duration::from_millis);
        let none = Duration::ZERO;
        let slow = |behaviour| Behaviour {
            think: ten,
            think_after_head: forty,
            think_between_writes: two,
            ..behaviour
        };
        let waits = |behaviour: Behaviour, head, body| {
            slow(behaviour).writes(head, body).map(|write| write.after).collect::<Vec<_>>()
        };
        assert_eq!(waits(Behaviour::PAPER_1996, 226, 9000), [ten, forty, two, two]);
        assert_eq!(waits(Behaviour::PAPER_1996, 5000, 1), [ten, none, forty]);
        assert_eq!(waits(JOINED_4096, 226, 9000), [ten, two, two]);
        assert_eq!(waits(JOINED_4096, 4096, 9), [ten, none]);
        assert_eq!(waits(Behaviour::FIXED, 226, 6651), [ten]);
        let gathered = slow(Behaviour::PAPER_1996);
        let gathered: Vec<_> =
            gathered.gathered_writes(5000).map(|write| (write.after, write.body)).collect();
        assert_eq!(gathered, [(ten, 0..4096), (two, 4096..5000)]);
    }

    #[test]
    fn a_plan_is_as_small_as_its_two_ranges() {
        assert_eq!(size_of::<WritePlan>(), size_of::<Range<u32>>() + size_of::<Range<u64>>());
    }

    #[test]
    fn only_the_last_write_is_corked() {
        let corked = Behaviour { tail: Tail::Corked, ..Behaviour::PAPER_1996 };
        let flags: Vec<_> = corked.writes(226, 6651).map(|write| write.corked).collect();
        assert_eq!(flags, [false, false, true]);
    }
}
