//! BBR's gain cycle, a rate for each quarter of a round trip (Linux `bbr_pacing_gain`).

use super::*;

struct Quarters {
    cycle: Cycle,
    micros: u64,
}

impl Quarters {
    fn new() -> Self {
        let mut it = Self { cycle: Cycle::default(), micros: 0 };
        it.burst(0, 0, Timer);
        it
    }

    fn sent(&self, by: Release) -> Sent {
        Sent {
            at: Instant::EPOCH + Nanos::from_micros(self.micros),
            bytes: FULL,
            full: FULL,
            flight: 40 * FULL,
            by,
            acked: None,
            round_trip: TRIP,
            at_sender: true,
        }
    }

    /// So long after the one before, of which `before` bytes had left, a burst begins.
    fn burst(&mut self, micros: u64, before: u64, by: Release) -> bool {
        self.micros += micros;
        self.cycle.see(&self.sent(by), before).is_some()
    }

    /// A number of quarters of a round trip, and their rate in percent.
    fn at(&mut self, quarters: u64, percent: u64) {
        (0..quarters).for_each(|_| assert!(self.burst(10_000, percent * 1_000, Timer)));
    }

    /// Two beginnings of cycles, `period` quarters apart.
    fn two(&mut self, [more, less]: [u64; 2], period: u64) -> u32 {
        self.at(16, 100);
        for _ in 0..2 {
            self.at(4, more);
            self.at(4, less);
            self.at(period - 8, 100);
        }
        self.cycle.cycles()
    }
}

#[test]
fn a_quarter_more_and_a_quarter_less_are_told_from_other_rates() {
    for (rates, cycles) in [
        ([125, 75], 1),
        ([113, 75], 1),
        ([112, 75], 0),
        ([145, 75], 1),
        ([146, 75], 0),
        ([125, 88], 1),
        ([125, 89], 0),
        ([125, 55], 1),
        ([125, 54], 0),
    ] {
        assert_eq!(Quarters::new().two(rates, 32), cycles, "{rates:?}");
    }
}

/// Eight round trips of the queue's length, which is six to fourteen of the shortest.
#[test]
fn a_cycle_follows_another_after_six_to_fourteen_round_trips() {
    for (period, cycles) in [(23, 0), (24, 1), (32, 1), (56, 1), (57, 0)] {
        assert_eq!(Quarters::new().two([125, 75], period), cycles, "{period}");
    }
}

#[test]
fn a_quarter_more_lasts_half_a_round_trip_at_least() {
    for (quarters, cycles) in [(1, 0), (2, 1)] {
        let mut it = Quarters::new();
        it.at(16, 100);
        for _ in 0..2 {
            it.at(quarters, 125);
            it.at(4, 75);
            it.at(28 - quarters, 100);
        }
        assert_eq!(it.cycle.cycles(), cycles, "{quarters}");
    }
}

#[test]
fn twelve_rates_make_what_is_usual() {
    for (before, cycles) in [(11, 0), (12, 1)] {
        let mut it = Quarters::new();
        it.at(before, 100);
        // One quarter more, of two that it must last, is before the twelfth rate.
        it.at(2, 125);
        it.at(4, 75);
        it.at(26, 100);
        it.at(4, 125);
        it.at(4, 75);
        assert_eq!(it.cycle.cycles(), cycles, "{before}");
    }
}

#[test]
fn what_is_usual_is_the_median_of_four_cycles() {
    let mut it = Quarters::new();
    it.at(40, 100);
    // Half of the last 32.
    it.at(16, 200);
    for _ in 0..2 {
        it.at(4, 250);
        it.at(4, 150);
        it.at(24, 200);
    }
    assert_eq!(it.cycle.cycles(), 1);
}

/// One cycle in four.
#[test]
fn cycles_count_only_if_a_quarter_of_the_time_shows_them() {
    let mut it = Quarters::new();
    // 12 of the 16 are not judged yet.
    assert_eq!(it.two([125, 75], 32), 1);
    it.at(128 - 68, 100);
    assert_eq!(it.cycle.cycles(), 1);
    it.at(1, 100);
    assert_eq!(it.cycle.cycles(), 0);
}

#[test]
fn a_quarter_less_follows_within_half_a_round_trip() {
    for (pause, cycles) in [(20_000, 1), (20_001, 0)] {
        let mut it = Quarters::new();
        it.at(16, 100);
        for _ in 0..2 {
            it.at(4, 125);
            // A program's pause ends the rate.
            it.burst(0, 0, Other);
            it.burst(pause, 0, Timer);
            it.at(4, 75);
            it.at(22, 100);
        }
        assert_eq!(it.cycle.cycles(), cycles, "{pause}");
    }
}

#[test]
fn rates_are_of_a_quarter_of_a_round_trip_to_two() {
    for (micros, is_rate) in [(9_999, false), (10_000, true), (80_000, true), (80_001, false)] {
        assert_eq!(Quarters::new().burst(micros, 1_000, Timer), is_rate, "{micros}");
    }
}

/// PROBE_RTT keeps four segments in flight; a timer is late by as much as the shortest round trips take.
#[test]
fn no_rate_is_of_few_segments_or_shorter_round_trips_than_a_millisecond() {
    for (flight, round_trip, is_rate) in
        [(4, 40_000, false), (5, 40_000, true), (40, 1_000, true), (40, 999, false)]
    {
        let mut it = Quarters::new();
        it.micros += round_trip;
        let round_trip = Nanos::from_micros(round_trip);
        let sent = Sent { flight: flight * FULL, round_trip, ..it.sent(Timer) };
        assert_eq!(it.cycle.see(&sent, 1_000).is_some(), is_rate, "{flight} {round_trip:?}");
    }
}

#[test]
fn a_rate_is_timed_if_a_timer_released_half_of_its_bursts() {
    for (bursts, timed) in [
        (&[Acknowledgement, Timer][..], true),
        (&[Acknowledgement, Acknowledgement, Timer], false),
        (&[Timer, Acknowledgement, Timer], true),
    ] {
        let mut it = Quarters::new();
        let (last, others) = bursts.split_last().unwrap();
        others.iter().for_each(|&by| assert!(!it.burst(1_000, 1_000, by)));
        it.micros += 9_000;
        let rate = it.cycle.see(&it.sent(*last), 1_000).unwrap();
        assert_eq!(rate.timed, timed, "{bursts:?}");
    }
}
