//! What the connections show about a server, in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::millis;
use crate::servers::{Ends, Server};

/// All connections to one server.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ServerFacts {
    /// Address and port.
    server: String,
    /// Number of connections.
    connections: u64,
    /// Number of exchanges.
    exchanges: u64,
    /// Number of connections by the end that sent the first FIN or RST.
    closed_first: Ends,
    /// Number of connections by the end that held TIME-WAIT.
    time_wait: Ends,
    /// Number of connections ended by an RST.
    reset: u64,
    /// Number of persistent connections that were idle for a second or more at the end of the capture.
    idle_open: u64,
    /// Their longest idle time.
    idle_open_ms: f64,
    /// Number of persistent connections that were closed after a second or more of idle time.
    idle_closed: u64,
    /// Their longest idle time. If the end that closed did so on a timer, this is its keep-alive timeout.
    idle_closed_ms: f64,
}

impl ServerFacts {
    pub(super) fn of(it: &Server) -> Self {
        Self {
            server: it.address.to_string(),
            connections: it.connections,
            exchanges: it.exchanges,
            closed_first: it.closed_first,
            time_wait: it.time_wait,
            reset: it.reset,
            idle_open: it.idle.open,
            idle_open_ms: millis(it.idle.open_for),
            idle_closed: it.idle.closed,
            idle_closed_ms: millis(it.idle.closed_after),
        }
    }
}
