//! BBR's STARTUP and DRAIN (Linux `bbr_check_drain`): 2.89 times as much, and then 2.89 times less.

use super::*;

/// Rates of a quarter of a round trip each, of 10 ms: in percent of what is usual.
fn spans(rates: &[(u64, u64, bool)]) -> Option<[u64; 2]> {
    let mut start = Start::new(Instant::EPOCH);
    let mut quarter = 0;
    for &(times, bytes, timed) in rates {
        for _ in 0..times {
            let [since, until] =
                [quarter, quarter + 1].map(|it| Instant::EPOCH + Nanos::from_millis(it * 10));
            start.see(phases::Rate { bytes, since, until, timed });
            quarter += 1;
        }
    }
    start.spans().map(|spans| spans.map(|it| it.get() / 1_000_000))
}

#[test]
fn a_drain_sends_half_of_startup_or_less_and_ends_with_twice_as_much() {
    for (why, rates, found) in [
        ("as BBR does", &[(8, 289, true), (4, 100, true), (1, 289, true)][..], Some([80, 40])),
        ("half", &[(8, 200, true), (4, 100, true), (1, 200, true)], Some([80, 40])),
        ("more than half", &[(8, 200, true), (4, 101, true), (1, 202, true)], None),
        ("less than twice as much", &[(8, 289, true), (4, 100, true), (1, 199, true)], None),
        ("four rates are usual", &[(4, 200, true), (2, 100, true), (1, 200, true)], Some([40, 20])),
        ("three are not", &[(3, 200, true), (2, 100, true), (1, 200, true)], None),
        ("no timer", &[(8, 289, true), (4, 100, false), (1, 289, true)], None),
        ("no timer meanwhile", &[(8, 289, true), (2, 100, true), (1, 100, false)], None),
        ("one rate", &[(8, 200, true), (1, 100, true), (1, 200, true)], None),
        ("a few round trips", &[(8, 200, true), (64, 100, true), (1, 200, true)], Some([80, 640])),
        ("longer", &[(8, 200, true), (65, 100, true), (1, 200, true)], None),
        (
            "twice the least in it",
            &[(8, 400, true), (1, 180, true), (1, 100, true), (1, 200, true)],
            Some([80, 20]),
        ),
        // The first of nine is forgotten: of the last eight, half are 400.
        (
            "the last two round trips are usual",
            &[(9, 200, true), (4, 400, true), (2, 200, true), (1, 400, true)],
            Some([130, 20]),
        ),
    ] {
        assert_eq!(spans(rates), found, "{why}");
    }
}
