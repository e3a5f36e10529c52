//! The writes of one response, as ranges of its head and body. Pure, so that the simulator and the
//! kernel's sockets are given the same ones.

use core::{ops::Range, time::Duration};

use super::{Behaviour, HeadFlush, Tail};

/// One write: octets of the head, then octets of the body, gathered into one call.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Write {
    /// How long the server thinks first.
    pub after: Duration,
    /// Which octets of the head.
    pub head: Range<usize>,
    /// Which octets of the body.
    pub body: Range<u64>,
    /// Whether a cork holds back what does not fill a segment.
    pub corked: bool,
}

/// The writes of one response, in order: every octet once, none empty.
#[derive(Clone, Debug)]
pub struct WritePlan {
    behaviour: Behaviour,
    head: Range<usize>,
    body: Range<u64>,
    first: bool,
}

impl WritePlan {
    pub(super) const fn new(behaviour: &Behaviour, head: usize, body: u64) -> Self {
        Self { behaviour: *behaviour, head: 0..head, body: 0..body, first: true }
    }

    /// How long to think before the next write.
    fn thought(&self) -> Duration {
        let Behaviour { head_flush, think, think_after_head, .. } = self.behaviour;
        match head_flush {
            _ if self.first => think,
            HeadFlush::Apart if self.body.start == 0 && self.head.is_empty() => think_after_head,
            _ => Duration::ZERO,
        }
    }
}

impl Iterator for WritePlan {
    type Item = Write;

    fn next(&mut self) -> Option<Write> {
        if self.head.is_empty() && self.body.is_empty() {
            return None;
        }
        let size = self.behaviour.write_size.map_or(usize::MAX, usize::from);
        let after = self.thought();
        let head = take_front(&mut self.head, size);
        let head_alone = self.behaviour.head_flush == HeadFlush::Apart && !head.is_empty();
        let room = if head_alone { 0 } else { (size - head.len()) as u64 };
        let body = take_front_octets(&mut self.body, room);
        let last = self.head.is_empty() && self.body.is_empty();
        self.first = false;
        Some(Write { after, head, body, corked: last && self.behaviour.tail == Tail::Corked })
    }
}

fn take_front(range: &mut Range<usize>, most: usize) -> Range<usize> {
    let taken = range.start..range.start + range.len().min(most);
    range.start = taken.end;
    taken
}

fn take_front_octets(range: &mut Range<u64>, most: u64) -> Range<u64> {
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
    fn thinking_comes_before_the_head_and_before_the_body() {
        let [ten, forty] = [10, 40].map(Duration::from_millis);
        let slow = |behaviour| Behaviour { think: ten, think_after_head: forty, ..behaviour };
        let waits = |behaviour: Behaviour| {
            behaviour.writes(226, 6651).map(|write| write.after).collect::<Vec<_>>()
        };
        assert_eq!(waits(slow(Behaviour::PAPER_1996)), [ten, forty, Duration::ZERO]);
        assert_eq!(waits(slow(Behaviour::FIXED)), [ten]);
    }

    #[test]
    fn only_the_last_write_is_corked() {
        let corked = Behaviour { tail: Tail::Corked, ..Behaviour::PAPER_1996 };
        let flags: Vec<_> = corked.writes(226, 6651).map(|write| write.corked).collect();
        assert_eq!(flags, [false, false, true]);
    }
}
