//! Known sequences of windows, one table per control, and what must hold for all of them.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::policy::{CongestionPolicy, SlowStartPolicy};

/// What happens to a control, in segments of [`MSS`] bytes where nothing else is said.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// An ACK for this number of bytes, from a window that was full.
    Ack(u32),
    /// An ACK for this number of bytes, when the application had little to send; then the bytes outstanding.
    Unused(u32, u32),
    /// The third duplicate ACK, with this number of bytes outstanding.
    Loss(u32),
    /// As `Loss`, with a scoreboard.
    SackLoss(u32),
    Duplicate,
    Partial(u32),
    Recovered(u32),
    Timeout(u32),
    /// The same segment once more.
    TimeoutAgain(u32),
    Restart(u32, u32),
}

use Input::*;

const MSS: u32 = 1_000;
const HIGH: u32 = u32::MAX;
const PEER: u32 = 12_000;
const RTT: Duration = Duration::from_millis(100);

fn start(policy: CongestionPolicy, congestion: u32, threshold: u32) -> Controller {
    policy.build(Windows { congestion, threshold }, MSS, SlowStartPolicy::UntilLoss)
}

/// The peer's window is [`PEER`].
fn at_loss(flight: u32) -> AtLoss {
    AtLoss { flight, peer: PEER, next: 0 }
}

fn apply(control: &mut Controller, input: Input, now: Instant) {
    let srtt = Some(Nanos::of(RTT));
    let acked = |bytes, flight, window_limited| Acked {
        bytes,
        delivered: bytes,
        flight,
        window_limited,
        srtt,
    };
    match input {
        Ack(bytes) => control.on_ack(acked(bytes, control.window(), true), now),
        Unused(bytes, flight) => control.on_ack(acked(bytes, flight, false), now),
        Loss(flight) => control.on_loss(at_loss(flight), Repair::PartialAcks),
        SackLoss(flight) => control.on_loss(at_loss(flight), Repair::Scoreboard),
        Duplicate => control.on_duplicate_ack(),
        Partial(bytes) => control.on_partial_ack(bytes),
        Recovered(flight) => control.on_recovered(flight),
        Timeout(flight) => control.on_timeout(at_loss(flight), Expiry::First, now),
        TimeoutAgain(flight) => control.on_timeout(at_loss(flight), Expiry::Again, now),
        Restart(congestion, threshold) => {
            control.on_restart(Windows { congestion, threshold });
        }
    }
}

/// Walks a table of `(input, cwnd, ssthresh)`, one round trip from row to row.
fn walk(mut control: Controller, rows: &[(Input, u32, u32)]) {
    let mut now = Instant::EPOCH;
    for (row, &(input, window, threshold)) in rows.iter().enumerate() {
        now = now + RTT;
        apply(&mut control, input, now);
        let after = (control.window(), control.threshold());
        assert_eq!(after, (window, threshold), "row {row}, {input:?}: {control:?}");
    }
}

#[test]
fn tahoe_goes_back_to_one_segment() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::Tahoe, 1_000, 4_000), &[
        (Ack(1_000),          2_000,  4_000),
        (Ack(2_000),          3_000,  4_000), // ACKs are counted, not bytes
        (Unused(100, 100),    4_000,  4_000), // and nobody asks whether the window was used
        (Ack(1_000),          5_000,  4_000), // BSD slow-starts at ssthresh too
        (Ack(1_000),          5_200,  4_000), // mss * mss / cwnd
        (Ack(1_000),          5_392,  4_000),
        (Loss(5_000),         1_000,  2_000), // half of 5 segments, in whole ones
        (Duplicate,           1_000,  2_000),
        (Recovered(0),        1_000,  2_000),
        (Ack(5_000),          2_000,  2_000),
        (Timeout(2_000),      1_000,  2_000), // at least two segments
        (TimeoutAgain(8_000), 1_000,  2_000), // min(cwnd, flight)
        (Restart(6_000, 9_000), 6_000, 9_000),
    ]);
}

#[test]
fn ns_2_s_tahoe_counts_whole_segments_and_halves_the_window_and_not_the_flight() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::Ns2Tahoe, 3_000, 4_000), &[
        (Ack(1_000),           4_000,  4_000),
        (Ack(1_000),           4_000,  4_000), // 4,250: linear at ssthresh already
        (Ack(1_000),           4_000,  4_000), // 4,485
        (Ack(1_000),           4_000,  4_000), // 4,707
        (Ack(1_000),           4_000,  4_000), // 4,919
        (Ack(1_000),           5_000,  4_000), // 5,122
        (Loss(1_000),          1_000,  2_000), // half of 5 segments, in whole ones
        (Restart(9_999, 2_000), 9_000, 2_000),
        (Timeout(1_000),       1_000,  4_000), // one segment outstanding: half of 9 all the same
        (Restart(30_000, 2_000), 30_000, 2_000),
        (TimeoutAgain(1_000),  1_000,  6_000), // half of what the peer allows
        (Duplicate,            1_000,  6_000),
        (Recovered(0),         1_000,  6_000),
        (Ack(1_000),           2_000,  6_000),
    ]);
}

