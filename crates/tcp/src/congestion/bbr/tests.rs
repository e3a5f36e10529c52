use std::{collections::VecDeque, vec::Vec};

use super::*;

const MSS: u32 = 1_448;

/// A path with a bottleneck, an endless queue and a policer, and a sender that always has data.
struct World {
    bbr: Bbr,
    /// Time that a segment takes at the bottleneck, and the rest of a round trip.
    segment: Nanos,
    delay: Nanos,
    /// From then on a policer lets one of two segments pass that leave closer than this.
    policed: Option<(Instant, Nanos)>,
    now: Instant,
    link_free: Instant,
    policer_free: Instant,
    /// What was sent when, and when its ACK comes; none if it is dropped.
    out: VecDeque<(Snapshot, Instant, Option<Instant>)>,
    srtt: Nanos,
}

impl World {
    /// A path of 12 Mbit/s and 40 ms: a segment takes 1 ms, 40 fit.
    fn new(phase: u8) -> Self {
        let windows = Windows { congestion: 10 * MSS, threshold: u32::MAX };
        let mut bbr = Bbr::new(windows, MSS);
        let rtt = Nanos::from_millis(40);
        bbr.begin(Some(rtt), phase, at(1));
        Self {
            bbr,
            segment: Nanos::from_millis(1),
            delay: Nanos::from_millis(39),
            policed: None,
            now: at(1),
            link_free: at(1),
            policer_free: at(1),
            out: VecDeque::new(),
            srtt: rtt,
        }
    }

    fn in_flight(&self) -> u32 {
        u32::try_from(self.out.len()).unwrap()
    }

    fn send(&mut self) {
        if self.out.is_empty() {
            self.bbr.on_first_sent(self.now);
        }
        let snapshot = self.bbr.snapshot();
        self.bbr.note_paced(MSS, Some(Nanos::from_millis(40)), self.now);
        let mut passes = true;
        if let Some((from, spacing)) = self.policed
            && self.now >= from
        {
            passes = self.policer_free <= self.now;
            if passes {
                self.policer_free = self.policer_free.max(self.now - spacing * 4) + spacing;
            }
        }
        let ack = passes.then(|| {
            self.link_free = self.link_free.max(self.now) + self.segment;
            self.link_free + self.delay
        });
        self.out.push_back((snapshot, self.now, ack));
    }

    /// The next segment leaves, or the next ACK arrives.
    fn step(&mut self) {
        if self.in_flight() < self.bbr.segments() {
            match self.bbr.paced_until(self.now) {
                None => return self.send(),
                Some(due) if self.next_ack().is_none_or(|ack| due < ack) => {
                    self.now = due;
                    return self.send();
                }
                Some(_) => {}
            }
        }
        let in_flight_before = self.in_flight();
        self.now = self.next_ack().expect("something is out");
        let mut lost = 0;
        while let Some((snapshot, sent, ack)) = self.out.pop_front() {
            if ack.is_none() {
                lost += 1;
                continue;
            }
            let delivery = Delivery {
                delivered: 1,
                lost,
                rate: Some((snapshot, sent)),
                round_trip: Some(Nanos::between(sent, self.now)),
                delayed: false,
                in_flight_before,
                in_flight: self.in_flight(),
                repairing: Repairing::Nothing,
                srtt: Some(self.srtt),
                shortest: None,
            };
            return self.bbr.on_ack(&delivery, self.now);
        }
    }

    fn next_ack(&self) -> Option<Instant> {
        self.out.iter().find_map(|(_, _, ack)| *ack)
    }

    fn run_until(&mut self, ms: u64, mut watch: impl FnMut(&Self)) {
        while self.now < at(ms) {
            self.step();
            watch(self);
        }
    }

    /// Segments per second that the model believes in.
    fn segments_per_second(&self) -> u64 {
        (u64::from(self.bbr.bandwidth()) * 1_000_000) >> RATE_SHIFT
    }
}

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let mut world = World::new(0);
    let mut modes = Vec::new();
    world.run_until(2_000, |world| {
        if modes.last() != Some(&world.bbr.mode) {
            modes.push(world.bbr.mode);
        }
    });
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeBandwidth]);
    assert!(
        (990..=1_010).contains(&world.segments_per_second()),
        "{}",
        world.segments_per_second()
    );
    assert_eq!(world.bbr.min_rtt, 40_000);
    // Twice what the path holds, three bursts of two segments, and two for the phase that probes.
    assert!((86..=88).contains(&world.bbr.segments()), "{} segments", world.bbr.segments());
    let queue = Nanos::between(world.now, world.link_free);
    assert!(queue <= Nanos::from_millis(15), "{queue:?}");
}

