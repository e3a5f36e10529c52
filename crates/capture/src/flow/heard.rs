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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_again_was_heard_the_first_time() {
        let mut heard = HeardByServer::default();
        for (position, micros, since) in
            [(0, 1, 0), (100, 2, 2), (100, 3, 2), (99, 4, 2), (101, 5, 5)]
        {
            heard.note(position, Instant::from_nanos(micros));
            assert_eq!(heard.at, Instant::from_nanos(since), "{position}");
        }
    }
}
