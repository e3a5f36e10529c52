//! How much of the congestion window was used, judged over a whole round trip.

use crate::{
    congestion::Windows,
    seq::low,
    timestamp::timestamp,
    units::{Instant, Nanos},
};

/// The use of the congestion window in one round trip (Linux `tcp_cwnd_validate`; pipeACK of RFC 7661
/// is the same idea). The flight at a single ACK says nothing: it shrinks with each of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwndUse {
    /// The round trip ends when this position is acknowledged, modulo 2^32.
    until: u32,
    /// The most bytes that were outstanding in it.
    flight: u32,
    /// The most bytes that were outstanding since `since` (Linux `snd_cwnd_used`).
    used: u32,
    /// When the window was last full, on the timestamp clock (Linux `snd_cwnd_stamp`).
    since: u32,
    /// cwnd had no room for a further segment.
    limited: bool,
}

impl CwndUse {
    pub(crate) const NONE: Self = Self { until: 0, flight: 0, used: 0, since: 0, limited: false };

    /// The most bytes that were outstanding in the round trip.
    #[inline]
    pub(crate) const fn flight(self) -> u32 {
        self.flight
    }

    /// Whether cwnd had no room for a further segment.
    #[inline]
    pub(crate) const fn is_limited(self) -> bool {
        self.limited
    }

    /// `[una, next)` is outstanding, and cwnd has room for a further segment unless it has `limited`
    /// the flight. The first segment after a round trip begins the next one.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of cwnd")]
    pub(crate) fn note(&mut self, una: u64, next: u64, limited: bool) {
        let flight = u32::try_from(next.saturating_sub(una)).unwrap_or(u32::MAX);
        let ended = low(una).wrapping_sub(self.until) < 1 << 31;
        if ended || limited || (!self.limited && flight > self.flight) {
            *self = Self { until: low(next), flight, limited, ..*self };
        }
    }

    /// The window counts as used up to now.
    pub(crate) const fn renew(&mut self, now: Instant) {
        (self.used, self.since) = (0, timestamp(now));
    }

    /// Since when the window was not filled, and the most bytes that were used of it; `None` if it is filled now, so
    /// that it counts as used.
    pub(crate) fn judge(&mut self, windows: Windows, now: Instant) -> Option<(Nanos, u32)> {
        if self.fills(windows) {
            self.renew(now);
            return None;
        }
        self.used = self.used.max(self.flight);
        let since = Nanos::from_millis(ticks_between(self.since, timestamp(now)).into());
        Some((since, self.used))
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn fills(self, windows: Windows) -> bool {
        let Windows { congestion, threshold } = windows;
        let slow_start = congestion < threshold;
        self.limited || (slow_start && congestion < self.flight.saturating_mul(2))
    }
}

/// Milliseconds from `earlier` to `later` by Linux's clock, which ticks each 4 ms (`tcp_jiffies32`).
const fn ticks_between(earlier: u32, later: u32) -> u32 {
    (later & !3).wrapping_sub(earlier & !3)
}
