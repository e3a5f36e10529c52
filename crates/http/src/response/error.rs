//! Response errors. The server is at fault, or whatever cut the connection.

use core::fmt;

use crate::{
    Missing,
    chunked::ChunkError,
    framing::FramingError,
    head::FIELD_LIMIT,
    response::{INTERIM_LIMIT, RESPONSE_HEAD_LIMIT},
};

/// What is wrong with a stream of responses, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ResponseError {
    /// Stream offset of the offending byte, or of the line or head that contains the fault if no
    /// single byte is at fault.
    pub at: u64,
    /// What is wrong, and what was expected instead.
    pub kind: ResponseErrorKind,
}

/// The kinds of [`ResponseError`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseErrorKind {
    /// The stream is not HTTP, or its position in the stream is lost.
    #[error("expected \"HTTP/1.\", found {0}: not HTTP")]
    NotHttp(Found),
    /// The head does not end within the limit.
    #[error("expected the end of the head within {RESPONSE_HEAD_LIMIT} bytes")]
    HeadTooLarge,
    /// The head has too many lines.
    #[error("expected at most {FIELD_LIMIT} header fields")]
    TooManyFields,
    /// A malformed line of the head.
    #[error("malformed line in the head: {0}")]
    Head(httparse::Error),
    /// Interim responses without a final one.
    #[error("expected a final response after {INTERIM_LIMIT} interim ones")]
    TooManyInterim,
    /// The fields do not determine the end of the body.
    #[error(transparent)]
    Framing(FramingError),
    /// The chunk framing of the body is malformed.
    #[error(transparent)]
    Chunk(ChunkError),
    /// The connection closed in the middle of a response.
    #[error("connection closed before {0}")]
    UnexpectedEnd(Missing),
    /// Bytes after a response that was announced as the last.
    #[error("expected the connection to close after the last response, found {0}")]
    AfterLast(Found),
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the stream)", self.kind, self.at)
    }
}

impl core::error::Error for ResponseError {}

/// The first offending bytes, for an error message.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Found {
    bytes: [u8; Self::SHOWN],
    length: u8,
}

impl Found {
    /// Enough to recognise a TLS record, an SSH banner or the middle of a document (our choice).
    const SHOWN: usize = 16;

    pub(crate) fn new(found: &[u8]) -> Self {
        let mut bytes = [0; Self::SHOWN];
        let mut length = 0;
        for (shown, &byte) in bytes.iter_mut().zip(found) {
            *shown = byte;
            length += 1;
        }
        Self { bytes, length }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes[..self.length.into()].escape_ascii())
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
