//! Whether a path lets small segments through and no full ones, as where it drops what is too large for it and nobody
//! hears so (RFC 2923, section 2.1).

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use super::Ends;
use crate::{attribution::Nanos, outcome::BlackHole};

/// What is known of the sizes of one end's segments while some are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Where the segment begins that is next for the other end, its data, and how often it was sent.
    next: u64,
    len: u32,
    sends: u8,
    /// The most data of a segment that was seen behind a hole.
    behind: u32,
    /// Up to where the other end has reported data behind that (SACK, RFC 2018), and the most that a report added.
    reported: u64,
    added: u32,
}

impl Sizes {
    /// Data was seen that is sent again, or while some is missing; there were `holes` before.
    #[cold]
    pub(super) fn note(&mut self, bytes: &Range<u64>, acked: u64, holes: bool, again: bool) {
        let len = u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX);
        if again && bytes.start == acked {
            let sends = if self.next == acked { self.sends.max(1) } else { 1 };
            (self.next, self.len, self.sends) = (acked, len, sends.saturating_add(1));
        }
        self.behind = if holes { self.behind.max(len) } else { len };
    }
}

impl Ends {
    /// The other end reports data of `direction` that it has behind a hole.
    #[cold]
    pub(super) fn note_reported(&mut self, segment: &Segment, direction: Direction) {
        let half = &mut self.halves[direction as usize];
        let acked = half.stream.acked();
        for (left, right) in segment.options.sack.iter() {
            let places = half.stream.position_of(left).zip(half.stream.position_of(right));
            // A block below is a duplicate (RFC 2883).
            let Some((left, right)) = places.filter(|it| it.0 > acked) else { continue };
            let sizes = &mut half.sizes;
            if sizes.reported < acked {
                (sizes.reported, sizes.added) = (acked, 0);
            }
            let added = right.saturating_sub(left.max(sizes.reported));
            sizes.added = sizes.added.max(u32::try_from(added).unwrap_or(u32::MAX));
            sizes.reported = sizes.reported.max(right);
        }
    }

    /// Whether that was so to the end, at `last`.
    pub(crate) fn black_hole(&self, direction: Direction, last: Instant) -> Option<BlackHole> {
        /// The first copy may be lost by chance, and the second. Our choice.
        const SENDS: u8 = 3;
        /// What was lost by chance is there by then: Linux sends it again after 0.2 and 0.6 s on a path of 30 ms (RFC 6298,
        /// section 5.5). Our choice.
        const LONG: Nanos = Nanos::from_millis(1_000);
        let half = self.half(direction);
        let (sizes, stream, size) = (half.sizes, &half.stream, half.stream.segment_size());
        let full = u64::from(size.max(1));
        if sizes.sends >= SENDS && sizes.next == stream.acked() && sizes.len >= size {
            let reported = sizes.reported > sizes.next;
            // Not one has got through, or some have that were smaller.
            let is_so = if reported { sizes.added < size } else { sizes.next < full };
            let passes = reported.then_some(sizes.added);
            return is_so.then_some(BlackHole {
                direction,
                size,
                sends: Some(sizes.sends),
                passes,
            });
        }
        let (hole, opened) = stream.first_hole()?;
        let is_so = (hole.end - hole.start) % full == 0
            && sizes.behind < size
            && Nanos::between(opened, last) >= LONG.max(self.distances.whole() * 4);
        let passes = Some(sizes.behind);
        is_so.then_some(BlackHole { direction, size, sends: None, passes })
    }
}
