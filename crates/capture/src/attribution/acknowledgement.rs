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
    /// What might be sent before it.
    pub room: Option<u64>,
    /// The least that the congestion window was before it.
    pub window: u64,
    pub small_acknowledged: bool,
}

impl Arrived {
    /// It came with another before it, so nobody knows which of them let something go.
    pub(super) const fn behind(self, first: &Self) -> Self {
        let small_acknowledged = first.small_acknowledged || self.small_acknowledged;
        let flight = [first.flight[0], self.flight[1]];
        Self { flight, room: first.room, window: first.window, small_acknowledged, ..self }
    }
}
