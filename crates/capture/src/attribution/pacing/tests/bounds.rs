//! The bounds of what counts as paced, and as BBR's.

use super::*;

fn shown(by_timer: [u32; 2], gain_cycles: u32, probe_rtts: u32) -> Pacing {
    let (rate, probe_rtt_time) = (0, Duration::ZERO);
    Pacing { by_timer, rate, gain_cycles, probe_rtts, probe_rtt_time, start: None }
}

#[test]
fn half_of_the_bursts_and_at_least_sixteen_by_a_timer_are_pacing() {
    for (by_timer, paced) in
        [([15, 15], false), ([16, 16], true), ([16, 32], true), ([16, 33], false), ([0, 0], false)]
    {
        assert_eq!(shown(by_timer, 0, 0).is_paced(), paced, "{by_timer:?}");
    }
}

#[test]
fn three_gain_cycles_of_a_paced_sender_or_a_probe_show_bbr_and_both_or_two_probes_for_sure() {
    let (paced, not) = ([16, 16], [16, 33]);
    let (medium, high) = (Some(Confidence::Medium), Some(Confidence::High));
    for (by_timer, cycles, probes, sure) in [
        (paced, 2, 0, None),
        (paced, 3, 0, medium),
        (not, 3, 0, None),
        (not, 0, 1, medium),
        (not, 3, 1, medium),
        (not, 0, 2, high),
        (paced, 2, 1, medium),
        (paced, 3, 1, high),
    ] {
        assert_eq!(shown(by_timer, cycles, probes).bbr(), sure, "{by_timer:?} {cycles} {probes}");
    }
}

/// Linux `tcp_tso_autosize`: what a millisecond takes, or two segments. More than that before a pause was no timer's.
#[test]
fn more_than_two_segments_before_a_pause_of_more_than_2_ms_were_a_program_s() {
    for (micros, segments, paced) in
        [(2_000, 3, true), (2_001, 3, false), (2_001, 2, true), (1_999, 9, true)]
    {
        let mut script = Script::new();
        (0..40).for_each(|_| script.burst(micros, segments, 40, Timer));
        assert_eq!(script.record.shown().is_some(), paced, "{micros} {segments}");
    }
}

/// A window of fewer segments shows nothing: PROBE_RTT leaves four.
#[test]
fn pacing_shows_from_eight_outstanding_segments_on() {
    for (flight, is_enough) in [(7, false), (8, true)] {
        let mut script = Script::new();
        (0..40).for_each(|_| script.burst(2_000, 2, flight, Timer));
        assert_eq!(script.record.shown().is_some(), is_enough, "{flight}");
        assert_eq!(script.record.held() > 0, is_enough, "{flight}");
    }
    let mut script = Script::new();
    script.burst(2_000, 2, 8, Timer);
    (0..40).for_each(|_| script.burst(2_000, 2, 7, Timer));
    assert!(script.record.shown().is_some(), "once it has begun, a small flight counts as well");
}

#[test]
fn before_a_full_segment_is_known_no_flight_is_enough() {
    let mut record = PacingRecord::default();
    record.see(&Sent { full: 0, ..sent(0, 40 * FULL, Timer) });
    assert_eq!(record.held(), 0);
}

#[test]
fn a_capture_behind_a_link_shows_no_pacing() {
    let mut record = PacingRecord::default();
    for burst in 0..40 {
        record.see(&Sent { at_sender: false, ..sent(burst * 2_000, 40 * FULL, Timer) });
    }
    assert_eq!(record.shown(), None);
}

#[test]
fn what_leaves_with_a_burst_is_part_of_it() {
    let mut script = Script::new();
    for _ in 0..100 {
        script.burst(2_000, 1, 40, Timer);
        script.burst(0, 1, 40, Same);
    }
    let Pacing { by_timer, rate, .. } = script.record.shown().unwrap();
    assert_eq!(by_timer, [100, 100]);
    assert!(rate.abs_diff(2 * FULL * 8 * 500) < 200_000, "{rate}");
}

fn sent(micros: u64, flight: u64, by: Release) -> Sent {
    Sent {
        at: Instant::EPOCH + Nanos::from_micros(micros),
        bytes: 2 * FULL,
        full: FULL,
        flight,
        by,
        acked: None,
        round_trip: TRIP,
        at_sender: true,
    }
}
