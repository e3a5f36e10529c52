//! What an exchange shows of its end.

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
}
