//! Whether a path lets small segments through and no full ones, as where it drops what is too large for it and nobody
//! hears so (RFC 2923, section 2.1).

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use super::{Ends, Half};
use crate::outcome::BlackHole;

/// What is known of the sizes of one end's segments while some are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Where the segment begins that is next for the other end, its data, and how often it was sent.
    next: u64,
    len: u32,
    sends: u8,
    /// When it was sent for the second time.
    again: Instant,
    /// The last acknowledgement while more was on its way: up to where, and of how much.
    partial: (u64, u32),
    /// The most data of a segment that was seen behind a hole.
    behind: u32,
    /// Up to where the other end has reported data behind that (SACK, RFC 2018), and the most that a report added.
    reported: u64,
    added: u32,
}

impl Sizes {
    /// Data was seen that is sent again.
    #[cold]
    pub(super) fn note(&mut self, bytes: &Range<u64>, acked: u64, now: Instant) {
        if bytes.start == acked {
            if self.next != acked || self.sends == 0 {
                (self.next, self.sends, self.again) = (acked, 1, now);
            }
            (self.len, self.sends) = (length(bytes), self.sends.saturating_add(1));
        }
    }

    /// Data was seen while some is missing; there were `holes` before it.
    pub(super) fn note_behind(&mut self, bytes: &Range<u64>, holes: bool) {
        self.behind = if holes { self.behind.max(length(bytes)) } else { length(bytes) };
    }

    /// The other end has acknowledged `newly` bytes up to `acked`, and more is on its way.
    #[inline]
    pub(super) fn note_partial(&mut self, acked: u64, newly: u64) {
        self.partial = (acked, u32::try_from(newly).unwrap_or(u32::MAX));
    }
}

fn length(bytes: &Range<u64>) -> u32 {
    u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX)
}

/// The first copy may be lost by chance, and the second. Our choice.
const SENDS: u8 = 3;

impl Ends {
    /// What is next for the other end, and was sent for the second time then, if no copy was acknowledged of several.
    pub(crate) fn unheard(&self, direction: Direction) -> Option<(u64, Instant)> {
        let half = self.half(direction);
        let Sizes { next, sends, again, .. } = half.sizes;
        (sends >= SENDS && next == half.stream.acked()).then_some((next, again))
    }

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

    /// When the first data of a connection was sent for the second time, if it was again and again, and not acknowledged.
    pub(crate) fn opening_ignored(&self) -> Option<Instant> {
        let [Half { sizes, .. }, _] = &self.halves;
        (sizes.next == 0 && sizes.sends >= SENDS).then_some(sizes.again)
    }

    /// Whether that was so to the end.
    pub(crate) fn black_hole(&self, direction: Direction) -> Option<BlackHole> {
        let half = self.half(direction);
        let (sizes, stream, size) = (half.sizes, &half.stream, half.stream.segment_size());
        let full = u64::from(size.max(1));
        if sizes.sends >= SENDS && sizes.next == stream.acked() && sizes.len >= size {
            let reported = sizes.reported > sizes.next;
            let (acked, newly) = sizes.partial;
            let passes = match reported {
                true => Some(sizes.added),
                false => Some(newly).filter(|newly| *newly > 0 && acked == sizes.next),
            };
            // Not one has got through, or some have that were smaller.
            let is_so = passes.map_or(sizes.next < full, |it| it < size);
            let (sends, since) = (Some(sizes.sends), sizes.again);
            return is_so.then_some(BlackHole { direction, size, sends, passes, since });
        }
        let (hole, since) = stream.first_hole()?;
        let is_so = (hole.end - hole.start).is_multiple_of(full) && sizes.behind < size;
        let passes = Some(sizes.behind);
        is_so.then_some(BlackHole { direction, size, sends: None, passes, since })
    }
}
