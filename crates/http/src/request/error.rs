//! Request errors. The client is at fault.

use core::fmt;

use crate::{
    FramingError,
    chunked::ChunkError,
    head::FIELD_LIMIT,
    request::{REQUEST_BODY_LIMIT, REQUEST_HEAD_LIMIT},
};

/// What is wrong with a stream of requests, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestError {
    /// Stream offset of the offending byte, or of the line or head that contains the fault if no
    /// single byte is at fault.
    pub at: u64,
    /// What is wrong, and what was expected instead.
    pub kind: RequestErrorKind,
}

/// The kinds of [`RequestError`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestErrorKind {
    /// A malformed line of the head; the first line if the input is not HTTP.
    #[error("malformed line in the head: {0}")]
    Head(httparse::Error),
    /// The head does not end within the limit.
    #[error("expected the end of the head within {REQUEST_HEAD_LIMIT} bytes")]
    HeadTooLarge,
    /// The head has too many lines.
    #[error("expected at most {FIELD_LIMIT} header fields")]
    TooManyFields,
    /// A method not defined by RFC 9110, or a CLIENT_CLOSE or GETWEB to a server that does not support it.
    #[error("expected a method of RFC 9110")]
    Method,
    /// A malformed CLIENT_CLOSE.
    #[error("expected `CLIENT_CLOSE * HTTP/1.1` without content")]
    ClientClose,
    /// HTTP/1.1 without exactly one `Host` (RFC 9112, section 3.2).
    #[error("expected exactly one Host field")]
    Host,
    /// The fields do not determine the end of the body.
    #[error(transparent)]
    Framing(FramingError),
    /// The chunk framing of the body is malformed.
    #[error(transparent)]
    Chunk(ChunkError),
    /// More content than the server discards.
    #[error("expected at most {REQUEST_BODY_LIMIT} bytes of content")]
    BodyTooLarge,
}

impl RequestErrorKind {
    /// The status code to respond with.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::Head(httparse::Error::Version) => 505,
            Self::Head(_) | Self::ClientClose | Self::Host | Self::Framing(_) | Self::Chunk(_) => {
                400
            }
            Self::HeadTooLarge | Self::TooManyFields => 431,
            Self::Method => 501,
            Self::BodyTooLarge => 413,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the stream)", self.kind, self.at)
    }
}

impl core::error::Error for RequestError {}
