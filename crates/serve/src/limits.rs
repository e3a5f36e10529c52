//! Limits on a client: no client can hold a thread, memory or a port indefinitely.

use std::time::Duration;

/// The limits of one server. Those on a request's head and content are in `ackwise-http`
/// (`REQUEST_HEAD_LIMIT`, `REQUEST_BODY_LIMIT`), the idle timeout is part of the behaviour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Maximum number of open connections. Further ones are accepted, closed without a response,
    /// and counted in [`Stats::refused`](crate::Stats::refused).
    pub connections: usize,
    /// Time from the accept, or from a request's first byte, to its last byte.
    pub request: Duration,
    /// Time from the first write of a response, think time included, to its last byte.
    pub response: Duration,
    /// How long a half-closed connection waits for the client's FIN.
    pub linger: Duration,
}

impl Default for Limits {
    /// Generous for a measuring client, tight for an attacker (our choice).
    fn default() -> Self {
        Self {
            connections: 256,
            request: Duration::from_secs(20),
            response: Duration::from_secs(60),
            linger: Duration::from_secs(2), // Apache's MAX_SECS_TO_LINGER is 30, nginx waits 5.
        }
    }
}

/// Size of one read in bytes, which also bounds the requests answered together (our choice).
pub(crate) const READ_SIZE: usize = 16 * 1024;

/// Maximum number of bytes discarded after a half-close (our choice).
pub(crate) const LINGER_BYTES: usize = 256 * 1024;

/// Number of fields in an endless head, 16 MB: more than any client should read (our choice).
pub(crate) const ENDLESS_FIELDS: usize = 300_000;

/// Stack size in bytes of a connection's thread, ten times what it needs.
pub(crate) const STACK_SIZE: usize = 256 * 1024;

/// How long `stop` waits for connections (our choice). Their sockets are shut down, so they end
/// immediately.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(5);

/// Pause after an accept error such as "too many open files" (our choice).
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
