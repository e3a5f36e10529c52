//! What an endpoint measures of its sending only if its policy for idle times asks for it.
//!
//! It takes a pointer in an endpoint that measures nothing.

use alloc::boxed::Box;

use super::{Endpoint, gauge::Gauge, validation::Validation};
use crate::{
    congestion::{AtLoss, Windows},
    policy::{Counted, Measures},
    units::Instant,
};

/// What is measured.
#[derive(Clone, Debug)]
pub(super) enum Measured {
    /// Packets in a round trip.
    Packets(Gauge),
    /// Whether the window is used (RFC 7661).
    Use(Validation),
}

impl Measured {
    pub(super) fn new(measures: Measures) -> Option<Box<Self>> {
        match measures {
            Measures::Nothing => None,
            Measures::Packets => Some(Box::new(Self::Packets(Gauge::default()))),
            Measures::Use => Some(Box::new(Self::Use(Validation::default()))),
        }
    }
}

impl Endpoint {
    /// A segment of `bytes` that ends at `end` leaves.
    #[inline]
    pub(super) fn measure_sent(&mut self, end: u64, bytes: u32, again: bool, now: Instant) {
        match (self.measured.as_deref_mut(), again) {
            (None, _) => {}
            (Some(Measured::Packets(gauge)), true) => gauge.on_retransmission(),
            (Some(Measured::Packets(gauge)), false) => gauge.on_sent(end, now),
            (Some(Measured::Use(validation)), true) => validation.on_retransmission(bytes),
            (Some(Measured::Use(_)), false) => {}
        }
    }

    /// New data is acknowledged, of a round trip with this flight; whether the window may grow by it.
    #[inline]
    pub(super) fn measure_ack(&mut self, ack: u64, flight: u32, now: Instant) -> bool {
        match self.measured.as_deref_mut() {
            None => true,
            Some(Measured::Packets(gauge)) => {
                gauge.on_ack(ack, now);
                true
            }
            Some(Measured::Use(_)) => self.validate(flight, now),
        }
    }

    fn validate(&mut self, flight: u32, now: Instant) -> bool {
        let (windows, srtt) = (self.windows(), self.round_trip.smoothed());
        let last_send = self.timers.last_send;
        let Some(Measured::Use(validation)) = self.measured.as_deref_mut() else { return true };
        validation.on_ack(flight, srtt, now);
        validation.is_validated(windows, srtt, last_send, now)
    }

    /// What was counted in the last round trip.
    pub(super) fn counted(&self) -> Option<Counted> {
        match self.measured.as_deref()? {
            Measured::Packets(gauge) => gauge.counted(),
            Measured::Use(_) => None,
        }
    }

    /// The windows after a time in which they were not used.
    pub(super) fn adjust_unused_window(&mut self, now: Instant) {
        let (windows, initial_window) = (self.windows(), self.initial_window());
        let (srtt, last_send) = (self.round_trip.smoothed(), self.timers.last_send);
        let Some(Measured::Use(validation)) = self.measured.as_deref_mut() else { return };
        if !validation.is_validated(windows, srtt, last_send, now) {
            let adjusted = validation.adjusted(windows, initial_window, now);
            if adjusted != windows {
                self.congestion.on_restart(adjusted);
            }
        }
    }

    /// What the congestion control is told of a loss that duplicate ACKs announce.
    pub(super) fn at_loss(&mut self, now: Instant) -> AtLoss {
        let (at_loss, srtt) = (self.sender.at_loss(), self.round_trip.smoothed());
        match self.measured.as_deref_mut() {
            Some(Measured::Use(validation)) => validation.at_loss(at_loss, srtt, now),
            Some(Measured::Packets(_)) | None => at_loss,
        }
    }

    /// A repair is over.
    pub(super) fn after_repair(&mut self) {
        let (windows, mss): (Windows, u32) = (self.windows(), self.sender.mss);
        if let Some(Measured::Use(validation)) = self.measured.as_deref_mut()
            && let Some(windows) = validation.recovered(windows, mss)
        {
            self.congestion.on_restart(windows);
        }
    }
}
