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

    /// Whether it may have run since the data before, and no retransmission timer did: Linux's is a round trip
    /// longer than 200 ms, and a probe's is two round trips at least (`tcp_schedule_loss_probe`).
    pub(super) fn runs_before_timeout(since_data: Nanos, round_trip: Nanos) -> bool {
        Self::cannot_be_excluded(since_data, round_trip)
            && since_data + Self::EARLY < Self::RELEASE + round_trip
    }

    /// Whether it would usually have run for this time.
    pub(crate) fn usually_runs(span: Nanos, round_trip: Nanos) -> bool {
        Self::is_within(span, Self::RELEASE + Self::LATE + round_trip, round_trip)
    }

    /// Whether it may have run for this time, however long the path.
    pub(super) fn cannot_be_excluded(span: Nanos, round_trip: Nanos) -> bool {
        let latest = Self::RELEASE + Self::LATE + round_trip + Self::VARIES;
        // After the first measurement, the timeout is three round trips (RFC 6298, section 2.2).
        let latest = latest.max(round_trip * 3 + Self::LATE);
        (Self::RELEASE - Self::EARLY..=latest).contains(&span)
    }

    /// Whether a probe or a retransmission of a lone segment may have waited for this time: its timer is the
    /// same, and at most a round trip longer (Linux `tcp_schedule_loss_probe`).
    pub(super) fn is_of_a_timeout(span: Nanos, round_trip: Nanos) -> bool {
        Self::cannot_be_excluded(span - round_trip, round_trip)
    }

    /// Whether it may have run for this time on a path too long to tell.
    pub(crate) fn may_have_run_far_away(span: Nanos, round_trip: Nanos) -> bool {
        round_trip > Self::LONGEST_ROUND_TRIP && Self::cannot_be_excluded(span, round_trip)
    }

    /// Whether it would have run for this time on this path, and not a program's timer of 200 ms.
    pub(crate) fn fits(span: Nanos, round_trip: Nanos) -> bool {
        /// A kernel's timer is late by up to a tick, a program's is not. Our choice.
        const TICK: Nanos = Nanos::from_millis(1);
        Self::usually_runs(span, round_trip) && span >= Self::RELEASE + round_trip + TICK
    }

    fn is_within(span: Nanos, latest: Nanos, round_trip: Nanos) -> bool {
        let earliest = Self::RELEASE - Self::EARLY;
        round_trip <= Self::LONGEST_ROUND_TRIP && (earliest..=latest).contains(&span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_long_path_it_runs_for_up_to_three_round_trips() {
        let may = |round_trip, spans: &[u64]| {
            let far = |&span| {
                let (span, round_trip) = (Nanos::from_millis(span), Nanos::from_millis(round_trip));
                CorkTimer::may_have_run_far_away(span, round_trip)
            };
            spans.iter().map(far).collect::<Vec<_>>()
        };
        // As seen with MSG_MORE at 200 ms.
        assert_eq!(may(200, &[536, 562, 626, 633]), [true; 4]);
        assert_eq!(may(200, &[150, 700]), [false; 2]);
        assert_eq!(may(20, &[240]), [false], "on a short path, `usually_runs` says");
    }

    /// Its time and the round trip in milliseconds; whether it ran so long: at all, usually, as on a short path where
    /// nothing varies, and longer than a program's timer of 200 ms.
    #[test]
    fn how_long_it_runs_depends_on_the_round_trip() {
        for (span, round_trip, expected) in [
            (194, 10, [false, false, false, false]),
            (195, 10, [true, true, true, false]),
            (210, 10, [true, true, true, false]),
            (211, 10, [true, true, true, true]),
            (240, 10, [true, true, true, true]),
            (250, 10, [true, true, false, true]),
            (251, 10, [true, false, false, false]),
            (330, 10, [true, false, false, false]),
            (331, 10, [false, false, false, false]),
            (240, 45, [true, true, true, false]),
            (240, 46, [true, true, false, false]),
            (340, 100, [true, true, false, true]),
            (420, 100, [true, false, false, false]),
            (340, 101, [false, false, false, false]),
        ] {
            let (time, way) = (Nanos::from_millis(span), Nanos::from_millis(round_trip));
            let found = [
                CorkTimer::may_have_run(time, way),
                CorkTimer::usually_runs(time, way),
                CorkTimer::runs_shortest(time, way),
                CorkTimer::fits(time, way),
            ];
            assert_eq!(found, expected, "{span} ms, {round_trip} ms");
        }
    }

    #[test]
    fn no_retransmission_timer_ends_within_a_round_trip_more_than_its_own_time() {
        for (since, round_trip, before, of_a_timeout) in [
            (194, 20, false, false),
            (195, 20, true, false),
            (214, 20, true, false),
            (215, 20, false, true),
            (360, 20, false, true),
            (361, 20, false, false),
        ] {
            let (time, way) = (Nanos::from_millis(since), Nanos::from_millis(round_trip));
            let found =
                (CorkTimer::runs_before_timeout(time, way), CorkTimer::is_of_a_timeout(time, way));
            assert_eq!(found, (before, of_a_timeout), "{since} ms");
        }
    }
}
