//! Responses: heads as data, a builder, and a parser that reports stream offsets.

mod build;
mod error;
mod limits;
mod parse;

pub use build::ResponseBuilder;
pub use error::{Found, ResponseError, ResponseErrorKind};
pub use limits::{INTERIM_LIMIT, RESPONSE_HEAD_LIMIT};
pub use parse::{ResponseEvent, ResponseParser, responses};

use crate::{Fields, Framing, KeepAlive, Method, Persistence, Version};

/// The head of a response and what follows from it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// Offset in the stream of the first byte of the status line.
    pub start: u64,
    /// Offset of the first byte after the empty line.
    pub end: u64,
    /// The server's version.
    pub version: Version,
    /// The status code, three digits.
    pub status: u16,
    /// The method of the request; `None` if there was no request (a 408, for example).
    pub answers: Option<Method>,
    /// How the body is delimited.
    pub framing: Framing,
    /// The `Content-Length`, which a response to HEAD has without a body.
    pub content_length: Option<u64>,
    /// Whether the connection accepts another request after this response.
    pub persistence: Persistence,
    /// The `Keep-Alive` field, if present.
    pub keep_alive: Option<KeepAlive>,
    /// All fields, for example `Location`, `Server`, `Accept-Ranges`.
    pub fields: Fields,
}

/// A response that has arrived completely.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// The head.
    pub head: ResponseHead,
    /// Bytes of content, without the framing around them.
    pub content: u64,
    /// Offset in the stream of the first byte after the body.
    pub end: u64,
}
