//! What an exchange shows of its end.

use ackwise_tcp::Instant;

use super::{OpenExchange, State};
use crate::outcome::Progress;

impl OpenExchange {
    /// How far it is.
    pub(crate) const fn progress(&self) -> Progress {
        match self.state {
            State::Request => Progress::Asking,
            State::Think(_) => Progress::Waiting,
            State::Response => Progress::Answering,
        }
    }

    /// Whether the response has begun, and the request had not ended then, nor has since.
    pub(crate) const fn is_early(&self) -> bool {
        self.still_asks
    }

    /// Whether the capture may lack what became of it.
    pub(crate) const fn is_in_hole(&self) -> bool {
        self.fell_into_hole
    }

    /// How often the request was sent again, and did not seem to have arrived.
    pub(crate) const fn times_sent_again(&self) -> usize {
        self.ways.len()
    }

    /// When it was for the first time.
    pub(crate) fn sent_again_at(&self) -> Option<Instant> {
        self.ways.get(1).map(|way| way.free_at)
    }
}