#[test]
fn reno_recovers_fast_and_once() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::Reno, 16_000, 8_000), &[
        (Ack(1_000),          16_062, 8_000),
        (Loss(16_000),        11_000, 8_000), // ssthresh + 3
        (Duplicate,           12_000, 8_000),
        (Duplicate,           13_000, 8_000),
        (Recovered(13_000),    8_000, 8_000),
        (Ack(1_000),           9_000, 8_000),
        (Ack(1_000),           9_111, 8_000),
        (Timeout(9_000),       1_000, 4_000),
        (TimeoutAgain(1_000),  1_000, 2_000), // BSD halves again
    ]);
}

#[test]
fn new_reno_deflates_partially() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::NewReno, 10_000, HIGH), &[
        (Ack(2_000),          11_000, HIGH),   // min(N, SMSS): L = 1
        (Ack(400),            11_400, HIGH),
        (Unused(1_000, 5_000), 11_400, HIGH),
        (Unused(1_000, 5_701), 12_400, HIGH),  // half of the window was used: slow start goes on
        (Loss(14_400),         9_200,  6_200), // limited transmit is not counted
        (Duplicate,           10_200,  6_200),
        (Partial(3_000),       8_200,  6_200), // minus what is acknowledged, plus one segment
        (Partial(400),         7_800,  6_200),
        (Recovered(2_500),     3_500,  6_200), // min(ssthresh, max(flight, SMSS) + SMSS)
        (Ack(1_000),           4_500,  6_200),
        (Timeout(20_000),      1_000, 10_000), // half of the flight
        (TimeoutAgain(1_000),  1_000, 10_000), // held constant
    ]);
}

#[test]
fn congestion_avoidance_counts_bytes() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::Sack, 4_000, 4_000), &[
        (Ack(2_000),           4_000, 4_000),
        (Ack(2_000),           5_000, 4_000),
        (Ack(4_900),           5_000, 4_000),
        (Unused(5_000, 4_999), 5_000, 4_000), // not used, not counted
        (Ack(200),             6_000, 4_000), // 100 are left over
        (Ack(5_900),           7_000, 4_000),
        (Ack(900_000),         8_000, 4_000), // a stretch ACK is one segment
    ]);
}

#[test]
fn linux_reno_counts_all_that_was_delivered_and_halves_the_window() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::LinuxReno, 4_000, 9_000), &[
        (Ack(4_000),           8_000, 9_000), // a stretch ACK counts whole
        (Ack(2_000),           9_000, 9_000), // 1,000 are left for congestion avoidance
        (Ack(8_000),          10_000, 9_000),
        (Ack(20_000),         12_000, 9_000),
        (SackLoss(7_000),      6_000, 6_000), // half of cwnd, not of the flight
    ]);
}

#[test]
fn with_a_scoreboard_nothing_is_inflated() {
    #[rustfmt::skip]
    let table: &[(CongestionPolicy, u32)] = &[
        (CongestionPolicy::Sack,  10_000),
        (CongestionPolicy::Cubic, 14_000),
    ];
    for &(policy, reduced) in table {
        #[rustfmt::skip]
        walk(start(policy, 20_000, HIGH), &[
            (SackLoss(20_000),    reduced,         reduced),
            (Duplicate,           reduced,         reduced),
            (Partial(3_000),      reduced,         reduced),
            (Recovered(1_000),    reduced,         reduced),
            // Without one, the recovery is RFC 6582's.
            (Restart(20_000, HIGH), 20_000,        HIGH),
            (Loss(20_000),        reduced + 3_000, reduced),
            (Duplicate,           reduced + 4_000, reduced),
            (Recovered(50_000),   reduced,         reduced),
        ]);
    }
}

