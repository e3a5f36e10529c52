//! A client under test: Ackwise plays the server, runs the client's command, and records what it did.
//!
//! | file | purpose |
//! | --- | --- |
//! | `command` | the client's command |
//! | `wire` | the server's TCP: the kernel's, or our own on a TUN device |
//! | `script` | what the server does in a check |
//! | `http` | HTTP/1 and HTTP/2 on a connection, at the server's end |
//! | `play` | one run: the script on the wire, and the record of it |
//! | `runs` | the runs of a command in one version of HTTP |
//! | `observed` | the record |
//! | `counting` | counts and medians of it |
//! | `session`, `authority` | TLS, and the CA of a run |
//!
//! Not here: HTTP/3, and `Upgrade: h2c`, which RFC 9113 has dropped.

pub(crate) mod authority;
mod command;
pub(crate) mod counting;
mod http;
pub(crate) mod observed;
mod play;
pub(crate) mod runs;
pub(crate) mod script;
mod session;
pub(crate) mod wire;

use std::{ffi::OsString, io, net::SocketAddr, time::Duration};

use self::{observed::Observed, runs::how_it_ended};
use crate::http_client::Protocol;

/// Who the client is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListenClient {
    /// A command, program and arguments, which is run for each check. `{url}` in them stands for the server's URL.
    Command(Vec<OsString>),
    /// Whoever connects: one run, which ends after that number of requests. Only what every server would see is graded.
    Any {
        /// How many.
        requests: usize,
    },
}

/// Whether the check is to go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wish {
    /// It is.
    GoOn,
    /// It is to end with what it has found.
    End,
}

/// Why a client could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// There is no server.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// There is no private network.
    #[error("cannot make a private network: {0} (--host-network uses kernel sockets instead)")]
    Network(String),
    /// There is no CA.
    #[error("cannot make a CA: {0}")]
    Authority(String),
    /// There is no such program.
    #[error("cannot run {}: {_1}", _0.display())]
    Start(OsString, #[source] io::Error),
    /// It was to end before there was anything to report.
    #[error("interrupted")]
    Interrupted,
    /// Nobody sent a request.
    #[error("no client sent a request within {} s (--timeout)", _0.as_secs_f64())]
    Nobody(Duration),
    /// The first run sent no request.
    #[error("the command {how}{}", said(output))]
    NoRequest {
        /// What it did instead.
        how: String,
        /// Its last lines of output.
        output: String,
    },
}

impl ListenError {
    /// `output` is what the command wrote at last.
    fn no_request(seen: &Observed, wanted: Protocol, limit: Duration, output: String) -> Self {
        let how = how_it_ended(seen.exit, limit);
        let (wanted, other) = match wanted {
            Protocol::Http1 => ("HTTP/1", Protocol::Http2),
            Protocol::Http2 => ("HTTP/2", Protocol::Http1),
        };
        let not_http = seen.connections.iter().find_map(|it| it.not_http.as_deref());
        let what = match (seen.connections.is_empty(), not_http) {
            (true, _) => {
                "never connected to the server (expected it to request {url}, or the URL in ACKWISE_URL)"
                    .to_owned()
            }
            (_, Some(error)) => format!("sent no {wanted} request: {error}"),
            _ if seen.has(other) => {
                format!("sent no {wanted} request, but one in another version (see --http)")
            }
            (_, None) => {
                "connected, and sent no complete request (over TLS, it may not trust the CA: see --ca-out)"
                    .to_owned()
            }
        };
        Self::NoRequest { how: format!("{what}, and {how}"), output }
    }
}

/// What the command wrote at last.
fn said(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; its last output: {}", output.replace('\n', " | ")),
    }
}
