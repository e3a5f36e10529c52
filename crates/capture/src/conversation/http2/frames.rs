//! HTTP/2 frames of one direction: their headers, which say almost everything.

use super::super::{span::Span, token::TokenKind};

/// A frame's header (RFC 9113, section 4.1), and where it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// The type, by its number.
    pub(super) number: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    /// Bytes of the payload.
    pub(super) length: u32,
    /// Position of the first byte of the header.
    pub(super) start: u64,
}

/// The frame types that matter here (RFC 9113, section 6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Data,
    Headers,
    RstStream,
    Settings,
    PushPromise,
    WindowUpdate,
    Continuation,
    Goaway,
    /// PRIORITY, PING and extensions: they begin nothing and end nothing.
    Other,
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
        if frame.kind != Kind::Other {
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
        self.start.saturating_add(HEADER as u64 + u64::from(self.length))
    }

    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn parse(header: &[u8; HEADER], start: u64) -> Self {
        let [a, b, c, number, flags, stream @ ..] = *header;
        let kind = match number {
            0 => Kind::Data,
            1 => Kind::Headers,
            3 => Kind::RstStream,
            4 => Kind::Settings,
            5 => Kind::PushPromise,
            7 => Kind::Goaway,
            8 => Kind::WindowUpdate,
            9 => Kind::Continuation,
            _ => Kind::Other,
        };
        // The highest bit is reserved.
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        Self { kind, number, flags, stream, length: u32::from_be_bytes([0, a, b, c]), start }
    }

    /// Position of the first byte of the payload.
    pub(super) const fn payload(&self) -> u64 {
        self.start.saturating_add(HEADER as u64)
    }

    /// What its header says.
    pub(super) const fn token(&self) -> TokenKind {
        let &Self { kind: _, number, flags, stream, length, start: _ } = self;
        TokenKind::FrameHeader { length, number, flags, stream }
    }

    /// Whether bytes where a frame is due are its header. If a capture is wrong about what was sent,
    /// they may be anything.
    const fn is_believed(&self, last_stream: u32) -> bool {
        let is_near = self.stream <= last_stream.saturating_add(STREAM_STEP);
        self.length <= LENGTH_LIMIT && (is_near || matches!(self.kind, Kind::Other))
    }

    /// Whether bytes in the middle of a stream are a frame's header: they would be by chance once
    /// in millions of segments.
    const fn is_plausible(&self, last_stream: u32) -> bool {
        let of_connection = self.stream == 0;
        let of_stream = !of_connection && self.stream <= last_stream.saturating_add(STREAM_STEP);
        self.length <= LENGTH_LIMIT
            && match self.kind {
                Kind::Data => of_stream && self.flags & !(END_STREAM | PADDED) == 0,
                Kind::Headers => of_stream,
                Kind::RstStream => of_stream && self.length == 4,
                Kind::WindowUpdate => (of_stream || of_connection) && self.length == 4,
                Kind::Settings => of_connection && self.length.is_multiple_of(6),
                Kind::Other => of_connection && self.number == PING && self.length == 8,
                Kind::PushPromise | Kind::Continuation | Kind::Goaway => false,
            }
    }
}

impl Stage {
    const BETWEEN: Self = Self::Header { bytes: [0; HEADER], seen: 0 };
}

/// Bytes of a frame's header.
const HEADER: usize = 9;

/// Bytes of the client's connection preface (RFC 9113, section 3.4).
const PREFACE: u64 = CLIENT_PREFACE.len() as u64;

/// That preface.
pub(super) const CLIENT_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Longest payload that is believed. The default limit is 2^14, and few peers allow more than 2^20.
const LENGTH_LIMIT: u32 = 1 << 20;

/// A type that begins nothing and ends nothing, and can be distinguished from noise.
const PING: u8 = 6;

/// How far ahead of the last stream another may be, when frames between were not seen.
const STREAM_STEP: u32 = 2000;

/// Flags (RFC 9113, section 6): of DATA and HEADERS,
pub(super) const END_STREAM: u8 = 0x1;
/// of SETTINGS,
pub(super) const ACK: u8 = 0x1;
/// of HEADERS, PUSH_PROMISE and CONTINUATION,
pub(super) const END_HEADERS: u8 = 0x4;
/// of DATA, HEADERS and PUSH_PROMISE,
pub(super) const PADDED: u8 = 0x8;
/// of HEADERS.
pub(super) const PRIORITY: u8 = 0x20;

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
