//! A sender that is paced: when it begins, what it holds, and when acknowledgements clock it again.
//!
//! It takes a pointer in a sender that is not paced.

use alloc::boxed::Box;

use super::{Sender, piece::Piece};
use crate::{
    config::Config,
    congestion::{Controller, Windows},
    pacing::{Pace, Pacer},
    policy::{PacedUntil, Pacing, WindowAfterPacing},
    units::Instant,
    wait::{Timer, Wait},
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

impl Sender {
    /// Paces from now on; the first segment may leave at once.
    pub(crate) fn start_pacing(&mut self, pacing: Pacing, now: Instant) {
        let Pacing { pace, until, then } = pacing;
        let pacer = Pacer::new(pace, ONE_SEGMENT, now);
        self.paced = Some(Box::new(PacedSender { pacer, until, then }));
    }

    /// A connection begins.
    pub(crate) fn pace_start(&mut self, config: &Config, now: Instant) {
        let window = self.windows().congestion.min(self.sequence.window());
        let start = config.policies.start;
        if let Some(pacing) = start.pacing(window, self.round_trip.srtt()) {
            self.start_pacing(pacing, now);
        }
    }

    /// Nothing is paced any more.
    pub(crate) fn stop_pacing(&mut self) {
        self.paced = None;
        self.timers.stop_waiting_for(Timer::Pacing);
    }

    /// The rate of a sender that is paced.
    pub(crate) fn pace(&self) -> Option<Pace> {
        if let Controller::Bbr(control) = &self.congestion {
            return Pace::bytes_per_second(
                u32::try_from(control.pacing_rate()).unwrap_or(u32::MAX),
            );
        }
        self.paced.as_ref().map(|paced| paced.pacer.pace())
    }

    /// Lets `piece` pass, unless it must wait for its time.
    #[inline]
    pub(crate) fn when_paced(&self, piece: Piece, now: Instant) -> Result<Piece, Wait> {
        match self.paced_until(now) {
            Some(_) => Err(Wait::Pacing),
            None => Ok(piece),
        }
    }

    /// When the next segment may leave, if that is not yet.
    #[inline]
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        if let Controller::Bbr(control) = &self.congestion {
            return control.paced_until(now);
        }
        self.paced.as_ref().and_then(|paced| paced.pacer.held_until(now))
    }

    /// A segment with data has left.
    #[inline]
    pub(crate) fn note_paced(&mut self, bytes: u32, now: Instant) {
        if let Some(paced) = &mut self.paced {
            paced.pacer.on_sent(bytes, now);
        }
        if let Controller::Bbr(control) = &mut self.congestion {
            control.note_paced(bytes, self.in_flight.min_rtt(), now);
        }
    }

    /// Something has arrived; whether it acknowledges new data. `flight` was outstanding before.
    #[inline]
    pub(crate) fn pace_until(&mut self, acknowledges: bool, flight: u32) {
        if self.paced.is_some() {
            self.end_pacing(acknowledges, flight);
        }
    }

    #[cold]
    fn end_pacing(&mut self, acknowledges: bool, flight: u32) {
        let Some(paced) = &self.paced else { return };
        let ends = match paced.until {
            PacedUntil::FirstAck => acknowledges,
            PacedUntil::FirstArrival => true,
        };
        // Before the ACK is taken, so that it opens the window which is left.
        if ends && acknowledges && paced.then == WindowAfterPacing::PacedOut {
            let windows = self.windows();
            let congestion = windows.congestion.min(flight);
            self.congestion.on_restart(Windows { congestion, ..windows });
        }
        if ends {
            self.stop_pacing();
        }
    }
}
