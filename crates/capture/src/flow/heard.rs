//! Until when the server's acknowledgements have shown what it had of the requests.

use ackwise_tcp::Instant;

/// What the server has acknowledged without sending data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeardByServer {
    /// Up to here.
    pub position: u64,
    /// When that was seen.
    pub at: Instant,
}

impl HeardByServer {
    /// It had acknowledged up to `position` when the packet at `at` had been seen.
    pub(crate) fn note(&mut self, position: u64, at: Instant) {
        if position > self.position {
            *self = Self { position, at };
        }
    }
}
