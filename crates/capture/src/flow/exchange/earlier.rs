//! What a response on the same connection waited for before it could be sent: the ones before it.

use ackwise_tcp::Instant;

/// The last response on a connection that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EarlierEnd {
    /// How many have, this one included.
    pub count: u64,
    pub until: Instant,
    pub packet: u64,
    /// The same of the last one that ended in another packet.
    before: (Instant, u64),
}

impl EarlierEnd {
    /// One more has ended, in `packet`, which left at `until`.
    pub(crate) const fn note(&mut self, until: Instant, packet: u64) {
        let before = if packet == self.packet { self.before } else { (self.until, self.packet) };
        *self = Self { count: self.count + 1, until, packet, before };
    }

    /// The same for a response that begins in `packet`: what left with it did not delay it.
    pub(crate) const fn outside(self, packet: u64) -> Self {
        let (until, before) = self.before;
        if packet == self.packet { Self { until, packet: before, ..self } } else { self }
    }
}