#[test]
fn the_gain_cycle_begins_where_it_is_told_and_never_by_draining() {
    for phase in 0..7 {
        let mut world = World::new(phase);
        let mut cycles = Vec::new();
        world.run_until(2_000, |world| {
            let cycle = world.bbr.cycle;
            if world.bbr.mode == Mode::ProbeBandwidth && cycles.last() != Some(&cycle) {
                cycles.push(cycle);
            }
        });
        assert_eq!(cycles[0], (CYCLE - phase) % CYCLE);
        assert!(cycles.windows(2).all(|pair| pair[1] == (pair[0] + 1) % CYCLE), "{cycles:?}");
        assert!(cycles.len() >= 16, "a phase takes a round trip or two: {cycles:?}");
        assert_ne!(cycles[0], 1);
    }
}

#[test]
fn every_ten_seconds_the_shortest_round_trip_is_looked_for_with_four_segments() {
    let mut world = World::new(0);
    let mut probing = Vec::new();
    // The path becomes longer, which looks like a queue.
    world.run_until(3_000, |_| {});
    world.delay = Nanos::from_millis(60);
    world.run_until(14_000, |world| {
        // What waits for this window does not wait for slow start.
        assert_eq!(world.bbr.probes_round_trip(), world.bbr.mode == Mode::ProbeRtt);
        if world.bbr.mode == Mode::ProbeRtt {
            assert!(world.bbr.segments() <= LEAST_WINDOW);
            probing.push(world.now);
        }
    });
    let (first, last) = (probing[0], probing[probing.len() - 1]);
    assert!(
        first > at(10_001) && first < at(10_500),
        "{first:?}, 10 s after the first round trips"
    );
    assert!((200..=400).contains(&last.since(first).as_millis()), "{:?}", last.since(first));
    assert_eq!(world.bbr.mode, Mode::ProbeBandwidth);
    assert_eq!(world.bbr.min_rtt, 61_000);
    assert!(world.bbr.segments() >= 80, "cwnd comes back: {}", world.bbr.segments());
}

#[test]
fn a_policer_is_recognised_and_its_rate_is_kept() {
    let mut world = World::new(0);
    let spacing = Nanos::from_millis(4);
    world.policed = Some((at(2_000), spacing));
    world.run_until(2_000, |world| assert_eq!(world.bbr.policer.bandwidth(), None));
    let mut found = None;
    world.run_until(8_000, |world| {
        if world.bbr.policer.bandwidth().is_some() {
            found = found.or_else(|| {
                Some((world.now, world.segments_per_second(), world.bbr.pacing_gain()))
            });
        }
    });
    let (when, rate, gain) = found.expect("a quarter of the rate passes");
    assert!((225..=290).contains(&rate), "{rate} segments a second at {when:?}");
    assert_eq!(gain, UNIT);
}

#[test]
fn a_timeout_collapses_the_window_and_the_next_ack_restores_it() {
    let mut world = World::new(0);
    world.run_until(2_000, |_| {});
    let before = world.bbr.segments();
    world.bbr.on_timeout();
    assert_eq!(world.bbr.segments(), 1);
    world.step();
    assert!(world.bbr.segments() >= before.min(80), "{} of {before}", world.bbr.segments());
}

#[test]
fn an_application_that_limits_the_rate_is_not_taken_for_the_path() {
    let mut world = World::new(0);
    world.run_until(2_000, |_| {});
    let rate = world.segments_per_second();
    // A segment every 100 ms, for fifty rounds.
    for _ in 0..50 {
        while !world.out.is_empty() {
            world.step_ack();
        }
        world.bbr.on_write_after_gap(0);
        world.now = world.now + Nanos::from_millis(100);
        world.send();
    }
    assert_eq!(world.segments_per_second(), rate);
}

impl World {
    /// The next ACK arrives, whatever may be sent.
    fn step_ack(&mut self) {
        let window = self.bbr.window.congestion;
        self.bbr.set_segments(0);
        if self.in_flight() > 0 {
            self.step();
        }
        self.bbr.window.congestion = self.bbr.window.congestion.max(window);
    }
}
