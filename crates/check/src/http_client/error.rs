//! Why an exchange failed, and which end is at fault.

use std::time::Duration;

use ackwise_http::{EncodeError, ResponseError};

use super::LimitReached;
use crate::{
    stack::{ConnectError, TransportError},
    verdict::Reason,
};

/// Why there is no exchange.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The budget is used up.
    #[error(transparent)]
    LimitReached(#[from] LimitReached),
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection is gone.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server closed the connection without a response.
    #[error("no response: the server {}", ending(*.0))]
    ClosedUnanswered(Option<TransportError>),
    /// HTTP/2's server has not processed the request, which may be sent again (RFC 9113, section 8.7).
    #[error("no response: the server did not process the request (REFUSED_STREAM or GOAWAY)")]
    Unprocessed,
    /// The server is silent.
    #[error("no response: no bytes within {0:.1?}")]
    Silent(Duration),
    /// The head of the response does not end.
    #[error(
        "incomplete response: its head does not end within {bytes} bytes and {waited:.1?} (it begins with \"{sample}\")"
    )]
    EndlessHead {
        /// Bytes that came.
        bytes: u64,
        /// Time since the request.
        waited: Duration,
        /// What came first, escaped.
        sample: String,
    },
    /// What came is not HTTP, or broken HTTP.
    #[error("{error} (the response begins with \"{sample}\")")]
    Http {
        /// What is wrong, and where.
        error: ResponseError,
        /// What came first, escaped.
        sample: String,
    },
    /// What came is not HTTP/2, or broken HTTP/2, or the server refuses the stream.
    #[error("HTTP/2: {0}")]
    Http2(String),
    /// The server sends without being asked, or in too many pieces.
    #[error("response too long: the server sends more bytes than its response has")]
    TooMuch,
    /// The TLS handshake or a record failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The TLS handshake does not end.
    #[error(
        "incomplete TLS handshake: the server does not finish it within {0:.1?} (if it has no TLS, use http://)"
    )]
    EndlessHandshake(Duration),
    /// The target cannot be asked for.
    #[error("{0}")]
    Request(String),
}

impl ExchangeError {
    /// Why a check that ends with this has no verdict. A server that cannot be reached any more, or whose
    /// connection breaks, has answered before: the path or the server has changed.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Connect(_) | Self::Transport(_) => Reason::Disturbed,
            Self::LimitReached(_) => Reason::Limit,
            Self::Silent(_)
            | Self::EndlessHandshake(_)
            | Self::ClosedUnanswered(_)
            | Self::Unprocessed
            | Self::EndlessHead { .. }
            | Self::Http { .. }
            | Self::Http2(_)
            | Self::TooMuch
            | Self::Tls(_)
            | Self::Request(_) => Reason::NoAnswer,
        }
    }

    /// Whether the server has answered HTTP/1.1 with a frame of HTTP/2.
    pub(crate) fn shows_http2(&self) -> bool {
        matches!(self, Self::Http { sample, .. } if is_settings(sample))
    }

    /// Whether a server that speaks HTTP/2 alone may answer HTTP/1.1 like this: not at all, or, over TLS, with an alert.
    pub(crate) fn may_mean_http2(&self) -> bool {
        matches!(self, Self::ClosedUnanswered(_) | Self::Tls(_))
    }

    /// Whether a server that expects TLS would answer plain HTTP like this: with an alert (RFC 8446,
    /// section 6), or with no answer.
    pub(crate) fn hints_at_tls(&self) -> bool {
        match self {
            Self::ClosedUnanswered(_) => true,
            Self::Http { sample, .. } => sample.starts_with(ALERT),
            _ => false,
        }
    }
}

/// What a server that speaks HTTP/2 alone sends first: a SETTINGS frame (RFC 9113, sections 3.4 and 4.1: a
/// length of three bytes, type 4, no flags, stream 0), escaped as in a sample.
fn is_settings(sample: &str) -> bool {
    let rest = sample.strip_prefix("\\x00\\x00").unwrap_or_default();
    // The third byte of the length may be escaped or not.
    rest.split_once(FRAME).is_some_and(|(length, _)| length.len() <= "\\x12".len())
}

const FRAME: &str = "\\x04\\x00\\x00\\x00\\x00\\x00";

/// Content type and major version of a TLS record with an alert, escaped as in a sample.
const ALERT: &str = "\\x15\\x03";

impl From<EncodeError> for ExchangeError {
    fn from(error: EncodeError) -> Self {
        Self::Request(error.to_string())
    }
}

fn ending(error: Option<TransportError>) -> String {
    match error {
        None => "closed the connection".to_owned(),
        Some(error) => format!("broke the connection: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::is_settings;

    #[test]
    fn a_settings_frame_is_recognised() {
        let frame = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert!(is_settings(&frame(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80")));
        assert!(is_settings(&frame(b"\0\0\0\x04\0\0\0\0\0")));
        assert!(is_settings(&frame(b"\0\0$\x04\0\0\0\0\0")));
        assert!(!is_settings(&frame(b"\0\0\x12\x05\0\0\0\0\0")));
        assert!(!is_settings("HTTP/0.9 hello"));
    }
}