#[test]
fn an_external_window_changes_by_what_is_set_and_by_nothing_else() {
    let mut control = start(CongestionPolicy::External, 4_000, 9_000);
    let told = |control: &mut Controller, input| {
        apply(control, input, Instant::EPOCH);
        assert_eq!((control.window(), control.threshold()), (4_000, 9_000), "{input:?}");
        let Controller::External(external) = control else { panic!("{control:?}") };
        let events: Vec<_> = core::iter::from_fn(|| external.take_note()).collect();
        assert!(!control.has_notes());
        events
    };
    for (input, kind) in [
        (Loss(4_000), CongestionEventKind::Loss),
        (SackLoss(4_000), CongestionEventKind::Loss),
        (Timeout(4_000), CongestionEventKind::Timeout),
        (TimeoutAgain(4_000), CongestionEventKind::TimeoutAgain),
    ] {
        let events = told(&mut control, input);
        assert_eq!(events.iter().map(|event| event.kind).collect::<Vec<_>>(), [kind]);
    }
    // (input, acknowledged, whether the window was used)
    for (input, bytes, used) in [
        (Ack(1_000), 1_000, true),
        (Unused(500, 2_000), 500, false),
        (Unused(500, 2_001), 500, true),
    ] {
        let [event] = told(&mut control, input)[..] else { panic!("{input:?}") };
        let seen = (event.kind, event.acknowledged, event.delivered, event.window_limited);
        assert_eq!(seen, (CongestionEventKind::Ack, bytes, bytes, used));
    }
    // The endpoint tells of these itself; a restart or a reduction in a recovery is not for an external control.
    for input in [Duplicate, Partial(1_000), Recovered(2_000), Restart(1_000, 2_000)] {
        assert_eq!(told(&mut control, input), []);
    }
    control.set_recovery_window(1_000);
    control.collapse_beside(0);
    control.undo(Windows { congestion: 20_000, threshold: 20_000 });
    assert_eq!((control.window(), control.threshold()), (4_000, 9_000));
    let Controller::External(external) = &mut control else { panic!("{control:?}") };
    assert_eq!(external.take_note().map(|note| note.kind), Some(CongestionEventKind::Spurious));
    external.set(Windows { congestion: 0, threshold: HIGH });
    assert_eq!((control.window(), control.threshold()), (MSS, HIGH), "a segment at least");
}

#[test]
fn a_round_trip_belongs_to_the_ack_that_measured_it_and_the_oldest_events_are_lost_first() {
    let mut control = start(CongestionPolicy::External, 4_000, 9_000);
    let passed = Passed { round_trip: Nanos::of(RTT), srtt: None, una: 1, next: 1 };
    control.on_round_trip(&passed, Instant::EPOCH);
    for bytes in 0..70 {
        apply(&mut control, Ack(bytes), Instant::EPOCH);
    }
    control.on_round_trip(&passed, Instant::EPOCH);
    apply(&mut control, Ack(70), Instant::EPOCH);
    let Controller::External(external) = &mut control else { panic!("{control:?}") };
    let events: Vec<_> = core::iter::from_fn(|| external.take_note()).collect();
    let bytes: Vec<u32> = events.iter().map(|event| event.acknowledged).collect();
    assert_eq!(bytes, (7..=70).collect::<Vec<_>>());
    assert!(events[..63].iter().all(|event| event.round_trip.is_none()));
    assert_eq!(events[63].round_trip, Some(RTT));
}

#[test]
fn cubic_reduces_by_three_tenths_and_starts_slowly_with_whole_acks() {
    #[rustfmt::skip]
    walk(start(CongestionPolicy::Cubic, 10_000, HIGH), &[
        (Ack(4_000),          14_000, HIGH),
        (Ack(9_000),          23_000, HIGH), // however long the ACK
        (SackLoss(5_000),     16_100, 16_100), // of cwnd, not of the flight
        (Recovered(15_000),   16_100, 16_100),
        (Timeout(15_000),      1_000, 11_270),
        (TimeoutAgain(1_000),  1_000, 11_270),
        (Ack(1_000),           2_000, 11_270),
        (SackLoss(9_000),      2_000,  2_000), // at least two segments
        (Restart(9_000, 10_000), 9_000, 10_000),
        (Ack(1_000),          10_000, 10_000),
        (Restart(9_000, 10_000), 9_000, 10_000),
        (Ack(2_000),          10_100, 10_000), // slow start to ssthresh, the rest as Reno
    ]);
}

