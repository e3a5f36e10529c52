//! Requests in and responses out, in one version of HTTP or the other.

use std::time::Duration;

use super::{
    ExchangeError, Request, draft::PartialResponse, http1::Http1, http2::Http2, plain::Plain,
    request::Encoded,
};
use crate::http_client::Protocol;

/// One connection's side of HTTP that knows no time.
pub(super) enum Reader {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
}

impl Reader {
    pub(super) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1(Box::new(Http1::new())),
            Protocol::Http2 => Self::Http2(Box::new(Http2::new())),
        }
    }

    /// Takes a request; its response is expected from now on.
    pub(super) fn ask(&mut self, request: &Request) -> Encoded {
        match self {
            Self::Http1(http1) => {
                http1.expect(request.method());
                request.as_text()
            }
            Self::Http2(http2) => http2.ask(request),
        }
    }

    /// The next response is read from here on; the first `kept` bytes of its content are kept.
    pub(super) fn begin(&mut self, kept: usize) {
        match self {
            Self::Http1(http1) => http1.begin(kept),
            Self::Http2(http2) => http2.begin(kept),
        }
    }

    /// Takes bytes that became readable.
    pub(super) fn feed(&mut self, plain: Plain) {
        match self {
            Self::Http1(http1) => http1.feed(plain),
            Self::Http2(http2) => http2.feed(&plain),
        }
    }

    /// What has to be sent at once, or before anything else.
    pub(super) fn take_due(&mut self) -> Vec<u8> {
        match self {
            Self::Http1(_) => Vec::new(),
            Self::Http2(http2) => http2.take_due(),
        }
    }

    /// What asks HTTP/2's server whether it is there.
    pub(super) fn ping(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(http2) => Some(http2.ping()),
        }
    }

    /// Whether more lies here than a response that nobody asked for deserves.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.is_full(),
            Self::Http2(_) => false, // It keeps nothing that it does not expect.
        }
    }

    /// Reads on; whether the response has ended.
    pub(super) fn advance(&mut self) -> Result<bool, ExchangeError> {
        match self {
            Self::Http1(http1) => http1.advance(),
            Self::Http2(http2) => http2.advance(),
        }
    }

    pub(super) fn draft(&self) -> &PartialResponse {
        match self {
            Self::Http1(http1) => http1.draft(),
            Self::Http2(http2) => http2.draft(),
        }
    }

    pub(super) fn take_draft(&mut self) -> PartialResponse {
        match self {
            Self::Http1(http1) => http1.take_draft(),
            Self::Http2(http2) => http2.take_draft(),
        }
    }

    /// The server has closed: whether that ended the response.
    pub(super) fn close(&mut self) -> Result<bool, ExchangeError> {
        match self {
            Self::Http1(http1) => http1.close(),
            Self::Http2(http2) => http2.close(),
        }
    }

    /// The error of a response whose head has not ended after `waited`.
    pub(super) fn unanswered(&self, waited: Duration) -> ExchangeError {
        match self {
            Self::Http1(http1) => http1.unanswered(waited),
            Self::Http2(http2) => http2.unanswered(waited),
        }
    }

    /// HTTP/2's state, if the connection has one.
    pub(super) fn http2(&self) -> Option<&Http2> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(http2) => Some(http2),
        }
    }
}
