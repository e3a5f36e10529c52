//! The timer that ends a cork.

use ackwise_tcp::policy::HoldPolicy;

use super::Nanos;

/// The timer that releases what MSG_MORE or TCP_CORK hold.
pub(crate) struct CorkTimer;

impl CorkTimer {
    /// Linux's is its retransmission timeout: 200 ms and the smoothed round trip, delayed ACKs included.
    const RELEASE: Nanos =
        Nanos::from_millis(HoldPolicy::LINUX_CORK_RELEASE.subsec_millis() as u64);
    /// A tick of 4 ms and what a capture is inaccurate by. Our choice.
    const EARLY: Nanos = Nanos::from_millis(5);
    /// What a delayed ACK adds to the smoothed round trip. Our choice.
    const LATE: Nanos = Nanos::from_millis(40);
    /// Linux 6.18 released after 227 to 229 ms where the round trip took 6 to 9 ms, after 307 to 317 ms
    /// where it took 17 ms, and after 250 ms where it took 47 ms: how much its round trips vary counts,
    /// too. Our choice.
    const VARIES: Nanos = Nanos::from_millis(80);
    /// On longer paths the range would hold too much else. Our choice.
    const LONGEST_ROUND_TRIP: Nanos = Nanos::from_millis(100);

    /// Whether it may have run for this time.
    pub(crate) fn may_have_run(span: Nanos, round_trip: Nanos) -> bool {
        round_trip <= Self::LONGEST_ROUND_TRIP && Self::cannot_be_excluded(span, round_trip)
    }

    /// Whether it may have run for this time on a short path where nothing varies.
    pub(super) fn runs_shortest(span: Nanos, round_trip: Nanos) -> bool {
        /// Longer ones show in the timer. Our choice.
        const SHORT: Nanos = Nanos::from_millis(45);
        round_trip <= SHORT && Self::is_within(span, Self::RELEASE + Self::LATE, round_trip)
    }

    /// Whether it would usually have run for this time.
    pub(crate) fn usually_runs(span: Nanos, round_trip: Nanos) -> bool {
        Self::is_within(span, Self::RELEASE + Self::LATE + round_trip, round_trip)
    }

    /// Whether it may have run for this time, however long the path.
    pub(super) fn cannot_be_excluded(span: Nanos, round_trip: Nanos) -> bool {
        let latest = Self::RELEASE + Self::LATE + round_trip + Self::VARIES;
        (Self::RELEASE - Self::EARLY..=latest).contains(&span)
    }

    fn is_within(span: Nanos, latest: Nanos, round_trip: Nanos) -> bool {
        let earliest = Self::RELEASE - Self::EARLY;
        round_trip <= Self::LONGEST_ROUND_TRIP && (earliest..=latest).contains(&span)
    }
}
