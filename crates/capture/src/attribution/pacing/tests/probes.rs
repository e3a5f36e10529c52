//! BBR's PROBE_RTT, at each of its bounds (Linux `bbr_update_min_rtt`).

use super::*;

/// What a sender does: as BBR does by default.
#[derive(Clone, Copy)]
struct Probe {
    /// The most segments before it, and when it begins, in milliseconds.
    before: (u64, u64),
    /// The flights of its segments, the milliseconds over which they leave, and what lets them go.
    low: (u64, &'static [u64], Release),
    /// The first flight afterwards; so long after that, which flight by what.
    first: u64,
    after: (u64, u64, Release),
}

const BBR: Probe = Probe {
    before: (40, 10_000),
    low: (200, &[4, 4, 4, 4], Acknowledgement),
    first: 5,
    after: (40, 12, Acknowledgement),
};

/// How often it was seen, and for how long.
fn seen(it: Probe) -> (u32, Nanos) {
    let mut probe = ProbeRtt::new(Instant::EPOCH);
    let mut see = |millis: u64, flight: u64, by: Release| {
        probe.see(&Sent {
            at: Instant::EPOCH + Nanos::from_millis(millis),
            bytes: FULL,
            full: FULL,
            flight: flight * FULL,
            by,
            acked: None,
            round_trip: TRIP,
            at_sender: false,
        });
    };
    let (most, begins) = it.before;
    see(1, most, Timer);
    let (lasts, flights, by) = it.low;
    let last = flights.len() as u64;
    for (nth, &flight) in (0..).zip(flights) {
        see(begins + lasts * nth / last, flight, by);
    }
    see(begins + lasts, it.first, Timer);
    let (later, flight, by) = it.after;
    see(begins + lasts + later, flight, by);
    (probe.times(), probe.time())
}

#[test]
fn four_segments_for_200_ms_ten_seconds_after_the_last_are_a_probe() {
    assert_eq!(seen(BBR), (1, Nanos::from_millis(200)));
    for (why, probe, is_probe) in [
        ("the round trip is old", Probe { before: (40, 9_000), ..BBR }, true),
        ("it is not", Probe { before: (40, 8_999), ..BBR }, false),
        ("there were twelve segments", Probe { before: (12, 10_000), ..BBR }, true),
        ("there were fewer", Probe { before: (11, 10_000), ..BBR }, false),
        ("a tick less than 200 ms", Probe { low: (196, BBR.low.1, Timer), ..BBR }, true),
        ("shorter", Probe { low: (195, BBR.low.1, Timer), ..BBR }, false),
        ("twice as long and four round trips", Probe { low: (552, BBR.low.1, Timer), ..BBR }, true),
        ("longer", Probe { low: (553, BBR.low.1, Timer), ..BBR }, false),
        ("five in flight", Probe { low: (200, &[5, 5, 5, 5], Timer), ..BBR }, false),
        ("three in flight", Probe { low: (200, &[3, 3, 3, 3], Timer), ..BBR }, false),
        ("four once", Probe { low: (200, &[3, 4, 3, 3], Timer), ..BBR }, true),
        ("three segments", Probe { low: (200, &[4, 4, 4], Timer), ..BBR }, false),
        ("repairs", Probe { low: (200, BBR.low.1, Repair), ..BBR }, false),
        ("a program", Probe { low: (200, BBR.low.1, Other), ..BBR }, false),
    ] {
        assert_eq!(seen(probe).0, u32::from(is_probe), "{why}");
    }
}

/// It goes on with the window that it had, which slow start would not within a round trip.
#[test]
fn a_probe_ends_with_the_window_back_within_a_round_trip() {
    for (why, after, most, is_probe) in [
        ("twelve segments", (40, 12, Timer), 40, true),
        ("eleven", (40, 11, Timer), 40, false),
        ("later than a round trip", (41, 12, Timer), 40, false),
        ("a program", (40, 12, Other), 40, false),
        ("an eighth of the most", (40, 25, Timer), 200, true),
        ("less than that", (40, 24, Timer), 200, false),
    ] {
        let probe = Probe { before: (most, 10_000), after, ..BBR };
        assert_eq!(seen(probe).0, u32::from(is_probe), "{why}");
    }
}
