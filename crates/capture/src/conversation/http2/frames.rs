//! HTTP/2 frames of one direction: their headers, which say almost everything.

use std::ops::Deref;

use ackwise_http::http2::{
    CLIENT_PREFACE, FrameHeader, FrameKind,
    frame::{END_STREAM, PADDED},
};

use super::super::{span::Span, token::TokenKind};

/// A frame's header, and where it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Frame {
    header: FrameHeader,
    /// Position of the first byte of the header.
    pub(super) start: u64,
}

/// What the next bytes are.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// A frame begins.
    Begins(Frame),
    /// The next bytes of its payload.
    Payload(Span<'a>),
    /// It ends.
    Ends(Frame),
    /// From `start` on nobody knows where frames begin.
    Lost { start: u64 },
}

/// Follows the frames of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    stage: Stage,
    /// Largest stream seen; it tells a frame from noise.
    last_stream: u32,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The client's preface, with the number of bytes still to come.
    Preface {
        left: u64,
    },
    Header {
        bytes: [u8; HEADER],
        seen: usize,
    },
    Payload {
        frame: Frame,
        left: u64,
    },
    /// A segment may begin with a frame.
    Lost,
}

impl Frames {
    pub(super) const fn of_client() -> Self {
        Self { stage: Stage::Preface { left: PREFACE }, last_stream: 0 }
    }

    pub(super) const fn of_server() -> Self {
        Self { stage: Stage::BETWEEN, last_stream: 0 }
    }

    /// Takes bytes off the front of `span`; `None` if none are left.
    pub(super) fn advance<'a>(&mut self, span: &mut Span<'a>) -> Option<Found<'a>> {
        if let Stage::Payload { frame, left: 0 } = self.stage {
            self.stage = Stage::BETWEEN;
            return Some(Found::Ends(frame));
        }
        while !span.is_empty() {
            match &mut self.stage {
                Stage::Preface { left } => {
                    let before = span.at();
                    span.take(*left);
                    *left -= span.at() - before;
                    if *left == 0 {
                        self.stage = Stage::BETWEEN;
                    }
                }
                Stage::Header { .. } => {
                    if let Some(found) = self.read_header(span) {
                        return Some(found);
                    }
                }
                Stage::Payload { left, .. } => {
                    let before = span.at();
                    let bytes = span.take(*left);
                    let passed = span.at() - before;
                    *left -= passed;
                    return Some(Found::Payload(Span::segment(before, passed, bytes)));
                }
                Stage::Lost => return Some(self.resynchronise(span)),
            }
        }
        None
    }

    /// Whether the client's preface is yet to come.
    pub(super) const fn awaits_preface(&self) -> bool {
        matches!(self.stage, Stage::Preface { left: PREFACE })
    }

    /// The bytes of a header that is under way.
    pub(super) const fn header_bytes(&self) -> u64 {
        match self.stage {
            Stage::Header { seen, .. } => seen as u64,
            _ => 0,
        }
    }

    /// The frame whose payload is under way.
    pub(super) const fn frame(&self) -> Option<Frame> {
        match self.stage {
            Stage::Payload { frame, .. } => Some(frame),
            _ => None,
        }
    }

    fn read_header<'a>(&mut self, span: &mut Span<'a>) -> Option<Found<'a>> {
        let Stage::Header { bytes, seen } = &mut self.stage else { return None };
        let start = span.at() - *seen as u64;
        let count = (HEADER - *seen).min(span.bytes().len());
        bytes[*seen..][..count].copy_from_slice(span.take(count as u64));
        *seen += count;
        if *seen < HEADER && span.is_empty() {
            return None;
        }
        let frame = Frame::parse(bytes, start);
        if *seen < HEADER || !frame.is_believed(self.last_stream) {
            span.take_all();
            self.stage = Stage::Lost;
            return Some(Found::Lost { start });
        }
        self.stage = Stage::Payload { frame, left: frame.length.into() };
        if frame.is_about_streams() {
            self.last_stream = self.last_stream.max(frame.stream);
        }
        Some(Found::Begins(frame))
    }

    /// Looks for a frame at the beginning of a segment.
    fn resynchronise<'a>(&mut self, span: &mut Span<'a>) -> Found<'a> {
        let start = span.at();
        if let (true, Some(header)) = (span.begins_segment(), span.bytes().first_chunk()) {
            let frame = Frame::parse(header, start);
            if frame.is_plausible(self.last_stream) {
                span.take(HEADER as u64);
                self.stage = Stage::Payload { frame, left: frame.length.into() };
                return Found::Begins(frame);
            }
        }
        span.take_all();
        Found::Lost { start }
    }
}

