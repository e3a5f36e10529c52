//! A request, ready to be sent.

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder};

/// One request without content.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    octets: Vec<u8>,
}

impl Ask {
    /// A GET of `path` at `host`, with what a browser would say about the connection unless
    /// `connection` says otherwise.
    ///
    /// # Errors
    ///
    /// If `host` or `path` cannot stand in a request.
    pub(super) fn get(
        host: &str,
        path: &str,
        connection: Option<ConnectionOption>,
        range: Option<&str>,
    ) -> Result<Self, EncodeError> {
        let mut builder =
            RequestBuilder::get(host, path).field("User-Agent", USER_AGENT).field("Accept", "*/*");
        if let Some(option) = connection {
            builder = builder.connection(option);
        }
        if let Some(range) = range {
            builder = builder.field("Range", range);
        }
        Ok(Self { method: Method::Get, octets: builder.encode()? })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The request as it goes onto the wire.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// So that whoever reads the server's log knows who it was.
const USER_AGENT: &str = concat!("ackwise/", env!("CARGO_PKG_VERSION"));
