//! Reasons for a request without a response, with names for reports.

use ackwise_http::{ResponseError, ResponseErrorKind};

use super::ConnectionError;

/// Why a request has no response. The server or the path is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The connection broke.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// No response, or no connection, within the client's timeout.
    #[error("no response in time")]
    TimedOut,
    /// The server closed without a response.
    #[error("closed without a response")]
    Closed,
    /// The connection closed within a response.
    #[error(transparent)]
    ShortBody(ResponseError),
    /// The received bytes are not HTTP.
    #[error(transparent)]
    Malformed(ResponseError),
    /// More bytes than the response's announced length.
    #[error("bytes after the end of the response")]
    Unasked,
    /// A status that reports a failure.
    #[error("status {0}")]
    Status(u16),
    /// Content of another size than the workload's.
    #[error("content of {found} bytes (expected {expected})")]
    Size {
        /// Bytes of the content.
        found: u64,
        /// The size that was asked for.
        expected: u64,
    },
    /// A response to GETWEB without an index, or with other files than its index says.
    #[error("content is not what GETWEB's index says")]
    Index,
    /// Content with another hash than expected.
    #[error("content with another SHA-256 than expected")]
    Content,
}

impl Failure {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connection(ConnectionError::Refused) => "refused",
            Self::Connection(ConnectionError::Reset) => "reset",
            Self::Connection(ConnectionError::TimedOut) | Self::TimedOut => "timed-out",
            Self::Connection(ConnectionError::Unreachable) => "unreachable",
            Self::Connection(ConnectionError::Tls) => "tls",
            Self::Connection(ConnectionError::System(_)) => "system",
            Self::Closed => "closed",
            Self::ShortBody(_) => "short-body",
            Self::Malformed(_) | Self::Unasked => "malformed",
            Self::Status(400..=499) => "status-4xx",
            Self::Status(_) => "status-5xx",
            Self::Size { .. } => "wrong-size",
            Self::Index => "wrong-index",
            Self::Content => "wrong-content",
        }
    }

    /// Whether a complete response arrived.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        matches!(self, Self::Status(_) | Self::Size { .. } | Self::Content)
    }
}

impl From<ResponseError> for Failure {
    fn from(error: ResponseError) -> Self {
        match error.kind {
            ResponseErrorKind::UnexpectedEnd(_) => Self::ShortBody(error),
            _ => Self::Malformed(error),
        }
    }
}
