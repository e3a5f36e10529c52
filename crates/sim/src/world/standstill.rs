//! Whether virtual time passes: a world may go on and on at one moment, if nothing in it takes time.

use ackwise_tcp::Instant;

/// Counts what happens at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standstill {
    at: Instant,
    steps: u64,
    most: u64,
}

impl Standstill {
    /// Steps at one moment, beside those of each user, client and source: a transfer of a gigabyte over
    /// a link that takes no time has fewer (our choice).
    const MOST: u64 = 2_000_000;

    /// For each user, client and source: all of them may fetch a page at one moment (our choice).
    const MOST_EACH: u64 = 1_000;

    /// What a page without a request counts: it leaves a time behind, which takes memory (our choice).
    pub(super) const PAGE: u64 = 100;

    /// For a world in which nothing has happened yet; `participants` counts users, clients and sources.
    pub(super) fn new(participants: u32) -> Self {
        let most = Self::MOST + Self::MOST_EACH * u64::from(participants);
        Self { at: Instant::EPOCH, steps: 0, most }
    }

    /// Counts `steps` of a moment; the limit, if there are more by now.
    pub(super) fn after(&mut self, steps: u64, now: Instant) -> Option<u64> {
        if self.at != now {
            (self.at, self.steps) = (now, 0);
        }
        self.steps += steps;
        (self.steps > self.most).then_some(self.most)
    }
}
