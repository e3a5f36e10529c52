//! Frames of one direction, of which every byte is seen.

use alloc::vec::Vec;
use core::mem;

use super::FrameHeader;

/// Reads frames from a stream that arrives in pieces of any size.
///
/// ```
/// use ackwise_http::http2::{FrameKind, Frames};
///
/// let mut frames = Frames::new();
/// let mut piece = &b"\0\0\x02\x06\0\0\0\0\0a"[..];
/// assert_eq!(frames.advance(&mut piece), Ok(None));
/// let frame = frames.advance(&mut &b"b"[..])?.expect("it is whole now");
/// assert_eq!((frame.header.kind, frame.start, &frame.payload[..]), (FrameKind::Ping, 0, &b"ab"[..]));
/// # Ok::<(), ackwise_http::http2::FrameTooLong>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Of the frame under way, with its header.
    bytes: Vec<u8>,
    offset: u64,
}

/// A whole frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame {
    /// Its header.
    pub header: FrameHeader,
    /// Offset in the stream of the header's first byte.
    pub start: u64,
    /// What it carries, with padding.
    pub payload: Vec<u8>,
}

/// A frame with more payload than a peer allows that has set no other limit (RFC 9113, section 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("frame too long: {} bytes on stream {} (expected at most {FRAME_LIMIT})", .0.length, .0.stream)]
pub struct FrameTooLong(pub FrameHeader);

/// SETTINGS_MAX_FRAME_SIZE unless a peer says another (RFC 9113, section 6.5.2).
pub const FRAME_LIMIT: u32 = 1 << 14;

impl Frames {
    /// At the beginning of a stream.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), offset: 0 }
    }

    /// Bytes read so far.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the next byte begins a frame.
    #[must_use]
    pub const fn is_between_frames(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes bytes off the front of `input`; the next frame that is whole, or `None` if `input` is used up.
    ///
    /// # Errors
    ///
    /// If a frame is too long: nothing after its header can be read.
    pub fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameTooLong> {
        self.fill(FrameHeader::SIZE, input);
        let Some(header) = self.bytes.first_chunk() else { return Ok(None) };
        let header = FrameHeader::parse(header);
        if header.length > FRAME_LIMIT {
            return Err(FrameTooLong(header));
        }
        let size = FrameHeader::SIZE + header.length as usize;
        self.fill(size, input);
        if self.bytes.len() < size {
            return Ok(None);
        }
        let mut payload = mem::take(&mut self.bytes);
        payload.drain(..FrameHeader::SIZE);
        Ok(Some(Frame { header, start: self.offset - size as u64, payload }))
    }

    fn fill(&mut self, size: usize, input: &mut &[u8]) {
        let wanted = size.saturating_sub(self.bytes.len()).min(input.len());
        let (taken, rest) = input.split_at(wanted);
        self.bytes.extend_from_slice(taken);
        self.offset += wanted as u64;
        *input = rest;
    }
}

impl Frame {
    /// Offset in the stream after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + FrameHeader::SIZE as u64 + u64::from(self.header.length)
    }

    /// The payload as a 32-bit number at `at`.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(*self.payload.get(at..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::{super::FrameKind, *};

    proptest! {
        #[test]
        fn frames_do_not_depend_on_the_pieces(
            sizes in prop::collection::vec(0..300_usize, 1..6), cuts in prop::collection::vec(1..64_usize, 1..40)
        ) {
            let mut wire = Vec::new();
            for (number, size) in (0..).zip(&sizes) {
                FrameHeader::append(FrameKind::Data, 0, number, &vec![7; *size], &mut wire);
            }
            let (mut frames, mut found) = (Frames::new(), Vec::new());
            let (mut rest, mut cuts) = (&wire[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (mut piece, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                rest = tail;
                while let Some(frame) = frames.advance(&mut piece).unwrap() {
                    found.push((frame.start, frame.end(), frame.payload.len()));
                }
            }
            let mut start = 0;
            for (size, found) in sizes.iter().zip(&found) {
                let end = start + 9 + *size as u64;
                prop_assert_eq!(*found, (start, end, *size));
                start = end;
            }
            prop_assert!(frames.is_between_frames() && found.len() == sizes.len());
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_is_refused_by_its_header() {
        let mut frames = Frames::new();
        let header = [0, 0x40, 1, 0, 0, 0, 0, 0, 3];
        let error = frames.advance(&mut &header[..]).unwrap_err();
        assert_eq!((error.0.stream, error.0.length), (3, FRAME_LIMIT + 1));
        assert_eq!(Frames::new().advance(&mut &[0, 0x40, 0, 0, 0, 0, 0, 0, 3][..]), Ok(None));
    }
}
