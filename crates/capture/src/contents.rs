//! What bytes a stream holds, for those who know only its ranges.
//!
//! The simulator's endpoints handle ranges of streams, never bytes. A capture wants bytes: the heads
//! of messages at their positions, and zeros where nobody knows better. A segment that is sent again,
//! in other pieces or in another order, holds the same bytes again.

use std::collections::VecDeque;

/// What one direction of a connection says: pieces of known bytes at their positions, zeros elsewhere.
///
/// Position 0 is the first byte after the SYN, as in [`ackwise_tcp::Transmit::offset`].
///
/// ```
/// use ackwise_capture::StreamContents;
///
/// let mut contents = StreamContents::default();
/// contents.insert(2, b"head");
/// let mut payload = [0xff; 5];
/// contents.fill(4, &mut payload);
/// assert_eq!(&payload, b"ad\0\0\0");
/// ```
#[derive(Clone, Debug, Default)]
pub struct StreamContents {
    /// In the order of their positions; they do not overlap.
    pieces: VecDeque<Piece>,
    /// Where the first piece begins that is not wholly acknowledged: its place in `pieces`.
    acknowledged: usize,
    bytes: usize,
    left_out: u64,
}

#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    bytes: Box<[u8]>,
}

impl Piece {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

impl StreamContents {
    /// More bytes than these are not remembered at once; what comes then is zeros, and counted in
    /// [`StreamContents::left_out`]. Our choice: 4,096 heads of 256 bytes, which nobody pipelines.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Pieces that are remembered after they were acknowledged: a copy that was sent before the
    /// acknowledgement arrived may still be in flight, and must have the same bytes. Our choice.
    pub const KEPT_PIECES: usize = 16;

    /// Remembers `bytes` at position `start`, which lies behind all pieces that are there. One that
    /// does not, or that finds no room, is left out.
    pub fn insert(&mut self, start: u64, bytes: &[u8]) {
        let in_order = self.pieces.back().is_none_or(|last| last.end() <= start);
        if bytes.is_empty() {
            return;
        }
        if !in_order || self.bytes + bytes.len() > Self::MAX_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes.len();
        self.pieces.push_back(Piece { start, bytes: bytes.into() });
    }

    /// The receiver has everything before `position`: forgets it, except the last
    /// [`StreamContents::KEPT_PIECES`].
    pub fn acknowledge(&mut self, position: u64) {
        while self.pieces.get(self.acknowledged).is_some_and(|piece| piece.end() <= position) {
            self.acknowledged += 1;
        }
        while self.acknowledged > Self::KEPT_PIECES {
            self.acknowledged -= 1;
            let forgotten = self.pieces.pop_front().map_or(0, |piece| piece.bytes.len());
            self.bytes -= forgotten;
        }
    }

    /// Writes the bytes from position `start` on into all of `payload`.
    pub fn fill(&self, start: u64, payload: &mut [u8]) {
        payload.fill(0);
        let end = start.saturating_add(payload.len() as u64);
        let first = self.pieces.partition_point(|piece| piece.end() <= start);
        for piece in self.pieces.range(first..).take_while(|piece| piece.start < end) {
            let from = usize_of(start.saturating_sub(piece.start));
            let into = usize_of(piece.start.saturating_sub(start));
            let length = (piece.bytes.len() - from).min(payload.len() - into);
            payload[into..into + length].copy_from_slice(&piece.bytes[from..from + length]);
        }
    }

    /// Pieces that were left out, for want of room or because they came out of order.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many bytes are remembered.
    #[must_use]
    pub const fn remembered(&self) -> usize {
        self.bytes
    }
}

/// A distance within one piece or one payload, which are in memory.
fn usize_of(distance: u64) -> usize {
    usize::try_from(distance).expect("a distance within memory")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_latest_pieces_survive_their_acknowledgement() {
        let mut contents = StreamContents::default();
        for piece in 0..100 {
            contents.insert(10 * piece, b"head");
        }
        contents.acknowledge(1_000);
        assert_eq!(contents.remembered(), StreamContents::KEPT_PIECES * 4);
        let mut payload = [1; 4];
        contents.fill(990, &mut payload);
        assert_eq!(&payload, b"head");
        contents.fill(0, &mut payload);
        assert_eq!(payload, [0; 4]);
    }

    #[test]
    fn what_is_not_acknowledged_is_not_forgotten() {
        let mut contents = StreamContents::default();
        for piece in 0..100 {
            contents.insert(10 * piece, b"head");
        }
        contents.acknowledge(3);
        assert_eq!(contents.remembered(), 400);
        contents.acknowledge(504);
        contents.acknowledge(300);
        assert_eq!(contents.remembered(), 400 - 4 * (51 - StreamContents::KEPT_PIECES));
    }

    #[test]
    fn memory_is_bounded_and_what_is_left_out_is_counted() {
        let mut contents = StreamContents::default();
        let head = [b'x'; 1_000];
        for piece in 0..2_000 {
            contents.insert(10_000 * piece, &head);
        }
        assert!(contents.remembered() <= StreamContents::MAX_BYTES);
        assert_eq!(contents.left_out(), 2_000 - 1_048);
        contents.insert(0, b"out of order");
        assert_eq!(contents.left_out(), 2_000 - 1_047);
    }

    #[test]
    fn the_end_of_all_positions_is_no_trap() {
        let mut contents = StreamContents::default();
        contents.insert(u64::MAX - 2, b"head");
        let mut payload = [1; 8];
        contents.fill(u64::MAX - 4, &mut payload);
        assert_eq!(&payload[..4], b"\0\0he");
    }

    proptest! {
        /// Whatever was asked before, and in which pieces: a position holds one byte.
        #[test]
        fn any_order_of_ranges_fills_the_same_bytes(
            pieces in proptest::collection::vec((0_u64..40, "[a-z]{0,30}"), 0..30),
            ranges in proptest::collection::vec((0_u64..1_500, 0_usize..200), 0..60),
            acknowledged in proptest::collection::vec(0_u64..300, 0..5),
        ) {
            let mut contents = StreamContents::default();
            let mut model = vec![0_u8; 4_000];
            let mut position = 0;
            for (gap, bytes) in &pieces {
                position += gap;
                contents.insert(position, bytes.as_bytes());
                let at = usize::try_from(position).unwrap();
                model[at..at + bytes.len()].copy_from_slice(bytes.as_bytes());
                position += bytes.len() as u64;
            }
            // Fewer pieces than are kept: acknowledgements may then forget nothing at all.
            if pieces.len() <= StreamContents::KEPT_PIECES {
                acknowledged.iter().for_each(|&position| contents.acknowledge(position));
            }
            for (start, length) in ranges {
                let mut payload = vec![0xff; length];
                contents.fill(start, &mut payload);
                let start = usize::try_from(start).unwrap();
                prop_assert_eq!(&payload, &model[start..start + length]);
            }
        }
    }
}
