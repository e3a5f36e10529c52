//! What a sender estimates only if a policy asks for it.
//!
//! It takes a pointer in a sender that estimates nothing.

use alloc::boxed::Box;

use super::{Sender, ack_spacing::AckSpacing, packet_count::PacketCount, validation::Validation};
use crate::{
    config::Config,
    congestion::{AtLoss, Windows},
    policy::{Counted, Measures, Policies, SlowStartPolicy},
    units::Instant,
};

/// What is estimated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimators {
    /// Packets in a round trip.
    packets: Option<PacketCount>,
    /// Whether the window is used (RFC 7661).
    used: Option<Validation>,
    /// The bandwidth, until slow start has its end.
    spacing: Option<AckSpacing>,
}

impl Estimators {
    /// What `policies` ask for.
    pub(crate) fn new(policies: &Policies) -> Option<Box<Self>> {
        let measures = policies.idle_restart.measures();
        let spacing = match policies.slow_start {
            SlowStartPolicy::UntilLoss | SlowStartPolicy::HyStart => None,
            SlowStartPolicy::Hoe => Some(AckSpacing::default()),
        };
        let estimators = match measures {
            Measures::Nothing if spacing.is_none() => return None,
            Measures::Nothing => Self { spacing, ..Self::default() },
            Measures::Packets => {
                Self { packets: Some(PacketCount::default()), spacing, ..Self::default() }
            }
            Measures::Use => Self { used: Some(Validation::default()), spacing, ..Self::default() },
        };
        Some(Box::new(estimators))
    }
}

impl Sender {
    /// A segment of `bytes` that ends at `end` leaves.
    #[inline]
    pub(super) fn measure_sent(&mut self, end: u64, bytes: u32, again: bool, now: Instant) {
        let Some(Estimators { packets, used, spacing: _ }) = self.estimators.as_deref_mut() else {
            return;
        };
        match (packets, again) {
            (None, _) => {}
            (Some(count), true) => count.on_retransmission(),
            (Some(count), false) => count.on_sent(end, now),
        }
        if let Some(validation) = used
            && again
        {
            validation.on_retransmission(bytes);
        }
    }

    /// New data is acknowledged, of a round trip with this flight; whether the window may grow by it.
    #[inline]
    pub(super) fn measure_ack(&mut self, ack: u64, flight: u32, now: Instant) -> bool {
        self.estimators.is_none() || self.measure_ack_in_detail(ack, flight, now)
    }

    #[cold]
    fn measure_ack_in_detail(&mut self, ack: u64, flight: u32, now: Instant) -> bool {
        self.end_slow_start(ack, now);
        let (windows, srtt) = (self.windows(), self.round_trip.smoothed());
        let last_send = self.timers.last_send();
        let Some(estimators) = self.estimators.as_deref_mut() else { return true };
        if let Some(count) = &mut estimators.packets {
            count.on_ack(ack, now);
        }
        estimators.used.as_mut().is_none_or(|validation| {
            validation.on_ack(flight, srtt, now);
            validation.is_validated(windows, srtt, last_send, now)
        })
    }

    /// Sets the first ssthresh, once the path's bandwidth is known; a loss does it otherwise.
    fn end_slow_start(&mut self, ack: u64, now: Instant) {
        let (windows, sent) = (self.windows(), self.sequence.max());
        let Some(srtt) = self.round_trip.smoothed() else { return };
        let Some(estimators) = self.estimators.as_deref_mut() else { return };
        let Some(spacing) = &mut estimators.spacing else { return };
        let threshold = match windows.threshold {
            u32::MAX => spacing.on_ack(ack, sent, srtt, now),
            _ => Some(windows.threshold),
        };
        let Some(threshold) = threshold else { return };
        estimators.spacing = None;
        if windows.threshold == u32::MAX {
            let threshold = threshold.max(self.sequence.mss().saturating_mul(2));
            self.congestion.on_restart(Windows { threshold, ..windows });
        }
    }

    /// What was counted in the last round trip.
    pub(crate) fn counted(&self) -> Option<Counted> {
        self.estimators.as_deref()?.packets.as_ref()?.counted()
    }

    fn validation(&mut self) -> Option<&mut Validation> {
        self.estimators.as_deref_mut()?.used.as_mut()
    }

    /// The windows after a time in which they were not used.
    pub(crate) fn adjust_unused_window(&mut self, config: &Config, now: Instant) {
        let windows = self.windows();
        let initial_window = self.sequence.initial_window(config.policies.initial_window);
        let (srtt, last_send) = (self.round_trip.smoothed(), self.timers.last_send());
        let Some(validation) = self.validation() else { return };
        if !validation.is_validated(windows, srtt, last_send, now) {
            let adjusted = validation.adjusted(windows, initial_window, now);
            if adjusted != windows {
                self.congestion.on_restart(adjusted);
            }
        }
    }

    /// What the congestion control learns of a loss that duplicate ACKs announce.
    pub(crate) fn at_loss(&mut self, now: Instant) -> AtLoss {
        let (at_loss, srtt) = (self.sequence.at_loss(), self.round_trip.smoothed());
        match self.validation() {
            Some(validation) => validation.at_loss(at_loss, srtt, now),
            None => at_loss,
        }
    }

    /// A repair is over.
    pub(crate) fn after_repair(&mut self) {
        let (windows, mss) = (self.windows(), self.sequence.mss());
        if let Some(windows) = self.validation().and_then(|it| it.recovered(windows, mss)) {
            self.congestion.on_restart(windows);
        }
    }
}
