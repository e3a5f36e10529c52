//! Why there is no card: what went wrong, where, and what was expected.

use std::net::SocketAddr;

use ackwise_net::{Target, Unresolved};

use crate::{
    http_client::ExchangeError,
    stack::{ConnectError, TransportError},
};

/// Why a server could not be checked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The name has no address.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// There is no connection, or no answer on it that is HTTP.
    #[error("{}", unanswered(*server, error))]
    Unanswered {
        /// The address.
        server: SocketAddr,
        /// What went wrong.
        error: ExchangeError,
    },
    /// What answers a request in clear text looks like TLS.
    #[error("{} (if the server expects TLS, check {url})", unanswered(*server, error))]
    PerhapsTls {
        /// The address.
        server: SocketAddr,
        /// What went wrong.
        error: ExchangeError,
        /// What to check instead.
        url: String,
    },
    /// The server answers HTTP/1.1 with a frame of HTTP/2.
    #[error("{server} speaks only HTTP/2 on this port (check it with --http 2)")]
    OnlyHttp2 {
        /// The address.
        server: SocketAddr,
    },
    /// Nobody answers on TCP, but QUIC is spoken there.
    #[error(
        "{server} speaks only HTTP/3 (QUIC), which `ackwise check` does not judge (expected TCP)"
    )]
    OnlyHttp3 {
        /// The address.
        server: SocketAddr,
    },
    /// The server sends us in a circle.
    #[error(
        "cannot check {target}: redirect loop {chain} (expected a page after at most {limit} redirects)"
    )]
    RedirectLoop {
        /// Where it began.
        target: String,
        /// The paths, in order.
        chain: String,
        /// How many were followed.
        limit: usize,
    },
    /// A page has another status than the caller expects.
    #[error("{page} responds with status {status} (expected {expected}, from --expect)")]
    Status {
        /// The page.
        page: String,
        /// Its status.
        status: u16,
        /// What it should be.
        expected: u16,
    },
    /// The stack that was asked for cannot be had.
    #[error("{0}")]
    Stack(String),
    /// The options ask for something impossible.
    #[error("{0}")]
    Options(String),
}

impl CheckError {
    pub(super) fn unanswered(server: SocketAddr, error: ExchangeError, page: &Target) -> Self {
        if error.shows_http2() {
            return Self::OnlyHttp2 { server };
        }
        match !page.is_secure() && error.hints_at_tls() {
            true => Self::PerhapsTls { server, error, url: page.with_other_scheme().to_string() },
            false => Self::Unanswered { server, error },
        }
    }

    /// Whether a server that does not speak HTTP/1.1 may answer it like this.
    pub(super) fn is_for_another_version(&self) -> bool {
        matches!(self, Self::Unanswered { error, .. } | Self::PerhapsTls { error, .. } if error.may_mean_http2())
            || self.shows_http2()
    }

    /// Whether the server has answered HTTP/1.1 with a frame of HTTP/2.
    pub(super) const fn shows_http2(&self) -> bool {
        matches!(self, Self::OnlyHttp2 { .. })
    }

    /// Whether another address of the same name may have a server.
    pub(super) fn may_differ_by_address(&self) -> bool {
        let Self::Unanswered { error, .. } = self else { return false };
        matches!(
            error,
            ExchangeError::Connect(
                ConnectError::Refused(_) | ConnectError::TimedOut(..) | ConnectError::System(..)
            ) | ExchangeError::Transport(TransportError::TimedOut)
        )
    }
}

fn unanswered(server: SocketAddr, error: &ExchangeError) -> String {
    match error {
        // It names the address itself.
        ExchangeError::Connect(error) => error.to_string(),
        _ => format!("{server}: {error}"),
    }
}
