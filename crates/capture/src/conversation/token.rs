//! Which bytes of a stream are what: protocol syntax, as the readers found it.
//!
//! For those who want to know what the readers looked at, for instance to write a capture that reads
//! the same. Contents, which nobody looks at, are no tokens.

use std::collections::VecDeque;

use ackwise_cause::Direction;
use ackwise_http::ChunkSyntax;

use super::Text;

/// Bytes that were read. Of the same bytes a later token counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Token {
    pub(crate) direction: Direction,
    /// Position of the first byte.
    pub(crate) at: u64,
    pub(crate) kind: TokenKind,
}

/// What they are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum TokenKind {
    /// Line ends before an HTTP/1 message.
    EmptyLines(Vec<u8>),
    /// The head of an HTTP/1 message, or as much of it as was captured.
    Head(Vec<u8>),
    /// Framing of a chunked body.
    Chunk(ChunkSyntax, Vec<u8>),
    /// Nothing that begins a message, or goes on with one; the first byte of it.
    Unreadable(u8),
    /// The client's connection preface of HTTP/2.
    Preface(&'static [u8]),
    /// A frame's header (RFC 9113, section 4.1).
    FrameHeader { length: u32, number: u8, flags: u8, stream: u32 },
    /// The payload of SETTINGS.
    Settings(Vec<u8>),
    /// The payload of WINDOW_UPDATE.
    WindowUpdate([u8; 4]),
    /// The payload of RST_STREAM, or that of GOAWAY up to what is for debugging.
    Error(Vec<u8>),
    /// The payload of HEADERS, PUSH_PROMISE or CONTINUATION.
    FieldBlock { length: u32, is_promise: bool, fields: KnownFields },
    /// Lengths, types and line ends of RESP, and words of its own; headers of messages of PostgreSQL; what other
    /// protocols are known by.
    Framing(Vec<u8>),
    /// The header of a TLS record.
    RecordHeader { content_type: u8, length: u16 },
    /// A hello: its handshake header, of this type, and `length` bytes behind that.
    Hello { message_type: u8, length: usize, alpn: Alpn },
}

/// What a field block says, once it is over.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct KnownFields {
    pub(crate) method: Option<Text>,
    pub(crate) path: Option<Text>,
    pub(crate) status: Option<u16>,
    pub(crate) protocol: Option<Text>,
}

/// What a hello's ALPN extension says (RFC 7301).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Alpn {
    /// There is none.
    Absent,
    /// HTTP/2, perhaps with others.
    Http2,
    /// Others, without HTTP/2.
    Other,
}

/// Where the readers of one direction put their tokens, if somebody asked for them.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    direction: Direction,
    queue: Option<&'a mut VecDeque<Token>>,
}

impl<'a> Tokens<'a> {
    pub(super) const fn new(direction: Direction, queue: Option<&'a mut VecDeque<Token>>) -> Self {
        Self { direction, queue }
    }

    /// Whether somebody asked for them.
    pub(super) const fn are_wanted(&self) -> bool {
        self.queue.is_some()
    }

    pub(super) fn push(&mut self, at: u64, kind: impl FnOnce() -> TokenKind) {
        if let Some(queue) = &mut self.queue {
            queue.push_back(Token { direction: self.direction, at, kind: kind() });
        }
    }
}
