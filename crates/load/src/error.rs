//! Errors that prevent a report.

use std::net::SocketAddr;

use ackwise_http::EncodeError;
use ackwise_net::{ConnectError, ConnectionError, Unresolved};
use ackwise_text::words::counted;

use crate::generator::{Failure, RunError};

/// Why a run could not be made, or had no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The options contradict each other.
    #[error("{0}")]
    Options(String),
    /// The server's name has no address.
    #[error(transparent)]
    Resolve(#[from] Unresolved),
    /// The target is not allowed in a request.
    #[error("cannot build the request: {0}")]
    Request(#[from] EncodeError),
    /// The process given by `--server-pid` cannot be inspected.
    #[error("--server-pid: {0}")]
    ServerProcess(String),
    /// Ackwise's TCP has no route to the server.
    #[error("{0}")]
    Wire(String),
    /// No TLS session with the server is possible.
    #[error("cannot set up TLS with {0}: {1}")]
    Tls(String, String),
    /// The local system is at fault.
    #[error("{}", system(.0))]
    Run(#[from] RunError),
    /// The transport could not be set up.
    #[error("cannot open connections: {0}")]
    System(#[source] std::io::Error),
    /// No connection could be attempted.
    #[error(
        "cannot connect to {0}: no free local port (another run, or its TIME-WAIT, may hold them)"
    )]
    NoPort(SocketAddr),
    /// No request was answered.
    #[error("{}", unanswered(*server, *failed, *failure, kind))]
    NothingAnswered {
        /// The server.
        server: SocketAddr,
        /// Number of failed requests.
        failed: u64,
        /// The first failure of the most frequent kind.
        failure: Failure,
        /// That kind.
        kind: &'static str,
    },
}

fn unanswered(server: SocketAddr, failed: u64, failure: Failure, kind: &str) -> String {
    match failure {
        Failure::Connection(ConnectionError::Refused) => {
            format!(
                "cannot connect to {server}: {failure} ({kind}: no server is listening on that port)"
            )
        }
        Failure::Connection(ConnectionError::Unreachable) => {
            format!("cannot connect to {server}: {failure} ({kind})")
        }
        _ => {
            let requests = counted(failed, "request");
            format!("no response from {server} to {requests}: {failure} ({kind})")
        }
    }
}

fn system(error: &RunError) -> String {
    match error {
        RunError::Connect(ConnectError::System(error)) => {
            format!("cannot open a connection: {error}")
        }
        error => error.to_string(),
    }
}
