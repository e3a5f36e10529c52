//! A frame's header (RFC 9113, section 4.1).

use alloc::vec::Vec;

/// What stands before each payload.
///
/// ```
/// use ackwise_http::http2::{FrameHeader, FrameKind};
///
/// let settings = FrameHeader::parse(&[0, 0, 6, 4, 0, 0, 0, 0, 0]);
/// assert_eq!((settings.kind, settings.length, settings.stream), (FrameKind::Settings, 6, 0));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FrameHeader {
    /// The type.
    pub kind: FrameKind,
    /// The flags; what each means depends on the type.
    pub flags: u8,
    /// The stream, 0 for the connection.
    pub stream: u32,
    /// Bytes of the payload.
    pub length: u32,
}

/// A frame's type (RFC 9113, section 6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "RFC 9113 defines each by its name")]
pub enum FrameKind {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    Goaway,
    WindowUpdate,
    Continuation,
    /// An extension, by its number.
    Other(u8),
}

impl FrameKind {
    /// The type with this number.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::Data,
            1 => Self::Headers,
            2 => Self::Priority,
            3 => Self::RstStream,
            4 => Self::Settings,
            5 => Self::PushPromise,
            6 => Self::Ping,
            7 => Self::Goaway,
            8 => Self::WindowUpdate,
            9 => Self::Continuation,
            other => Self::Other(other),
        }
    }

    /// The number of the type.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Headers => 1,
            Self::Priority => 2,
            Self::RstStream => 3,
            Self::Settings => 4,
            Self::PushPromise => 5,
            Self::Ping => 6,
            Self::Goaway => 7,
            Self::WindowUpdate => 8,
            Self::Continuation => 9,
            Self::Other(number) => number,
        }
    }
}

impl FrameHeader {
    /// Bytes of a header.
    pub const SIZE: usize = 9;

    /// Reads a header.
    #[must_use]
    pub const fn parse(header: &[u8; Self::SIZE]) -> Self {
        let [a, b, c, number, flags, stream @ ..] = *header;
        // The highest bit is reserved.
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        let length = u32::from_be_bytes([0, a, b, c]);
        Self { kind: FrameKind::of(number), flags, stream, length }
    }

    /// Whether the flag is set.
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Appends a frame with `payload`, of which `length` takes the size.
    ///
    /// # Panics
    ///
    /// If the payload has 2^24 bytes or more.
    pub fn append(kind: FrameKind, flags: u8, stream: u32, payload: &[u8], to: &mut Vec<u8>) {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
        assert_eq!(length[0], 0, "a payload of {} bytes", payload.len());
        to.extend_from_slice(&length[1..]);
        to.extend_from_slice(&[kind.number(), flags]);
        to.extend_from_slice(&stream.to_be_bytes());
        to.extend_from_slice(payload);
    }
}

/// The client's connection preface (RFC 9113, section 3.4).
pub const CLIENT_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Flags (RFC 9113, section 6): of DATA and HEADERS,
pub const END_STREAM: u8 = 0x1;
/// of SETTINGS and PING,
pub const ACK: u8 = 0x1;
/// of HEADERS, PUSH_PROMISE and CONTINUATION,
pub const END_HEADERS: u8 = 0x4;
/// of DATA, HEADERS and PUSH_PROMISE,
pub const PADDED: u8 = 0x8;
/// of HEADERS.
pub const PRIORITY: u8 = 0x20;

/// The name of an error code (RFC 9113, section 7); `None` if it has none.
#[must_use]
pub fn error_name(code: u32) -> Option<&'static str> {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(usize::try_from(code).ok()?).copied()
}

/// The part of a payload that belongs to the field block (RFC 9113, sections 6.2, 6.6 and 6.10), or to the content
/// (section 6.1): without padding, priority and promised stream.
#[must_use]
pub fn content<'a>(header: &FrameHeader, payload: &'a [u8]) -> &'a [u8] {
    let rest = unpadded_from(header, payload);
    let padding = match (header.kind, payload.first()) {
        (FrameKind::Continuation, _) | (_, None) => 0,
        (_, Some(padding)) if header.has(PADDED) => usize::from(*padding),
        _ => 0,
    };
    &rest[..rest.len().saturating_sub(padding)]
}

/// As [`content`], of a payload that may be cut: what could be padding is there.
#[must_use]
pub fn unpadded_from<'a>(header: &FrameHeader, payload: &'a [u8]) -> &'a [u8] {
    let prefix = match header.kind {
        FrameKind::Continuation => return payload,
        FrameKind::PushPromise => 4,
        FrameKind::Headers if header.has(PRIORITY) => 5,
        _ => 0,
    };
    payload.get(usize::from(header.has(PADDED)) + prefix..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for number in 0..=u8::MAX {
            let kind = FrameKind::of(number);
            let mut wire = Vec::new();
            FrameHeader::append(kind, ACK | PADDED, 7, b"abc", &mut wire);
            let header = FrameHeader::parse(wire.first_chunk().unwrap());
            assert_eq!(header, FrameHeader { kind, flags: 9, stream: 7, length: 3 });
            assert_eq!(&wire[FrameHeader::SIZE..], b"abc");
        }
    }

    #[test]
    fn padding_and_priority_are_not_content() {
        use FrameKind::{Continuation, Data, Headers, PushPromise};
        for (kind, flags, payload, expected) in [
            (Data, 0, &b"abc"[..], &b"abc"[..]),
            (Data, PADDED, b"\x02abc12", b"abc"),
            (Data, PADDED, b"\x09abc", b""),
            (Data, PADDED, b"", b""),
            (Headers, PRIORITY, b"12345abc", b"abc"),
            (Headers, PRIORITY | PADDED, b"\x0112345abc1", b"abc"),
            (Headers, PRIORITY, b"123", b""),
            (PushPromise, PADDED, b"\x011234abc1", b"abc"),
            (Continuation, PADDED | PRIORITY, b"\x01abc", b"\x01abc"),
        ] {
            let header = FrameHeader { kind, flags, stream: 1, length: 0 };
            assert_eq!(content(&header, payload), expected, "{kind:?} {flags:x}");
        }
    }
}