#[test]
fn cubic_reduces_once_for_a_recovery_that_ends_with_a_timeout() {
    // Whether duplicate ACKs inflate cwnd meanwhile makes no difference.
    for loss in [SackLoss(20_000), Loss(20_000)] {
        let mut control = start(CongestionPolicy::Cubic, 20_000, HIGH);
        let mut after = |input| {
            apply(&mut control, input, Instant::EPOCH);
            (control.window(), control.threshold())
        };
        after(loss);
        for _ in 0..50 {
            assert_eq!(after(Duplicate).1, 14_000, "{loss:?}");
        }
        assert_eq!(after(Timeout(20_000)), (1_000, 14_000), "{loss:?}");
        // Cwnd has grown since, when a later segment of the same window times out: that reduces it.
        assert_eq!(after(Ack(3_000)), (4_000, 14_000), "{loss:?}");
        assert_eq!(after(Timeout(16_000)), (1_000, 2_800), "{loss:?}");
    }
}

fn input() -> impl Strategy<Value = Input> {
    let bytes = || prop_oneof![0u32..5_000, 0u32..200_000, any::<u32>()];
    prop_oneof![
        8 => bytes().prop_map(Ack),
        1 => (bytes(), bytes()).prop_map(|(bytes, flight)| Unused(bytes, flight)),
        1 => bytes().prop_map(Loss),
        1 => bytes().prop_map(SackLoss),
        2 => Just(Duplicate),
        1 => bytes().prop_map(Partial),
        1 => bytes().prop_map(Recovered),
        1 => bytes().prop_map(Timeout),
        1 => bytes().prop_map(TimeoutAgain),
        1 => (bytes(), bytes()).prop_map(|(window, threshold)| Restart(window, threshold)),
    ]
}

proptest! {
    #[test]
    fn windows_stay_within_their_bounds(
        inputs in proptest::collection::vec((input(), 0u64..5_000_000_000), 0..200),
        congestion: u32,
        threshold: u32,
        mss in prop_oneof![0u32..3, 500u32..9_000, any::<u32>()],
    ) {
        for policy in [
            CongestionPolicy::Tahoe,
            CongestionPolicy::Ns2Tahoe,
            CongestionPolicy::Reno,
            CongestionPolicy::NewReno,
            CongestionPolicy::Sack,
            CongestionPolicy::LinuxReno,
            CongestionPolicy::Cubic,
        ] {
            let mut control =
                policy.build(Windows { congestion, threshold }, mss, SlowStartPolicy::HyStart);
            let mss = mss.clamp(1, window::LARGEST / 4);
            let mut now = Instant::EPOCH;
            for &(input, wait) in &inputs {
                now = now + Duration::from_nanos(wait);
                apply(&mut control, input, now);
                prop_assert!((mss..=window::LARGEST).contains(&control.window()), "{control:?}");
                if matches!(input, Loss(_) | SackLoss(_) | Timeout(_)) {
                    prop_assert!(control.threshold() >= 2 * mss, "{control:?}");
                }
                if matches!(input, Timeout(_) | TimeoutAgain(_)) {
                    prop_assert_eq!(control.window(), mss);
                }
            }
        }
    }
}

/// RFC 9438 in floating point and segments, as it is written, one call per ACK.
struct Rfc9438 {
    cwnd: f64,
    w_max: f64,
    cwnd_prior: f64,
    cwnd_epoch: f64,
    w_est: f64,
}

impl Rfc9438 {
    /// Congestion avoidance after a loss at `w_max` segments.
    fn after_loss_at(w_max: f64) -> Self {
        let cwnd = w_max * 0.7;
        Self { cwnd, w_max, cwnd_prior: w_max, cwnd_epoch: cwnd, w_est: cwnd }
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let k = ((self.w_max - self.cwnd_epoch) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + self.w_max
    }

    fn on_ack(&mut self, segments_acked: f64, t: f64, rtt: f64) {
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * 0.3 / 1.7 };
        self.w_est += alpha * segments_acked / self.cwnd;
        if self.w_cubic(t) < self.w_est {
            self.cwnd = self.w_est.max(self.cwnd);
        } else {
            let target = self.w_cubic(t + rtt).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments_acked;
        }
    }
}

/// Loses at `segments`, then acknowledges whole windows, a segment per ACK, for `rounds` round trips:
/// implemented and the reference after each, in segments.
fn against_reference(segments: u32, rtt: Duration, rounds: u32) -> Vec<(f64, f64)> {
    let mut control = start(CongestionPolicy::Cubic, segments * MSS, HIGH);
    let mut reference = Rfc9438::after_loss_at(f64::from(segments));
    control.on_loss(at_loss(segments * MSS), Repair::Scoreboard);
    control.on_recovered(0);
    let mut began = None;
    let mut windows = Vec::new();
    for round in 1..=rounds {
        let acks = control.window() / MSS;
        for ack in 0..acks {
            let now = Instant::EPOCH + rtt * round + rtt * ack / acks;
            let t = now.since(*began.get_or_insert(now)).as_secs_f64();
            reference.on_ack(1.0, t, rtt.as_secs_f64());
            let (flight, srtt) = (control.window(), Some(Nanos::of(rtt)));
            let acked = Acked { bytes: MSS, delivered: MSS, flight, window_limited: true, srtt };
            control.on_ack(acked, now);
        }
        windows.push((f64::from(control.window()) / f64::from(MSS), reference.cwnd));
    }
    windows
}