impl Frame {
    /// Position after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(HEADER as u64 + u64::from(self.header.length))
    }

    const fn parse(header: &[u8; HEADER], start: u64) -> Self {
        Self { header: FrameHeader::parse(header), start }
    }

    /// Position of the first byte of the payload.
    pub(super) const fn payload(&self) -> u64 {
        self.start.saturating_add(HEADER as u64)
    }

    /// What its header says.
    pub(super) const fn token(&self) -> TokenKind {
        let FrameHeader { kind, flags, stream, length } = self.header;
        TokenKind::FrameHeader { length, number: kind.number(), flags, stream }
    }

    /// Whether bytes where a frame is due are its header. If a capture is wrong about what was sent,
    /// they may be anything.
    const fn is_believed(&self, last_stream: u32) -> bool {
        let header = &self.header;
        let is_near = header.stream <= last_stream.saturating_add(STREAM_STEP);
        header.length <= LENGTH_LIMIT && (is_near || !self.is_about_streams())
    }

    /// Whether it begins, ends or continues something.
    const fn is_about_streams(&self) -> bool {
        !matches!(self.header.kind, FrameKind::Priority | FrameKind::Ping | FrameKind::Other(_))
    }

    /// Whether bytes in the middle of a stream are a frame's header: they would be by chance once
    /// in millions of segments.
    const fn is_plausible(&self, last_stream: u32) -> bool {
        let FrameHeader { kind, flags, stream, length } = self.header;
        let of_connection = stream == 0;
        let of_stream = !of_connection && stream <= last_stream.saturating_add(STREAM_STEP);
        length <= LENGTH_LIMIT
            && match kind {
                FrameKind::Data => of_stream && flags & !(END_STREAM | PADDED) == 0,
                FrameKind::Headers => of_stream,
                FrameKind::RstStream => of_stream && length == 4,
                FrameKind::WindowUpdate => (of_stream || of_connection) && length == 4,
                FrameKind::Settings => of_connection && length.is_multiple_of(6),
                FrameKind::Ping => of_connection && length == 8,
                FrameKind::PushPromise
                | FrameKind::Continuation
                | FrameKind::Goaway
                | FrameKind::Priority
                | FrameKind::Other(_) => false,
            }
    }
}

impl Deref for Frame {
    type Target = FrameHeader;

    fn deref(&self) -> &FrameHeader {
        &self.header
    }
}

impl Stage {
    const BETWEEN: Self = Self::Header { bytes: [0; HEADER], seen: 0 };
}

const HEADER: usize = FrameHeader::SIZE;

/// Bytes of the client's connection preface.
const PREFACE: u64 = CLIENT_PREFACE.len() as u64;

/// Longest payload that is believed. The default limit is 2^14, and few peers allow more than 2^20.
const LENGTH_LIMIT: u32 = 1 << 20;

/// How far ahead of the last stream another may be, when frames between were not seen.
const STREAM_STEP: u32 = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_frame_is_not_believed() {
        let noise = Frame::parse(b"\nHEAD /ab", 0);
        assert!(noise.is_believed(0), "an extension frame may be on any stream");
        let far = Frame::parse(&[0, 0, 9, 0, 0, 0, 1, 0, 0], 0);
        assert_eq!([0, 1 << 16].map(|last| far.is_believed(last)), [false, true]);
        let long = Frame::parse(&[0x11, 0, 0, 0, 0, 0, 0, 0, 1], 0);
        assert!(!long.is_believed(1));
    }
}
