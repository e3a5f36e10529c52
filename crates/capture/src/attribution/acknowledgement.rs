//! Acknowledgements on their way to a sender, and there.

use ackwise_tcp::Instant;

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub packet: u64,
    pub seen: Instant,
    pub acked: u64,
    pub edge: Option<u64>,
}

/// An acknowledgement that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub packet: u64,
    pub left: Instant,
    pub at: Instant,
    /// What was outstanding before it and after it.
    pub flight: [u64; 2],
    /// How much the receive window let be sent before it.
    pub usable_window: Option<u64>,
    /// What the congestion window was before it, at least.
    pub least_window: u64,
    pub small_acknowledged: bool,
}

impl Arrived {
    /// It arrived together with an earlier one, and either may have released what was sent then.
    pub(super) const fn merged_with(self, first: &Self) -> Self {
        let small_acknowledged = first.small_acknowledged || self.small_acknowledged;
        let flight = [first.flight[0], self.flight[1]];
        let &Self { usable_window, least_window, .. } = first;
        Self { flight, usable_window, least_window, small_acknowledged, ..self }
    }
}
