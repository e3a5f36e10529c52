//! Every bound a client meets: none can hold a thread, memory or a port for as long as it likes.

use std::time::Duration;

/// The bounds of one server. The size of a request's head and content are `ackwise-http`'s
/// (`REQUEST_HEAD_LIMIT`, `REQUEST_BODY_LIMIT`), the idle time-out is the behaviour's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Connections open at once. One more is accepted and closed without a word, and counted in
    /// [`Stats::refused`](crate::Stats::refused).
    pub connections: usize,
    /// From the accept, or from a request's first byte, until its last.
    pub request: Duration,
    /// From the first write of a response, thinking included, until its last.
    pub response: Duration,
    /// How long a half-closed connection is read on for the client's FIN.
    pub linger: Duration,
}

impl Default for Limits {
    /// Wide for a client that measures, narrow for one that attacks.
    fn default() -> Self {
        Self {
            connections: 256,
            request: Duration::from_secs(20),
            response: Duration::from_secs(60),
            linger: Duration::from_secs(2), // Apache's MAX_SECS_TO_LINGER is 30, nginx waits 5.
        }
    }
}

/// Bytes read at once, and so the bound on the requests that are answered together.
pub(crate) const READ_SIZE: usize = 16 * 1024;

/// Bytes discarded after a half-close.
pub(crate) const LINGER_BYTES: usize = 256 * 1024;

/// Fields of a head without an end, 16 MB: more than any client should read of it.
pub(crate) const ENDLESS_FIELDS: usize = 300_000;

/// Stack of a connection's thread; it needs a tenth of this.
pub(crate) const STACK_SIZE: usize = 256 * 1024;

/// How long `stop` waits for connections: their sockets are shut down, so they end at once.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(5);

/// How long to leave the listener alone after an error such as "too many open files".
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
