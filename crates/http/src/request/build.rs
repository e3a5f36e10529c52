//! Builds requests without content.

use alloc::{format, string::String, vec::Vec};

use crate::{EncodeError, Method, Version, encode};

/// A request to be sent.
///
/// ```
/// use ackwise_http::{ConnectionOption, RequestBuilder, Version};
///
/// let request = RequestBuilder::get("localhost", "/6651")
///     .version(Version::Http10)
///     .connection(ConnectionOption::KeepAlive)
///     .encode()?;
/// assert_eq!(request, b"GET /6651 HTTP/1.0\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n");
/// # Ok::<(), ackwise_http::EncodeError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct RequestBuilder {
    method: Method,
    host: String,
    target: String,
    version: Version,
    connection: Option<ConnectionOption>,
    fields: Vec<(String, String)>,
}

/// The option of the `Connection` field that a request may send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConnectionOption {
    /// `Keep-Alive`, which HTTP/1.0 needs to persist, capitalised as in 1996.
    KeepAlive,
    /// `close`.
    Close,
}

impl RequestBuilder {
    /// A request with `method` for `target` at `host` (with the port, if it is not the default).
    pub fn new(method: Method, host: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method,
            host: host.into(),
            target: target.into(),
            version: Version::Http11,
            connection: None,
            fields: Vec::new(),
        }
    }

    /// A GET of `target` at `host`.
    pub fn get(host: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(Method::Get, host, target)
    }

    /// Sets the version; HTTP/1.1 by default.
    pub const fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets the `Connection` field; none by default.
    pub const fn connection(mut self, option: ConnectionOption) -> Self {
        self.connection = Some(option);
        self
    }

    /// Appends a field.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Encodes the request with its empty line.
    ///
    /// # Errors
    ///
    /// If the target, or a field's name or value, is not allowed in a head.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let Self { method, host, target, version, connection, fields } = self;
        if target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(EncodeError::Target(target.clone()));
        }
        let mut head = format!("{} {target} {version}\r\n", method.as_str()).into_bytes();
        encode::field(&mut head, "Host", host)?;
        if let Some(option) = connection {
            encode::field(&mut head, "Connection", option.as_str())?;
        }
        for (name, value) in fields {
            encode::field(&mut head, name, value)?;
        }
        head.extend_from_slice(b"\r\n");
        Ok(head)
    }
}

impl ConnectionOption {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeepAlive => "Keep-Alive",
            Self::Close => "close",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_cannot_become_a_line() {
        for broken in [
            RequestBuilder::get("h", "/ HTTP/1.1\r\nX: y"),
            RequestBuilder::get("h", ""),
            RequestBuilder::get("h\r\nX: y", "/"),
            RequestBuilder::get("h", "/").field("X: y\r\nZ", "1"),
            RequestBuilder::get("h", "/").field("", "1"),
            RequestBuilder::get("h", "/").field("X", "1\n"),
        ] {
            assert!(broken.encode().is_err(), "{broken:?}");
        }
    }
}
