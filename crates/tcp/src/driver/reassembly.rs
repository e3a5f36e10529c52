//! The bytes that have arrived and were not read.

use alloc::collections::VecDeque;

/// The part of the peer's stream from the first byte that was not read to the last one that arrived,
/// with holes. The endpoint knows where the holes are.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    start: u64,
    bytes: VecDeque<u8>,
}

impl Reassembly {
    /// Puts `bytes` at `offset` of the stream. What was read already is left out, and so is what lies
    /// `window` bytes or more after the first unread one: the endpoint never places such
    /// ([`Endpoint::receivable`](crate::Endpoint::receivable)).
    pub fn place(&mut self, offset: u64, bytes: &[u8], window: u64) {
        let window = to_index(window);
        let old = to_index(self.start.saturating_sub(offset)).min(bytes.len());
        let from = to_index(offset.saturating_sub(self.start)).min(window);
        let fresh = &bytes[old..];
        let fresh = &fresh[..fresh.len().min(window - from)];
        let present = self.bytes.len();
        if from >= present {
            self.bytes.resize(from, 0);
            self.bytes.extend(fresh);
            return;
        }
        let (overlapping, beyond) = fresh.split_at(fresh.len().min(present - from));
        for (slot, byte) in self.bytes.range_mut(from..).zip(overlapping) {
            *slot = *byte;
        }
        self.bytes.extend(beyond);
    }

    /// Moves the first bytes of the stream into `out`: as many as fit, at most `readable`.
    pub fn take(&mut self, out: &mut [u8], readable: u64) -> usize {
        let len = out.len().min(to_index(readable)).min(self.bytes.len());
        for (slot, byte) in out.iter_mut().zip(self.bytes.drain(..len)) {
            *slot = byte;
        }
        self.start += len as u64;
        len
    }
}

fn to_index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn taken(buffer: &mut Reassembly, readable: u64) -> Vec<u8> {
        let mut out = [0; 64];
        let len = buffer.take(&mut out, readable);
        out[..len].to_vec()
    }

    #[test]
    fn pieces_come_together_in_any_order() {
        let mut buffer = Reassembly::default();
        buffer.place(6, b"world", 100);
        buffer.place(0, b"hel", 100);
        assert_eq!(taken(&mut buffer, 3), b"hel");
        buffer.place(3, b"lo ", 100);
        buffer.place(11, b"!", 100);
        assert_eq!(taken(&mut buffer, 100), b"lo world!");
    }

    #[test]
    fn only_what_is_readable_is_read() {
        let mut buffer = Reassembly::default();
        buffer.place(0, b"abc", 100);
        buffer.place(10, b"xyz", 100);
        assert_eq!(taken(&mut buffer, 3), b"abc");
        assert_eq!(taken(&mut buffer, 0), b"");
    }

    #[test]
    fn nothing_grows_beyond_the_window_and_old_bytes_are_dropped() {
        let mut buffer = Reassembly::default();
        buffer.place(2, b"cdefgh", 4);
        buffer.place(1_000_000_000_000, b"far", 4);
        buffer.place(0, b"ab", 4);
        assert_eq!(taken(&mut buffer, 100), b"abcd");
        buffer.place(0, b"abcdef", 4);
        assert_eq!(taken(&mut buffer, 100), b"ef");
    }
}
