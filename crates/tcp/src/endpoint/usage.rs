//! How much of the congestion window was used, judged over a whole round trip; and what becomes of it where
//! that is too little ([`UnusedWindow`]).

use super::{Endpoint, recovery::Phase};
use crate::{
    congestion::Windows,
    policy::{Unused, UnusedWindow},
    timestamp::timestamp,
    units::{Instant, Nanos},
};

/// The use of the congestion window in one round trip (Linux `tcp_cwnd_validate`; pipeACK of RFC 7661
/// is the same idea). The flight at a single ACK says nothing: it shrinks with each of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The round trip ends when this position is acknowledged, modulo 2^32.
    until: u32,
    /// The most bytes that were outstanding in it.
    pub(super) flight: u32,
    /// The most bytes that were outstanding since `since` (Linux `snd_cwnd_used`).
    used: u32,
    /// When the window was last full, on the timestamp clock (Linux `snd_cwnd_stamp`).
    since: u32,
    /// cwnd had no room for a further segment.
    pub(super) limited: bool,
}

impl Usage {
    pub(super) const NONE: Self = Self { until: 0, flight: 0, used: 0, since: 0, limited: false };

    /// `[una, next)` is outstanding, and cwnd has room for a further segment unless it has `limited`
    /// the flight. The first segment after a round trip begins the next one.
    pub(super) fn note(&mut self, una: u64, next: u64, limited: bool) {
        let flight = u32::try_from(next.saturating_sub(una)).unwrap_or(u32::MAX);
        let ended = low(una).wrapping_sub(self.until) < 1 << 31;
        if ended || limited || (!self.limited && flight > self.flight) {
            *self = Self { until: low(next), flight, limited, ..*self };
        }
    }

    /// The window counts as used up to now.
    pub(super) const fn renew(&mut self, now: Instant) {
        (self.used, self.since) = (0, timestamp(now));
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn fills(&self, windows: Windows) -> bool {
        let Windows { congestion, threshold } = windows;
        let slow_start = congestion < threshold;
        self.limited || (slow_start && congestion < self.flight.saturating_mul(2))
    }
}

/// What is left of a position where there is no room for more: the peer's window keeps those that are
/// compared together.
#[expect(clippy::cast_possible_truncation, reason = "positions are compared modulo 2^32")]
pub(super) const fn low(position: u64) -> u32 {
    position as u32
}

/// Milliseconds from `earlier` to `later` by Linux's clock, which ticks each 4 ms (`tcp_jiffies32`).
const fn ticks_between(earlier: u32, later: u32) -> u32 {
    (later & !3).wrapping_sub(earlier & !3)
}

impl Endpoint {
    /// Something has left: judges the use of the window, if the policy asks for it.
    #[inline]
    pub(super) fn judge_use(&mut self, now: Instant) {
        if self.config.policies.unused_window != UnusedWindow::Kept {
            self.judge_use_in_detail(now);
        }
    }

    #[inline(never)]
    fn judge_use_in_detail(&mut self, now: Instant) {
        let windows = self.windows();
        let usage = &mut self.sender.usage;
        if usage.fills(windows) {
            usage.renew(now);
            return;
        }
        usage.used = usage.used.max(usage.flight);
        let since = Nanos::from_millis(ticks_between(usage.since, timestamp(now)).into());
        let rto = self.round_trip.time_out();
        if since < rto {
            return; // As the policy decides; few segments have to ask for the rest.
        }
        let unused = Unused {
            since: since.into(),
            used: usage.used,
            rto: rto.into(),
            windows,
            initial_window: self.window_to_go_on_with(),
        };
        let Some(reduced) = self.config.policies.unused_window.decide(unused) else { return };
        self.sender.usage.renew(now);
        // A send buffer that is full limits the flight, not the application.
        let undisturbed = self.recovery.phase == Phase::Open && self.recovery.duplicate_acks == 0;
        if undisturbed && self.sender.has_room(self.send_buffer()) && reduced != windows {
            self.congestion.on_restart(reduced);
        }
    }
}
