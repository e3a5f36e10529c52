//! Builds response heads.

use alloc::{format, string::String, vec::Vec};

use crate::{EncodeError, Version, encode, reason_phrase};

/// The head of a response to be sent. The caller supplies the body and the fields that describe it.
///
/// ```
/// use ackwise_http::{ResponseBuilder, Version};
///
/// let head = ResponseBuilder::new(Version::Http11, 200).field("Content-Length", "5").encode()?;
/// assert_eq!(head, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
/// # Ok::<(), ackwise_http::EncodeError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct ResponseBuilder {
    version: Version,
    status: u16,
    fields: Vec<(String, String)>,
}

impl ResponseBuilder {
    /// A head with only a status line; its reason phrase is RFC 9110's.
    pub const fn new(version: Version, status: u16) -> Self {
        Self { version, status, fields: Vec::new() }
    }

    /// Appends a field.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Encodes the head with its empty line.
    ///
    /// # Errors
    ///
    /// If a field's name or value is not allowed in a head.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let Self { version, status, fields } = self;
        let mut head = format!("{version} {status:03} {}\r\n", reason_phrase(*status)).into_bytes();
        for (name, value) in fields {
            encode::field(&mut head, name, value)?;
        }
        head.extend_from_slice(b"\r\n");
        Ok(head)
    }
}
