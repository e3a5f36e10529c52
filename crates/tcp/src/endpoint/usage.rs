//! How much of the congestion window was used, judged over a whole round trip.

/// The use of the congestion window in one round trip (Linux `tcp_cwnd_validate`; pipeACK of RFC 7661
/// is the same idea). The flight at a single ACK says nothing: it shrinks with each of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The round trip ends when this position is acknowledged.
    until: u64,
    /// The most bytes that were outstanding in it.
    pub(super) flight: u32,
    /// cwnd had no room for a further segment.
    pub(super) limited: bool,
}

impl Usage {
    pub(super) const NONE: Self = Self { until: 0, flight: 0, limited: false };

    /// `[una, next)` is outstanding, and cwnd has room for a further segment unless it has `limited`
    /// the flight. The first segment after a round trip begins the next one.
    pub(super) fn note(&mut self, una: u64, next: u64, limited: bool) {
        let flight = u32::try_from(next.saturating_sub(una)).unwrap_or(u32::MAX);
        if una >= self.until || limited || (!self.limited && flight > self.flight) {
            *self = Self { until: next, flight, limited };
        }
    }
}
