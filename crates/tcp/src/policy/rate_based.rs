//! Restart after idle by rate (RBP): Heidemann 1996 and 1997, section 2.4; Visweswaraiah and Heidemann,
//! USC TR 97-661, whose algorithm is that of their ns-2 code (`tcp-rbp.cc`).
//!
//! The first window after an idle time leaves spread over a round trip instead of at once; then
//! acknowledgements clock the sender again.
//!
//! Not here: Vegas' congestion control, only its measure of the rate. What the Vegas version leaves to
//! Vegas, we leave to the connection's congestion control.

use core::num::NonZeroU16;

use super::idle::{Counted, Idle};
use crate::pacing::Pace;

/// At which rate a connection goes on after an idle time, and until when.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateBased {
    /// Where the window and the rate come from.
    pub version: RateVersion,
    /// What is taken of them. 75 % in ns-2; the papers say nothing, so take all.
    pub scale: Scale,
    /// When pacing ends.
    pub until: PacedUntil,
}

/// Where the window and the rate come from. cwnd never grows by any of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum RateVersion {
    /// ns-2's Reno version: cwnd, spread over SRTT. With the acknowledgement that ends it, cwnd becomes
    /// what was paced out, so that the rest does not leave as a burst.
    Reno,
    /// ns-2's Vegas version, algorithm 1: "v_actual * v_rtt", the packets counted in the last round
    /// trip, spread over that round trip. Without a count, as [`RateVersion::VegasWindow`] over SRTT.
    Vegas,
    /// Its algorithm 2: cwnd, spread over the last round trip that was counted; over SRTT without one.
    VegasWindow,
    /// Heidemann 1996: "If n packets were sent in time t, packets after an idle connection would be sent
    /// out one every n/t seconds", which must be t/n. The window is kept. Without a count, as
    /// [`RateVersion::VegasWindow`] over SRTT.
    Count,
}

/// When pacing ends, a loss and a retransmission timeout apart, which always end it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PacedUntil {
    /// Heidemann 1997: "Upon receipt of the first ACK of a rate-based packet we would resume TCP's normal
    /// ACK-clocked flow-control".
    FirstAck,
    /// ns-2: with anything that arrives, the next request included.
    FirstArrival,
}

/// A share in whole percent, 1 to 400 %.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Scale(NonZeroU16);

/// How what may leave is spread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pacing {
    /// At which rate.
    pub pace: Pace,
    /// Until when.
    pub until: PacedUntil,
    /// What becomes of cwnd with the acknowledgement that ends it.
    pub then: WindowAfterPacing,
}

/// What becomes of cwnd with the acknowledgement that ends the pacing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WindowAfterPacing {
    /// It stays.
    Kept,
    /// ns-2's Reno version: "cwnd = maxseq - last_ack", what was paced out.
    PacedOut,
}

/// The decision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sending {
    /// cwnd in bytes.
    pub(super) window: u32,
    pub(super) pacing: Pacing,
}

impl Scale {
    /// All of it.
    pub const ONE: Self = Self(NonZeroU16::new(100).expect("100 is not zero"));
    /// `rbp_scale_` of ns-2's `ns-default.tcl`.
    pub const NS_2: Self = Self(NonZeroU16::new(75).expect("75 is not zero"));
    /// The largest; our choice. More than 100 % of the rate asks for a queue.
    pub const MAX_PERCENT: u16 = 400;

    /// `None` unless `percent` is from 1 to [`Scale::MAX_PERCENT`].
    #[must_use]
    pub fn percent(percent: u16) -> Option<Self> {
        NonZeroU16::new(percent).filter(|it| it.get() <= Self::MAX_PERCENT).map(Self)
    }

    /// `win = int(win * scale + 0.5)`, at least two segments: ns-2 paces two always.
    fn of_segments(self, bytes: u32, mss: u32) -> u32 {
        let mss = u64::from(mss.max(1));
        let scaled = u64::from(bytes) * u64::from(self.0.get());
        let segments = (scaled + 50 * mss) / (100 * mss);
        u32::try_from(segments).unwrap_or(u32::MAX).max(2)
    }
}

