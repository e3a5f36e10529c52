use Release::{Acknowledgement, Other, Repair, Same, Timer};

use super::*;

const FULL: u64 = 1_448;
const TRIP: Nanos = Nanos::from_millis(40);

/// Why, what the sender does, and what that shows.
type Case<T> = (&'static str, fn(&mut Script), T);

/// A sender in steps: what it does, seen next to it.
struct Script {
    record: PacingRecord,
    now: Instant,
}

impl Script {
    fn new() -> Self {
        Self { record: PacingRecord::default(), now: Instant::EPOCH }
    }

    /// `segments` leave together, `micros` after the ones before; then `flight` segments are outstanding.
    fn burst(&mut self, micros: u64, segments: u64, flight: u64, by: Release) {
        self.now = self.now + Nanos::from_micros(micros);
        let sent = Sent {
            at: self.now,
            bytes: segments * FULL,
            full: FULL,
            flight: flight * FULL,
            by,
            acked: None,
            round_trip: TRIP,
            at_sender: true,
        };
        self.record.see(&sent);
    }

    /// Bursts of two segments for a time, so many microseconds apart.
    fn pace(&mut self, millis: u64, apart: u64, by: Release) {
        for _ in 0..millis * 1_000 / apart {
            self.burst(apart, 2, 40, by);
        }
    }

    /// One cycle of BBR: 1.25, 0.75, and 1 for six round trips.
    fn cycle(&mut self) {
        self.pace(40, 1_840, Timer);
        self.pace(40, 3_067, Timer);
        self.pace(240, 2_300, Timer);
    }

    /// Four segments in flight for a time.
    fn low(&mut self, millis: u64, by: Release) {
        for _ in 0..millis / 20 {
            self.burst(20_000, 2, 4, by);
        }
    }

    /// As much as before within a round trip.
    fn rise(&mut self) {
        for flight in 5..40 {
            self.burst(1_000, 1, flight, Timer);
        }
    }
}

#[test]
fn a_timer_is_told_from_acknowledgements_and_from_a_program() {
    let cases: [Case<bool>; 6] = [
        ("by a timer", |it| it.pace(100, 2_300, Timer), true),
        ("by acknowledgements", |it| it.pace(100, 2_300, Acknowledgement), false),
        ("too few", |it| it.pace(30, 2_300, Timer), false),
        ("repairs", |it| it.pace(100, 2_300, Repair), false),
        (
            "a program writes eight segments at once",
            |it| {
                (0..100).for_each(|_| it.burst(8_000, 8, 40, Timer));
            },
            false,
        ),
        (
            "a burst of a millisecond",
            |it| (0..100).for_each(|_| it.burst(1_000, 8, 40, Timer)),
            true,
        ),
    ];
    for (why, run, paced) in cases {
        let mut script = Script::new();
        run(&mut script);
        let shown = script.record.shown();
        assert_eq!(shown.is_some_and(|it| it.is_paced()), paced, "{why}: {shown:?}");
        assert_eq!(shown.and_then(|it| it.bbr()), None, "{why}: {shown:?}");
        assert!(shown.is_none_or(|it| it.confidence() == Confidence::Medium), "{why}");
    }
}

#[test]
fn the_rate_is_that_of_what_a_timer_has_released() {
    let mut script = Script::new();
    script.pace(1_000, 2_000, Timer);
    let rate = script.record.shown().unwrap().rate;
    assert!(rate.abs_diff(2 * FULL * 8 * 500) < 20_000, "{rate}");
}

#[test]
fn gain_cycles_count_one_behind_the_other() {
    let cases: [Case<u32>; 4] = [
        ("ten cycles", |it| (0..10).for_each(|_| it.cycle()), 8),
        ("the same rate always", |it| it.pace(3_200, 2_300, Timer), 0),
        (
            "more, and never less",
            |it| {
                for _ in 0..10 {
                    it.pace(40, 1_840, Timer);
                    it.pace(280, 2_300, Timer);
                }
            },
            0,
        ),
        (
            "by acknowledgements",
            |it| {
                for _ in 0..10 {
                    it.pace(40, 1_840, Acknowledgement);
                    it.pace(40, 3_067, Acknowledgement);
                    it.pace(240, 2_300, Acknowledgement);
                }
                it.pace(4_000, 2_300, Timer);
            },
            0,
        ),
    ];
    for (why, run, cycles) in cases {
        let mut script = Script::new();
        run(&mut script);
        let shown = script.record.shown();
        let found = shown.map_or(0, |it| it.gain_cycles);
        assert!(found.abs_diff(cycles) <= u32::from(cycles > 0), "{why}: {shown:?}");
        let expected = (cycles > 0).then_some(Confidence::Medium);
        assert_eq!(shown.and_then(|it| it.bbr()), expected, "{why}: {shown:?}");
    }
}

#[test]
fn four_segments_in_flight_are_a_probe_only_after_ten_seconds_and_with_the_window_back_at_once() {
    let later: fn(&mut Script) = |it| it.pace(10_000, 2_300, Acknowledgement);
    let cases: [Case<u32>; 8] = [
        ("as BBR does", |it| (it.low(240, Acknowledgement), it.rise()).1, 1),
        ("too short", |it| (it.low(160, Acknowledgement), it.rise()).1, 0),
        (
            "too few segments",
            |it| {
                (0..3).for_each(|_| it.burst(110_000, 1, 4, Acknowledgement));
                it.rise();
            },
            0,
        ),
        ("too long", |it| (it.low(2_000, Acknowledgement), it.rise()).1, 0),
        ("a program writes little", |it| (it.low(240, Other), it.rise()).1, 0),
        ("after a loss", |it| (it.low(240, Repair), it.rise()).1, 0),
        (
            "slow start afterwards",
            |it| {
                it.low(240, Acknowledgement);
                for flight in 5..9 {
                    it.burst(15_000, 1, flight, Acknowledgement);
                }
                it.pace(100, 2_300, Acknowledgement);
            },
            0,
        ),
        ("nothing afterwards", |it| it.low(240, Acknowledgement), 0),
    ];
    for (why, run, times) in cases {
        let mut script = Script::new();
        later(&mut script);
        run(&mut script);
        let shown = script.record.shown();
        assert_eq!(shown.map_or(0, |it| it.probe_rtts), times, "{why}: {shown:?}");
        if let Some(shown) = shown {
            assert_eq!(shown.bbr(), Some(Confidence::Medium));
            assert!((200..=260).contains(&shown.probe_rtt_time.as_millis()), "{shown:?}");
        }
    }
    let mut early = Script::new();
    early.pace(5_000, 2_300, Acknowledgement);
    early.low(240, Acknowledgement);
    early.rise();
    assert_eq!(early.record.shown(), None, "the shortest round trip is not old");
    let mut twice = Script::new();
    for _ in 0..2 {
        later(&mut twice);
        twice.low(240, Acknowledgement);
        twice.rise();
    }
    let shown = twice.record.shown().unwrap();
    assert_eq!((shown.probe_rtts, shown.bbr()), (2, Some(Confidence::High)));
}

#[test]
fn the_drain_after_startup_is_seen_once() {
    let mut script = Script::new();
    script.pace(400, 800, Timer);
    script.pace(80, 6_650, Timer);
    (0..10).for_each(|_| script.cycle());
    let [startup, drain] = script.record.shown().unwrap().start.unwrap().map(|it| it.as_millis());
    assert!((380..=420).contains(&startup) && (60..=100).contains(&drain), "{startup} {drain}");
}

#[test]
fn what_is_kept_has_a_bound_whatever_comes() {
    let mut script = Script::new();
    let releases = [Same, Acknowledgement, Timer, Repair, Other];
    let mut random = 1_u64;
    for _ in 0..50_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let number = |bits: u32, below: u64| (random >> bits) % below;
        let by = releases[usize::try_from(number(20, 5)).unwrap()];
        script.burst(number(25, 30_000), number(40, 9), number(50, 90), by);
    }
    assert!(script.record.held() < 1_500, "{}", script.record.held());
    assert_eq!(script.record.shown().and_then(|it| it.bbr()), None);
}

mod bounds;
mod cycles;
mod probes;
mod startup;