#[test]
fn cubic_follows_rfc_9438_in_floating_point_within_one_per_cent() {
    for (segments, rtt_ms, rounds) in [
        (1_000, 100, 200), // concave to K = 9.1 s, then convex
        (20, 10, 500),     // Reno-friendly
        (100, 50, 400),    // both
        (5_000, 20, 600),  // K = 15.5 s, concave only
        (3, 200, 100),
    ] {
        let rtt = Duration::from_millis(rtt_ms);
        for (round, (implemented, reference)) in
            against_reference(segments, rtt, rounds).into_iter().enumerate()
        {
            let error = (implemented - reference).abs() / reference;
            assert!(
                error < 0.01,
                "{segments} segments, {rtt_ms} ms, round {round}: {implemented:.2}, not {reference:.2}"
            );
        }
    }
}

#[test]
fn cubic_is_back_at_its_window_after_k() {
    // K = cbrt(1000 * 0.3 / 0.4) = 9.09 s: 91 round trips.
    let windows = against_reference(1_000, Duration::from_millis(100), 120);
    let at = |round: usize| windows[round - 1].0;
    assert!(at(45) > 930.0 && at(45) < 970.0, "{}", at(45));
    assert!((at(91) - 1_000.0).abs() < 2.0, "{}", at(91));
    assert!(at(120) > 1_008.0, "{}", at(120));
}

/// A CUBIC in congestion avoidance since 0, after a loss at 1,000 segments.
fn avoiding() -> Controller {
    let mut control = start(CongestionPolicy::Cubic, 1_000 * MSS, HIGH);
    control.on_loss(at_loss(1_000 * MSS), Repair::Scoreboard);
    control.on_recovered(0);
    ack_window(&mut control, Instant::EPOCH, true);
    control
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn ack_window(control: &mut Controller, now: Instant, window_limited: bool) {
    let bytes = control.window();
    let flight = if window_limited { bytes } else { bytes / 2 };
    let srtt = Some(Nanos::of(RTT));
    let acked = Acked { bytes, delivered: bytes, flight, window_limited, srtt };
    control.on_ack(acked, now);
}

#[test]
fn cubic_does_not_count_idle_time() {
    // The same ten round trips, the second connection with a minute's pause, the third with a
    // minute in which the application hardly sends.
    let minute = 600;
    let round = |round: u32| Instant::EPOCH + RTT * round;
    let (mut busy, mut paused, mut limited) = (avoiding(), avoiding(), avoiding());
    for n in 1..=5 {
        ack_window(&mut busy, round(n), true);
        ack_window(&mut paused, round(n), true);
        ack_window(&mut limited, round(n), true);
    }
    let before = limited.window();
    for n in 6..=5 + minute {
        ack_window(&mut limited, round(n), false);
    }
    assert_eq!(limited.window(), before, "a window that is not used does not grow");
    for n in 6..=10 {
        ack_window(&mut busy, round(n), true);
        ack_window(&mut paused, round(minute + n), true);
        ack_window(&mut limited, round(minute + n), true);
    }
    assert_eq!(paused.window(), busy.window());
    assert_eq!(limited.window(), busy.window());
}

#[test]
fn cubic_gives_way_faster_when_it_did_not_come_back() {
    // A second loss at 700 of 1,000 segments: W_max is 700 * 0.85, so the plateau comes at 595 and
    // after K = cbrt(105 / 0.4) = 6.4 s.
    let mut control = avoiding();
    control.on_loss(at_loss(700 * MSS), Repair::Scoreboard);
    control.on_recovered(0);
    assert!(control.threshold().abs_diff(490 * MSS) < MSS, "{}", control.threshold());
    for round in 2..=66 {
        ack_window(&mut control, Instant::EPOCH + RTT * round, true);
    }
    assert!(control.window().abs_diff(595 * MSS) < MSS, "{}", control.window());
}

#[test]
fn a_controller_is_small() {
    // An endpoint is to be at most 512 bytes.
    assert!(size_of::<Controller>() <= 88, "{}", size_of::<Controller>());
}