impl RateBased {
    /// The Reno version with scale 1, until the first ACK.
    pub const RENO: Self =
        Self { version: RateVersion::Reno, scale: Scale::ONE, until: PacedUntil::FirstAck };
    /// ns-2's default of its Reno version.
    pub const NS_2_RENO: Self =
        Self { version: RateVersion::Reno, scale: Scale::NS_2, until: PacedUntil::FirstArrival };

    /// The window and the rate, or `None` if no round trip has been measured.
    pub(super) fn decide(self, idle: &Idle) -> Option<Sending> {
        let Idle { srtt, counted, windows, peer_window, mss, .. } = *idle;
        let counted = counted.filter(|_| self.counts());
        let wanted = match (self.version, counted) {
            (RateVersion::Vegas, Some(Counted { segments, .. })) => segments.saturating_mul(mss),
            _ => windows.congestion,
        };
        let segments = self.scale.of_segments(wanted, mss);
        let window = windows.congestion.min(segments.saturating_mul(mss));
        // ns-2: `rtt_est / window()`, the smaller of the two windows in whole segments.
        let whole = |bytes: u32| (bytes / mss.max(1)).max(1);
        let spread = match (self.version, counted) {
            (RateVersion::Count, Some(Counted { segments, .. })) => {
                self.scale.of_segments(segments.saturating_mul(mss), mss)
            }
            _ => whole(window.min(peer_window)),
        };
        let time = counted.map(|it| it.time).or(srtt)?;
        let pace = Pace::new(spread.saturating_mul(mss), time)?;
        let then = match self.version {
            RateVersion::Reno => WindowAfterPacing::PacedOut,
            RateVersion::Vegas | RateVersion::VegasWindow | RateVersion::Count => {
                WindowAfterPacing::Kept
            }
        };
        Some(Sending { window, pacing: Pacing { pace, until: self.until, then } })
    }

    /// Whether the packets of each round trip have to be counted.
    pub(super) const fn counts(self) -> bool {
        match self.version {
            RateVersion::Reno => false,
            RateVersion::Vegas | RateVersion::VegasWindow | RateVersion::Count => true,
        }
    }
}

