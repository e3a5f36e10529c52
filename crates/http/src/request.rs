//! Requests: a builder for the client, a parser for the server.

mod build;
mod error;
mod limits;
mod parse;

pub use build::{ConnectionOption, RequestBuilder};
pub use error::{RequestError, RequestErrorKind};
pub use limits::{REQUEST_BODY_LIMIT, REQUEST_HEAD_LIMIT};
pub use parse::RequestParser;

use alloc::string::String;

use crate::{ConnectionOptions, Fields, Method, Version};

/// A request that has arrived completely. Its content is discarded.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Offset in the stream of the first byte of the request line.
    pub start: u64,
    /// Offset of the first byte after the message.
    pub end: u64,
    /// The method.
    pub method: Method,
    /// The request target as sent.
    pub target: String,
    /// The client's version.
    pub version: Version,
    /// The client's connection options.
    pub connection: ConnectionOptions,
    /// All fields.
    pub fields: Fields,
}

impl Request {
    /// The path of the target, without scheme, authority and query.
    ///
    /// RFC 9112, section 3.2.2: "a server MUST accept the absolute-form in requests even though
    /// most HTTP/1.1 clients will only send the absolute-form to a proxy".
    #[must_use]
    pub fn path(&self) -> &str {
        let target = self.target.as_str();
        let path = match target.split_once("://") {
            Some((scheme, rest)) if !scheme.contains('/') => {
                rest.find('/').map_or("/", |slash| &rest[slash..])
            }
            _ => target,
        };
        path.split('?').next().unwrap_or(path)
    }
}

/// "The asterisk-form of request-target" (RFC 9112, section 3.2.4), which names no resource.
pub(crate) const ASTERISK: &str = "*";
