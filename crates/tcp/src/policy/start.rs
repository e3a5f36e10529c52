//! How the first window of a new connection leaves.

use core::time::Duration;

use super::{PacedUntil, Pacing, WindowAfterPacing};
use crate::pacing::Pace;

/// How the first window of a new connection leaves.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StartPolicy {
    /// At once, as every stack of the papers' time.
    AtOnce,
    /// Spread over the round trip that the handshake measured, until the first acknowledgement. The
    /// window is the initial window: a guess, because nothing is known of the path yet. Heidemann 1997,
    /// section 2.4: "rate-based flow-control is difficult to use for new TCP connections because
    /// network conditions are unknown".
    Paced,
}

impl StartPolicy {
    /// How a first window of `window` bytes is spread; `None` for at once, and if the handshake has
    /// measured no round trip.
    #[must_use]
    pub fn pacing(self, window: u32, srtt: Option<Duration>) -> Option<Pacing> {
        match self {
            Self::AtOnce => None,
            Self::Paced => Some(Pacing {
                pace: Pace::new(window, srtt?)?,
                until: PacedUntil::FirstAck,
                then: WindowAfterPacing::Kept,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_window_is_spread_over_the_round_trip_of_the_handshake() {
        let rtt = Some(Duration::from_millis(100));
        let paced = StartPolicy::Paced.pacing(10_000, rtt).expect("a round trip was measured");
        assert_eq!(paced.pace.time_for(1_000), Duration::from_millis(10));
        assert_eq!((paced.until, paced.then), (PacedUntil::FirstAck, WindowAfterPacing::Kept));
        assert_eq!(StartPolicy::Paced.pacing(10_000, None), None);
        assert_eq!(StartPolicy::Paced.pacing(0, rtt), None);
        assert_eq!(StartPolicy::AtOnce.pacing(10_000, rtt), None);
    }
}
