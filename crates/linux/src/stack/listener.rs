//! Ports that wait for connections.

use std::sync::Arc;

use ackwise_tcp::{Config, driver};

use super::{ConnectionId, Tap};

/// How connections to a port are taken.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// What each of them is created with.
    pub config: Config,
    /// How many may be in the handshake or wait for [`super::TunStack::accept`]; a SYN beyond that is
    /// dropped, and the client retransmits it.
    pub backlog: usize,
    /// Whether their segments are kept.
    pub tap: Tap,
}

/// A port with its connections that nobody has accepted.
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
