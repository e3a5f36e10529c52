//! The bytes that we may have to send again.

use alloc::{collections::VecDeque, vec::Vec};

/// The part of our stream from the first byte that is not acknowledged to the last one written.
///
/// Its bound is the endpoint's: only what [`Endpoint::write`](crate::Endpoint::write) takes comes here.
#[derive(Clone, Debug, Default)]
pub struct SendBuffer {
    start: u64,
    bytes: VecDeque<u8>,
}

impl SendBuffer {
    /// Appends to the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Forgets what is before `offset`.
    pub fn forget_before(&mut self, offset: u64) {
        let old = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.drain(..old.min(self.bytes.len()));
        self.start = self.start.max(offset);
    }

    /// Gives memory back if at most a quarter of it is needed.
    pub(super) fn shrink(&mut self) {
        if self.bytes.len() <= self.bytes.capacity() / 4 {
            self.bytes.shrink_to_fit();
        }
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends `len` bytes of the stream, from `offset` on, to `out`.
    ///
    /// # Panics
    ///
    /// If they are not here: the endpoint asks only for what was written and not acknowledged.
    pub fn copy(&self, offset: u64, len: u32, out: &mut Vec<u8>) {
        if len == 0 {
            return;
        }
        let range = offset.checked_sub(self.start).and_then(|from| {
            let from = usize::try_from(from).ok()?;
            let to = from.checked_add(usize::try_from(len).ok()?)?;
            (to <= self.bytes.len()).then_some((from, to))
        });
        let Some((from, to)) = range else {
            panic!("bytes {offset}+{len} asked for, {}+{} kept", self.start, self.bytes.len());
        };
        let (front, back) = self.bytes.as_slices();
        let split = front.len();
        out.extend_from_slice(&front[from.min(split)..to.min(split)]);
        out.extend_from_slice(&back[from.saturating_sub(split)..to.saturating_sub(split)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(buffer: &SendBuffer, offset: u64, len: u32) -> Vec<u8> {
        let mut out = Vec::new();
        buffer.copy(offset, len, &mut out);
        out
    }

    #[test]
    fn what_is_not_acknowledged_can_be_sent_again_across_the_ring_s_end() {
        let mut buffer = SendBuffer::default();
        let stream: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let mut acknowledged = 0;
        for (round, chunk) in stream.chunks(700).enumerate() {
            buffer.push(chunk);
            let written = round * 700 + chunk.len();
            let len = u32::try_from(written - acknowledged).unwrap();
            let expected = &stream[acknowledged..written];
            assert_eq!(copied(&buffer, acknowledged as u64, len), expected);
            acknowledged = written.saturating_sub(300);
            buffer.forget_before(acknowledged as u64);
        }
    }

    #[test]
    fn memory_is_given_back_when_three_quarters_of_it_are_not_needed() {
        let mut buffer = SendBuffer::default();
        buffer.push(&[7; 65_536]);
        for (acknowledged, memory) in [(40_000, 65_536), (60_000, 5_536), (65_536, 0)] {
            buffer.forget_before(acknowledged);
            buffer.shrink();
            assert_eq!(buffer.memory(), memory, "{acknowledged} acknowledged");
            let left = u32::try_from(65_536 - acknowledged).unwrap();
            assert!(copied(&buffer, acknowledged, left).iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn an_acknowledged_fin_forgets_no_more_than_there_is() {
        let mut buffer = SendBuffer::default();
        buffer.push(b"abc");
        buffer.forget_before(4);
        assert_eq!(copied(&buffer, 4, 0), b"");
    }

    #[test]
    #[should_panic(expected = "bytes 0+1 asked for, 2+1 kept")]
    fn asking_for_forgotten_bytes_is_our_mistake() {
        let mut buffer = SendBuffer::default();
        buffer.push(b"abc");
        buffer.forget_before(2);
        copied(&buffer, 0, 1);
    }
}
