//! A request, ready to be sent.

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder};

/// Something to ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Page {
    /// The path, with the query.
    pub path: String,
    /// Only these bytes of it.
    pub bytes: Option<ByteRange>,
}

/// A range of bytes as RFC 9110, section 14.1.2, has it: both ends belong to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ByteRange {
    /// The first one.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl Page {
    /// All of `path`.
    #[must_use]
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), bytes: None }
    }

    /// The bytes `first` to `last` of this page.
    #[must_use]
    pub fn range(&self, first: u64, last: u64) -> Self {
        Self { path: self.path.clone(), bytes: Some(ByteRange { first, last }) }
    }
}

/// One request without content.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    bytes: Vec<u8>,
}

impl Request {
    pub(super) fn get(
        host: &str,
        page: &Page,
        connection: Option<ConnectionOption>,
    ) -> Result<Self, EncodeError> {
        let mut builder = RequestBuilder::get(host, &page.path)
            .field("User-Agent", USER_AGENT)
            .field("Accept", "*/*");
        if let Some(option) = connection {
            builder = builder.connection(option);
        }
        if let Some(ByteRange { first, last }) = page.bytes {
            builder = builder.field("Range", format!("bytes={first}-{last}"));
        }
        Ok(Self { method: Method::Get, bytes: builder.encode()? })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The request as it goes onto the wire.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// So that whoever reads the server's log knows who it was.
const USER_AGENT: &str = concat!("ackwise/", env!("CARGO_PKG_VERSION"));
