//! Listening ports.

use std::sync::Arc;

use ackwise_tcp::{
    Config,
    driver::{self, CookieSecret, SynCookies},
};

use super::{ConnectionId, Tap};

/// Options of a listener.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// Configuration of its connections.
    pub config: Config,
    /// Maximum number of connections in the handshake or waiting for [`super::TunStack::accept`].
    /// Further SYNs are answered by cookies; as many clients again that return one may wait.
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
    pub(super) fn new(listen: Listen, secret: CookieSecret) -> Self {
        let Listen { config, backlog, tap } = listen;
        let cookies = SynCookies::new(secret, config.policies.offer);
        let listener = driver::Listener::new(backlog).with_cookies(cookies);
        Self { config: Arc::new(config), tap, listener }
    }
}
