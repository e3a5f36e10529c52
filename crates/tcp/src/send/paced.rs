//! A sender that is paced: what it holds, and when acknowledgements clock it again.
//!
//! It takes a pointer in a sender that is not paced.

use super::sequence::Una;
use crate::{
    pacing::{Pace, Pacer},
    policy::{PacedUntil, Pacing, WindowAfterPacing},
    units::Instant,
};

/// A sender that paces what it sends.
#[derive(Clone, Debug)]
pub(crate) struct PacedSender {
    pacer: Pacer,
    until: PacedUntil,
    then: WindowAfterPacing,
}

/// Each segment alone: a quantum of one byte.
const ONE_SEGMENT: u32 = 1;

impl PacedSender {
    /// The first segment may leave at once.
    pub(crate) fn new(pacing: Pacing, now: Instant) -> Self {
        let Pacing { pace, until, then } = pacing;
        Self { pacer: Pacer::new(pace, ONE_SEGMENT, now), until, then }
    }

    pub(crate) const fn pace(&self) -> Pace {
        self.pacer.pace()
    }

    /// When the next segment may leave, if that is not yet.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.pacer.held_until(now)
    }

    /// A segment with data has left.
    pub(crate) fn on_sent(&mut self, bytes: u32, now: Instant) {
        self.pacer.on_sent(bytes, now);
    }

    /// Something has arrived: whether that ends pacing.
    pub(crate) const fn ends(&self, una: Una) -> bool {
        match self.until {
            PacedUntil::FirstAck => matches!(una, Una::Advances),
            PacedUntil::FirstArrival => true,
        }
    }

    /// Whether the window shrinks then to what was paced out.
    pub(crate) fn closes_window(&self) -> bool {
        self.then == WindowAfterPacing::PacedOut
    }
}
