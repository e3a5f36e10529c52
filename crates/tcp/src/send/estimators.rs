//! What a sender estimates only if a policy asks for it.
//!
//! It takes a pointer in a sender that estimates nothing.

use alloc::boxed::Box;

use super::{
    ack_spacing::AckSpacing, packet_count::PacketCount, sent::Sending, validation::Validation,
};
use crate::{
    congestion::{AtLoss, Windows},
    policy::{Counted, Measures, Policies, SlowStartPolicy},
    units::{Instant, Nanos},
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

/// What an estimate depends on beside what has just happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) windows: Windows,
    pub(crate) srtt: Option<Nanos>,
    /// When data last left.
    pub(crate) last_send: Instant,
}

impl Estimators {
    /// A segment of `bytes` that ends at `end` leaves.
    pub(crate) fn on_sent(&mut self, end: u64, bytes: u32, sending: Sending, now: Instant) {
        let Self { packets, used, spacing: _ } = self;
        match (packets, sending) {
            (None, _) => {}
            (Some(count), Sending::Again) => count.on_retransmission(),
            (Some(count), Sending::New) => count.on_sent(end, now),
        }
        if let Some(validation) = used
            && sending == Sending::Again
        {
            validation.on_retransmission(bytes);
        }
    }

    /// The first ssthresh, once the path's bandwidth is known; a loss sets it otherwise. Everything before `ack` is
    /// acknowledged, everything before `sent` was sent.
    pub(crate) fn end_of_slow_start(
        &mut self,
        ack: u64,
        sent: u64,
        it: &Conditions,
        now: Instant,
    ) -> Option<u32> {
        let (spacing, srtt) = (self.spacing.as_mut()?, it.srtt?);
        let first = it.windows.threshold == u32::MAX;
        let threshold = if first { spacing.on_ack(ack, sent, srtt, now) } else { None };
        if threshold.is_some() || !first {
            self.spacing = None;
        }
        threshold
    }

    /// New data is acknowledged, of a round trip with this flight; whether the window may grow by it.
    pub(crate) fn may_grow(
        &mut self,
        ack: u64,
        flight: u32,
        it: &Conditions,
        now: Instant,
    ) -> bool {
        if let Some(count) = &mut self.packets {
            count.on_ack(ack, now);
        }
        self.used.as_mut().is_none_or(|validation| {
            validation.on_ack(flight, it.srtt, now);
            validation.is_validated(it.windows, it.srtt, it.last_send, now)
        })
    }

    /// What was counted in the last round trip.
    pub(crate) fn counted(&self) -> Option<Counted> {
        self.packets.as_ref()?.counted()
    }

    /// The windows after a time in which they were not used, if that changes them.
    pub(crate) fn unused_window(
        &mut self,
        initial_window: u32,
        it: &Conditions,
        now: Instant,
    ) -> Option<Windows> {
        let validation = self.used.as_mut()?;
        if validation.is_validated(it.windows, it.srtt, it.last_send, now) {
            return None;
        }
        let adjusted = validation.adjusted(it.windows, initial_window, now);
        (adjusted != it.windows).then_some(adjusted)
    }

    /// What the congestion control learns of a loss.
    pub(crate) fn at_loss(&mut self, at_loss: AtLoss, srtt: Option<Nanos>, now: Instant) -> AtLoss {
        match &mut self.used {
            Some(validation) => validation.at_loss(at_loss, srtt, now),
            None => at_loss,
        }
    }

    /// The windows when a repair is over, if that changes them.
    pub(crate) fn after_repair(&mut self, windows: Windows, mss: u32) -> Option<Windows> {
        self.used.as_mut()?.recovered(windows, mss)
    }
}