/// Round trips that pacing saves at least, in a response of `window` segments after an idle time, where
/// slow start begins again with `restart` segments and doubles.
///
/// By the first bytes: slow start needs r round trips to send them, the last of which begins r - 1 after
/// the first; paced, they are spread over one. Delayed acknowledgements make slow start slower than that.
#[must_use]
pub fn round_trips_saved(window: u32, restart: u32) -> u32 {
    let (mut sent, mut flight) = (0_u32, restart.max(1));
    let mut round_trips = 0_u32;
    while sent < window {
        sent = sent.saturating_add(flight);
        flight = flight.saturating_mul(2);
        round_trips += 1;
    }
    round_trips.saturating_sub(2)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{PacedUntil::*, RateVersion::*, WindowAfterPacing::*, *};
    use crate::congestion::Windows;

    const MSS: u32 = 1_000;

    fn idle(segments: u32, peer: u32, counted: Option<(u32, u64)>) -> Idle {
        Idle {
            since_send: Duration::from_secs(9),
            since_receive: Duration::ZERO,
            rto: Duration::from_secs(1),
            srtt: Some(Duration::from_millis(120)),
            counted: counted
                .map(|(segments, ms)| Counted { segments, time: Duration::from_millis(ms) }),
            windows: Windows { congestion: segments * MSS, threshold: u32::MAX },
            initial_window: 10 * MSS,
            peer_window: peer * MSS,
            mss: MSS,
        }
    }

    /// cwnd in segments, and microseconds between segments.
    #[test]
    fn the_window_and_the_spacing() {
        #[rustfmt::skip]
        let table = [
            // Reno: cwnd over SRTT; ns-2's scale; rounded to whole segments; at least two.
            (Reno,        Scale::ONE,  idle(12, 99, None),           (12, 10_000)),
            (Reno,        Scale::NS_2, idle(12, 99, None),           (9, 13_334)),
            (Reno,        Scale::NS_2, idle(10, 99, None),           (8, 15_000)), // 7.5 + 0.5
            (Reno,        Scale::NS_2, idle(3, 99, None),            (2, 60_000)), // 2.25 + 0.5
            (Reno,        Scale::NS_2, idle(2, 99, None),            (2, 60_000)), // never one
            (Reno,        Scale::ONE,  idle(1, 99, None),            (1, 120_000)), // cwnd does not grow
            // The peer's window limits what leaves, not cwnd.
            (Reno,        Scale::ONE,  idle(12, 6, None),            (12, 20_000)),
            (Reno,        Scale::ONE,  idle(12, 0, None),            (12, 120_000)),
            // Reno does not count.
            (Reno,        Scale::ONE,  idle(12, 99, Some((6, 90)))  , (12, 10_000)),
            // Vegas: what was counted, in the time it took.
            (Vegas,       Scale::ONE,  idle(12, 99, Some((6, 90))),  (6, 15_000)),
            (Vegas,       Scale::NS_2, idle(12, 99, Some((8, 90))),  (6, 15_000)),
            (Vegas,       Scale::ONE,  idle(12, 99, Some((20, 90))), (12, 7_500)),
            (Vegas,       Scale::ONE,  idle(12, 99, Some((1, 90))),  (2, 45_000)),
            (Vegas,       Scale::ONE,  idle(12, 99, None),           (12, 10_000)),
            // Algorithm 2: cwnd in the time that was measured.
            (VegasWindow, Scale::ONE,  idle(12, 99, Some((6, 90))),  (12, 7_500)),
            (VegasWindow, Scale::NS_2, idle(12, 99, Some((6, 90))),  (9, 10_000)),
            // 1996: one every t/n, whatever the window.
            (Count,       Scale::ONE,  idle(12, 99, Some((6, 90))),  (12, 15_000)),
            (Count,       Scale::ONE,  idle(12, 99, Some((18, 90))), (12, 5_000)),
            (Count,       Scale::ONE,  idle(12, 99, None),           (12, 10_000)),
        ];
        for (version, scale, idle, expected) in table {
            let by = RateBased { version, scale, until: FirstAck };
            let Sending { window, pacing } = by.decide(&idle).expect("a round trip was measured");
            let micros = pacing.pace.time_for(MSS).as_nanos().div_ceil(1_000);
            assert_eq!((window / MSS, micros), expected, "{version:?} {scale:?} {idle:?}");
            let then = if version == Reno { PacedOut } else { Kept };
            assert_eq!((pacing.until, pacing.then), (FirstAck, then));
        }
    }

    #[test]
    fn slow_start_takes_a_round_trip_for_each_doubling() {
        #[rustfmt::skip]
        let table = [
            // 1 + 2 + 4 + 8 + 16 segments: four round trips later than the first, pacing one.
            (20, 1, 3), (31, 1, 3), (32, 1, 4),
            // 10 + 20 are sent within one round trip, as they are when paced.
            (30, 10, 0), (31, 10, 1), (100, 10, 2),
            (10, 10, 0), (0, 10, 0), (10, 0, 2),
            (u32::MAX, 1, 30), (u32::MAX, u32::MAX, 0),
        ];
        for (window, restart, saved) in table {
            assert_eq!(round_trips_saved(window, restart), saved, "{window} and {restart}");
        }
    }

    #[test]
    fn no_size_overflows() {
        for (mss, segments) in [(0, 0), (1, u32::MAX), (65_535, u32::MAX)] {
            let counted = Some(Counted { segments, time: Duration::MAX });
            let windows = Windows { congestion: u32::MAX, threshold: u32::MAX };
            let idle = Idle { mss, counted, windows, ..idle(1, 1, None) };
            for version in [Reno, Vegas, VegasWindow, Count] {
                for percent in [1, 100, Scale::MAX_PERCENT] {
                    let scale = Scale::percent(percent).unwrap();
                    let by = RateBased { version, scale, until: FirstArrival };
                    let sending = by.decide(&idle);
                    assert_eq!(sending.is_none(), mss == 0, "{version:?} {percent} % {idle:?}");
                }
            }
        }
    }

    #[test]
    fn a_scale_has_a_range() {
        assert_eq!((Scale::percent(0), Scale::percent(401)), (None, None));
        assert_eq!(Scale::percent(75), Some(Scale::NS_2));
    }
}
