//! Listening ports.

use std::sync::Arc;

use ackwise_tcp::{Config, driver};

use super::{ConnectionId, Tap};

/// Options of a listener.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// Configuration of its connections.
    pub config: Config,
    /// Maximum number of connections in the handshake or waiting for [`super::TunStack::accept`].
    /// Further SYNs are dropped, and the clients retransmit them.
    pub backlog: usize,
    /// Whether segments of its connections are traced.
    pub tap: Tap,
}

/// A port with its unaccepted connections.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) config: Arc<Config>,
    pub(super) tap: Tap,
    pub(super) listener: driver::Listener<ConnectionId>,
}

impl Port {
    pub(super) fn new(listen: Listen) -> Self {
        let Listen { config, backlog, tap } = listen;
        Self { config: Arc::new(config), tap, listener: driver::Listener::new(backlog) }
    }
}
