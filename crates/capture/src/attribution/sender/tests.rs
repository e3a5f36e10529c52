//! One end as a sender, 20 ms from its receiver, seen on its own host.

mod edges;
mod held;
mod notes;
mod rates;
mod stalls;

use std::ops::Range;

use ackwise_cause::{Cause, Writer};

use super::{
    super::{Confidence, gap::Missing, nagle::NagleHabit, train::Train},
    *,
};

const FULL: u64 = 1_000;

/// A full segment that left at once and arrived 10 ms later.
pub(crate) fn departed() -> Departure {
    stalls::last()
}

#[derive(Default)]
struct Wire {
    sender: Sender,
    distances: Distances,
    packets: u64,
}

impl Wire {
    fn new() -> Self {
        let mut wire = Self::default();
        wire.distances.sample(Direction::ToClient, Nanos::from_millis(20));
        wire.distances.sample(Direction::ToServer, Nanos::ZERO);
        wire
    }

    /// The same, seen at its receiver.
    fn at_receiver() -> Self {
        let mut wire = Self::default();
        wire.distances.sample(Direction::ToClient, Nanos::ZERO);
        wire.distances.sample(Direction::ToServer, Nanos::from_millis(20));
        wire
    }

    fn seen(&mut self, millis: f64, bytes: Range<u64>) -> SeenData {
        self.packets += 1;
        SeenData {
            packet: self.packets,
            seen: at(millis),
            bytes,
            full: FULL,
            pushed: false,
            loss: None,
            missing: Missing::Nothing,
            new: true,
            timestamp: None,
            echo: None,
            answers: None,
            lost_before: None,
            seems_lost_before: false,
        }
    }

    fn send(&mut self, data: SeenData) -> Option<Gap> {
        self.sender.handle_data(&data, self.distances.path_delays(Direction::ToClient))
    }

    fn data(&mut self, millis: f64, bytes: Range<u64>) -> Option<Gap> {
        let data = self.seen(millis, bytes);
        self.send(data)
    }

    fn push(&mut self, millis: f64, bytes: Range<u64>) -> Option<Gap> {
        let data = SeenData { pushed: true, ..self.seen(millis, bytes) };
        self.send(data)
    }

    /// The first data after a request.
    fn answer(&mut self, millis: f64, bytes: Range<u64>) -> Option<Gap> {
        let data = SeenData {
            pushed: true,
            answers: Some(Asks { packet: 1, seen: Instant::EPOCH }),
            ..self.seen(millis, bytes)
        };
        self.send(data)
    }

    fn repair(&mut self, millis: f64, bytes: Range<u64>) -> Option<Gap> {
        let data = self.seen(millis, bytes);
        self.send(SeenData { loss: Some(Loss::Repairs), new: false, ..data })
    }

    fn ack(&mut self, millis: f64, acked: u64) {
        self.ack_up_to(millis, acked, acked + 60_000);
    }

    fn ack_up_to(&mut self, millis: f64, acked: u64, edge: u64) {
        self.packets += 1;
        let (packet, seen) = (self.packets, at(millis));
        let (edge, echo, sacks) = (Some(edge), None, false);
        let ack = Acknowledgement {
            packet,
            seen,
            acked,
            edge,
            stamp: None,
            echo,
            sacks,
            is_pure: true,
            held: Nanos::ZERO,
            lost_before: false,
            unread: false,
        };
        self.sender.handle_ack(ack, false, Direction::ToClient, &mut self.distances);
    }
}

fn at(millis: f64) -> Instant {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's time")]
    Instant::from_nanos((millis * 1e6).round() as u64)
}

#[test]
fn a_sender_that_was_seen_twice_without_nagle_has_none() {
    for (small, wait) in [(0, Wait::Nagle), (1, Wait::Nagle), (2, Wait::Application)] {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(10_000);
        wire.push(0.0, 0..100);
        let mut end = 100;
        for number in 0..small {
            wire.push(f64::from(number) * 3.0 + 3.0, end..end + 100);
            end += 100;
        }
        wire.ack(40.0, end);
        wire.answer(100.0, end..end + 100);
        wire.ack(140.0, end + 100);
        let gap = wire.push(140.1, end + 100..end + 200).unwrap();
        assert_eq!(gap.hold.wait, wait, "{small}");
    }
}

#[test]
fn a_program_that_wrote_late_before_is_not_accused_of_nagle_for_one_coincidence() {
    let think = |spans: &[f64]| {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(10_000);
        let (mut time, mut end) = (0.0, 0);
        let mut waits = Vec::new();
        for span in spans {
            wire.answer(time, end..end + 100);
            wire.ack(time + 20.0, end + 100);
            let gap = wire.push(time + 20.0 + span, end + 100..end + 200).unwrap();
            waits.push((gap.hold.wait, gap.hold.confidence));
            wire.ack(time + 40.0 + span, end + 200);
            (time, end) = (time + 150.0, end + 200);
        }
        waits
    };
    let nagle = (Wait::Nagle, Confidence::High);
    assert_eq!(think(&[0.1, 0.1, 0.1]), [nagle; 3]);
    let coincidence = (Wait::Application, Confidence::Low);
    assert_eq!(think(&[5.0, 3.0, 0.1])[2], coincidence);
    // A held segment of a busy host, and one that its program wrote later.
    assert_eq!(think(&[0.1, 0.1, 0.8])[2], (Wait::Nagle, Confidence::Medium));
    assert_eq!(think(&[0.1, 0.1, 5.0])[2], (Wait::Application, Confidence::High));
}

#[test]
fn small_segments_show_nothing_of_nagle_when_they_were_allowed() {
    for full_between in [false, true] {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(10_000);
        wire.push(0.0, 0..100);
        let mut end = 100;
        for round in 1..5 {
            let time = f64::from(round) * 50.0;
            if !full_between {
                // All of it is acknowledged before the next.
                wire.ack(time - 20.0, end);
            }
            let length = if full_between { FULL } else { 100 };
            wire.push(time, end..end + length);
            end += length;
        }
        assert_eq!(wire.sender.nagle.despite(), 0, "{full_between}");
    }
}

#[test]
fn what_an_acknowledgement_changed_is_known_when_it_arrives() {
    let mut wire = Wire::new();
    wire.data(0.0, 0..1_000);
    wire.data(0.01, 1_000..2_000);
    wire.push(0.02, 2_000..2_500);
    assert_eq!(wire.sender.flight(), 2_500);
    assert!(!wire.sender.knows_edge());
    wire.ack(20.0, 2_000);
    assert!(wire.sender.knows_edge());
    let gap = wire.push(20.1, 2_500..3_000).unwrap();
    assert_eq!(wire.sender.flight(), 1_000);
    assert_eq!(gap.evidence.packets().collect::<Vec<_>>(), [3, 4, 5]);
    let latest = wire.sender.latest.unwrap();
    assert_eq!((latest.flight, latest.usable_window), ([2_500, 500], None));
    assert!(!latest.small_acknowledged);
    wire.ack(40.2, 3_000);
    wire.push(40.3, 3_000..3_100).unwrap();
    let latest = wire.sender.latest.unwrap();
    assert_eq!((latest.flight, latest.usable_window), ([1_000, 0], Some(59_000)));
    assert!(latest.small_acknowledged);
    assert_eq!((latest.at, latest.left), (at(40.2), at(30.205)));
}

#[test]
fn acknowledgements_in_flight_are_bounded() {
    let mut wire = Wire::new();
    wire.data(0.0, 0..1_000);
    for number in 0..1_000 {
        wire.ack(20.0 + f64::from(number) / 100.0, 1_000);
    }
    assert_eq!(wire.sender.acks_in_flight.len(), Sender::MAX_ACKS_IN_FLIGHT);
    let last = wire.sender.acks_in_flight.back().unwrap();
    assert_eq!(last.packet, 1_001, "the newest counts");
}

#[test]
fn the_delay_of_acknowledgements_is_the_median_of_the_last_seven() {
    let mut wire = Wire::new();
    assert_eq!(wire.sender.delayed_ack(), None);
    let delays = [190.0, 190.0, 190.0, 40.0, 190.0, 50.0, 60.0, 70.0, 80.0, 90.0];
    let (mut now, mut end) = (0.0, 0);
    for delay in delays {
        wire.push(now, end..end + 100);
        end += 100;
        wire.ack(now + 20.0 + delay, end);
        now += 20.1 + delay;
    }
    wire.push(now, end..end + 100);
    assert_eq!(wire.sender.delayed_ack(), Some(Nanos::from_millis(70)));
}

#[test]
fn a_prompt_acknowledgement_was_not_delayed() {
    // 1 ms and a quarter of the way to the receiver.
    for (late, delayed) in [(3.5, false), (3.6, true)] {
        let mut wire = Wire::new();
        wire.push(0.0, 0..100);
        wire.ack(20.0 + late, 100);
        let gap = wire.push(20.1 + late, 100..200).unwrap();
        assert_eq!(gap.delayed_until.is_some(), delayed, "{late}");
    }
}

#[test]
fn what_follows_a_repair_waits_for_it_until_all_that_was_sent_before_is_acknowledged() {
    let mut wire = Wire::new();
    for start in (0..5_000).step_by(1_000) {
        wire.data(start as f64 / 1e5, start..start + 1_000);
    }
    wire.ack(20.0, 1_000);
    let repair = wire.repair(20.1, 1_000..2_000).unwrap();
    assert_eq!(repair.repairs(), Some(RepairedBy::Recovery));
    assert_eq!(wire.sender.last().unwrap().packet, 7);
    assert_eq!(wire.sender.last_new().unwrap().0.packet, 5);
    assert_eq!(wire.sender.last_with_link().unwrap().0.packet, 7);
    wire.ack(30.0, 1_000);
    assert_eq!(wire.data(30.1, 5_000..6_000).unwrap().hold.wait, Wait::Recovery);
    wire.ack(40.0, 4_999);
    assert_eq!(wire.data(40.1, 6_000..7_000).unwrap().hold.wait, Wait::Recovery);
    wire.ack(41.0, 5_000);
    assert_eq!(wire.data(41.1, 7_000..8_000).unwrap().hold.wait, Wait::Recovery, "by this ACK");
    wire.ack(50.0, 6_000);
    assert_eq!(wire.data(50.1, 8_000..9_000).unwrap().hold.wait, Wait::CongestionWindow);
}

#[test]
fn what_the_capture_lacks_blinds_for_one_gap() {
    let mut wire = Wire::new();
    wire.data(0.0, 0..1_000);
    wire.sender.skip(3_000);
    assert_eq!(wire.sender.flight(), 3_000);
    assert!(wire.data(5.0, 3_000..4_000).unwrap().capture_lost_data);
    assert!(!wire.data(9.0, 4_000..5_000).unwrap().capture_lost_data);
    wire.sender.skip(10);
    assert_eq!(wire.sender.flight(), 5_000);
}

#[test]
fn the_initial_window_is_counted_if_it_kept_the_sender_from_more() {
    for (after, window) in [(20.1, Some(3)), (35.0, None)] {
        let mut wire = Wire::new();
        wire.data(0.0, 0..1_000);
        wire.data(0.01, 1_000..3_000);
        wire.ack(20.0, 3_000);
        wire.data(after, 3_000..4_000);
        assert_eq!(wire.sender.initial_window(), window, "{after}");
    }
}

#[test]
fn psh_that_ends_a_write_is_told_from_psh_of_a_network_card() {
    for (before, bytes, ended) in [
        (None, 1_000, true),
        (None, 500, true),
        (None, 2_000, false),
        (None, 2_500, true),
        (Some(true), 1_000, true),
        (Some(false), 1_000, false),
        (Some(false), 900, true),
    ] {
        let mut wire = Wire::new();
        let mut start = 0;
        if let Some(pushed) = before {
            let data = SeenData { pushed, ..wire.seen(0.0, 0..1_000) };
            wire.send(data);
            start = 1_000;
        }
        wire.push(1.0, start..start + bytes);
        assert_eq!(wire.sender.last().unwrap().ended, ended, "{before:?} {bytes}");
        assert!(wire.sender.last().unwrap().pushed);
    }
    let mut wire = Wire::new();
    wire.data(0.0, 0..900);
    assert!(!wire.sender.last().unwrap().ended, "without PSH");
}

#[test]
fn what_comes_soon_enough_is_the_same_burst() {
    for (pushed, apart, same) in
        [(true, 0.3, true), (true, 0.301, false), (false, 0.3, true), (false, 0.301, false)]
    {
        let mut wire = Wire::new();
        let data = SeenData { pushed, ..wire.seen(0.0, 0..500) };
        wire.send(data);
        let gap = wire.data(apart, 500..1_000).unwrap();
        assert_eq!(gap.same_burst, same, "{pushed} {apart}");
    }
    let mut wire = Wire::new();
    wire.data(0.0, 0..1_000);
    assert!(!wire.repair(0.1, 0..1_000).unwrap().same_burst);
}

#[test]
fn a_link_before_the_vantage_point_is_learned_from_full_segments_that_were_ready() {
    let link = |wire: &Wire| {
        let span = wire.sender.paces()[0].time(FULL + Pace::HEADERS);
        span.get().div_ceil(1_000)
    };
    let mut wire = Wire::new();
    wire.data(0.0, 0..1_000);
    wire.data(4.0, 1_000..2_000);
    assert_eq!(link(&wire), 4_000);
    // Twice as far apart while it was ready, so the link still had it.
    assert!(wire.data(11.9, 2_000..3_000).unwrap().same_burst);
    for (bytes, pushed, loss) in
        [(500, false, None), (1_000, true, None), (1_000, false, Some(Loss::Missing))]
    {
        let mut wire = Wire::new();
        let data = SeenData { pushed, ..wire.seen(0.0, 0..1_000) };
        wire.send(data);
        let data = SeenData { loss, ..wire.seen(4.0, 1_000..1_000 + bytes) };
        wire.send(data);
        assert_eq!(link(&wire), 0, "{bytes} {pushed} {loss:?}");
    }
}

#[test]
fn a_burst_that_is_acknowledged_late_shows_a_slow_link_behind_the_vantage_point() {
    let behind_opening = |acked, late, window: u64, opened: u64| {
        let mut wire = Wire::new();
        let edge = Some(window);
        wire.packets += 1;
        let first = Acknowledgement {
            packet: 1,
            seen: at(0.0),
            acked: 0,
            edge,
            stamp: None,
            echo: None,
            sacks: false,
            is_pure: true,
            held: Nanos::ZERO,
            lost_before: false,
            unread: false,
        };
        wire.sender.handle_ack(first, false, Direction::ToClient, &mut wire.distances);
        for start in (0..6_000).step_by(1_000) {
            wire.data(10.0, start..start + 1_000);
        }
        wire.ack_up_to(30.0 + late, acked, window + opened);
        let [_, behind] = wire.sender.paces();
        behind.time(acked + acked / FULL * Pace::HEADERS).get().div_ceil(1_000)
    };
    let behind = |acked, late, window| behind_opening(acked, late, window, acked);
    assert_eq!(behind(2_000, 8.0, 60_000), 8_000);
    assert_eq!(behind(4_000, 8.0, 60_000), 8_000);
    assert_eq!(behind(2_000, 0.0, 60_000), 0, "as soon as the round trip allows");
    assert_eq!(behind(1_000, 8.0, 60_000), 0, "one segment may have been delayed");
    assert_eq!(behind(2_000, 8.0, 6_500), 8_000, "the receive window is full");
    assert_eq!(behind(3_000, 8.0, 6_500), 0, "and the receiver did not read");
    assert_eq!(behind(3_000, 8.0, 7_000), 8_000, "the window had room");
    assert_eq!(behind_opening(2_000, 8.0, 6_500, 8_400), 8_000, "and grows");
    assert_eq!(behind_opening(2_000, 8.0, 6_500, 8_500), 0, "the receiver has read");
}

#[test]
fn who_idles_for_a_timeout_may_have_its_window_cut() {
    for (idle, cut) in [(220.0, false), (220.1, true)] {
        let mut wire = Wire::new();
        wire.data(0.0, 0..2_000);
        wire.ack(20.0, 2_000);
        wire.data(idle, 2_000..3_000);
        assert_eq!(wire.sender.window.peak_before_idle.is_some(), cut, "{idle}");
    }
    let mut outstanding = Wire::new();
    outstanding.data(0.0, 0..2_000);
    outstanding.ack(20.0, 1_999);
    outstanding.data(900.0, 2_000..2_100);
    assert_eq!(outstanding.sender.window.peak_before_idle, None);
}

#[test]
fn a_sender_whose_buffer_is_full_is_told_from_one_that_waits_for_a_window() {
    let mut wire = Wire::new();
    let (mut now, mut end) = (0.0, 0);
    let mut writers = Vec::new();
    for _ in 0..6 {
        let gap = wire.push(now, end..end + 4_000);
        writers.extend(gap.map(|gap| gap.hold.writer));
        end += 4_000;
        now += 20.0;
        wire.ack(now, end);
        now += 0.1;
    }
    assert_eq!(writers[0], Writer::Working);
    assert_eq!(writers[4], Writer::SendBufferFull);
}

#[test]
fn small_segments_that_leave_before_an_acknowledgement_has_arrived_show_that_nagle_is_off() {
    // Next to the receiver, an acknowledgement is seen 20 ms before its sender has it.
    for (apart, is_off) in [(3.0, true), (45.0, false)] {
        let mut wire = Wire::default();
        wire.distances.sample(Direction::ToClient, Nanos::ZERO);
        wire.distances.sample(Direction::ToServer, Nanos::from_millis(40));
        for number in 0..4_u32 {
            let (seen, start) = (f64::from(number) * apart, u64::from(number) * 100);
            wire.push(seen, start..start + 100);
            wire.ack(seen + 0.5, start + 100);
        }
        assert_eq!(wire.sender.nagle.habit() == NagleHabit::Off, is_off, "{apart}");
    }
}

/// RFC 7323, section 4.3.
#[test]
fn what_is_echoed_denies_that_a_later_acknowledgement_has_arrived() {
    for (to_server, to_client, late, stamp, echo, [denied, overdue]) in [
        (20, 20, 30, Some(61), Some(61), [false, false]),
        (20, 20, 30, Some(61), Some(30), [true, true]),
        (20, 20, 21, Some(61), Some(30), [true, false]),
        (20, 20, 30, Some(61), Some(70), [false, false]),
        (20, 20, 30, Some(5), Some(u32::MAX), [true, true]),
        (20, 20, 30, None, Some(30), [false, false]),
        (20, 20, 30, Some(61), None, [false, false]),
        // Next to the sender, it was only seen too early.
        (1, 40, 30, Some(61), Some(30), [true, false]),
    ] {
        let mut wire = Wire::new();
        wire.distances = Distances::default();
        wire.distances.sample(Direction::ToServer, Nanos::from_millis(to_server));
        wire.distances.sample(Direction::ToClient, Nanos::from_millis(to_client));
        wire.push(0.0, 0..100);
        wire.ack(40.0, 100);
        wire.sender.acks_in_flight[0].stamp = stamp;
        let data = SeenData { echo, ..wire.seen(40.0 + f64::from(late), 100..200) };
        let delays = *wire.distances.path_delays(Direction::ToClient);
        let sent = data.seen - delays.sender;
        let found = wire.sender.lacks_what_it_should_have(&data, sent, &delays);
        assert_eq!(found, overdue, "{to_server} {late} {stamp:?} {echo:?}");
        wire.sender.receive(sent, Nanos::ZERO, &delays, echo);
        assert_eq!(wire.sender.acked == 0, denied, "{to_server} {late} {stamp:?} {echo:?}");
    }
}

/// The receiver had acknowledged it, and opened its window, before it came; but neither had reached the sender.
#[test]
fn what_is_sent_again_before_the_window_opens_waits_for_the_window() {
    let mut wire = Wire::at_receiver();
    wire.ack_up_to(0.0, 0, 2_000);
    wire.data(20.0, 0..1_000);
    wire.push(20.1, 1_000..2_000);
    wire.ack_up_to(60.0, 2_000, 2_000);
    wire.ack_up_to(75.0, 2_000, 4_000);
    let gap = wire.repair(79.0, 1_000..2_000).unwrap();
    assert_eq!(gap.hold.wait, Wait::ReceiveWindow { probing: false }, "it left 1 ms before that");
}

#[test]
fn a_train_begins_when_the_link_before_the_vantage_point_has_nothing_to_do() {
    let mut wire = Wire::at_receiver();
    wire.ack(0.0, 0);
    for number in 0..4 {
        let start = number * 1_000;
        wire.data(20.0 + number as f64 * 2.0, start..start + 1_000);
    }
    let train = |wire: &Wire| wire.sender.last().unwrap().train;
    assert_eq!(train(&wire), Train::NONE, "these have shown the rate");
    wire.ack(27.0, 4_000);
    wire.data(60.0, 4_000..5_000);
    let first = train(&wire);
    assert_ne!(first, Train::NONE);
    wire.data(62.0, 5_000..6_000);
    assert_eq!(train(&wire), first, "the link is still busy");
    wire.ack(62.1, 6_000);
    wire.data(100.0, 6_000..7_000);
    assert_ne!(train(&wire), first);
}

/// A link that takes 20 ms for 1,000 bytes of data, as two full segments have shown that were sent at once.
fn on_a_slow_link() -> Wire {
    let mut wire = Wire::new();
    wire.sender.bottleneck.behind.sample(FULL, Nanos::from_millis(20));
    wire.sender.bottleneck.behind.sample(FULL, Nanos::from_millis(20));
    wire
}

#[test]
fn a_link_goes_on_with_what_an_acknowledgement_leaves_outstanding() {
    for (why, ack, busy_until) in [
        ("as the rate says", 60.0, 60),
        // All but what it covers was on the link when that had been delivered, a round trip ago.
        ("the rate is a little too fast", 65.0, 65),
        ("the path has held it", 165.0, 59),
    ] {
        let mut wire = on_a_slow_link();
        for start in [0, 1_000, 2_000] {
            wire.data(0.0, start..start + FULL);
        }
        wire.ack(ack, 2_000);
        let free_at = wire.sender.bottleneck.free_at().saturating_since(Instant::EPOCH);
        assert_eq!(free_at.as_millis(), busy_until, "{why}");
    }
}

#[test]
fn after_the_last_acknowledgement_before_a_timeout_a_link_was_idle_unless_one_is_not_overdue() {
    for (why, sent, acks, silent_since) in [
        ("the rest of the flight was lost", 8, &[(60.0, 2_000)][..], Some(50)),
        (
            "what came behind a hole, too",
            8,
            &[(60.0, 2_000), (80.0, 2_000), (100.0, 2_000)],
            Some(90),
        ),
        ("one answers a probe", 8, &[(60.0, 2_000), (900.0, 2_000)], Some(50)),
        ("a receiver may keep that of one segment", 3, &[(60.0, 2_000)], None),
        ("nothing was acknowledged", 8, &[], None),
        ("a segment is still on the link", 8, &[(60.0, 2_000), (940.0, 6_000)], None),
    ] {
        let mut wire = on_a_slow_link();
        for number in 0..sent {
            wire.data(0.0, number * FULL..(number + 1) * FULL);
        }
        for &(millis, acked) in acks {
            wire.ack(millis, acked);
        }
        let gap = wire.repair(1_000.0, 2_000..3_000).unwrap();
        let found = gap.silent_since.map(|it| it.saturating_since(Instant::EPOCH).as_millis());
        assert_eq!(found, silent_since, "{why}");
    }
}

#[test]
fn what_fills_a_window_that_is_acknowledged_late_was_on_a_link_or_with_the_receiver() {
    for (late, on_link) in [(15.0, Some(15)), (39.9, Some(39)), (40.1, None)] {
        let mut wire = Wire::new();
        wire.ack_up_to(0.0, 0, FULL);
        wire.data(0.1, 0..FULL);
        let ack = 20.1 + late;
        wire.ack_up_to(ack, FULL, 2 * FULL);
        let gap = wire.data(ack, FULL..2 * FULL).unwrap();
        assert_eq!(gap.hold.rival, Some(Cause::Transmission), "{late}");
        let rate = if on_link.is_none() { Confidence::High } else { Confidence::Medium };
        assert_eq!((gap.hold.confidence, gap.rate), (Confidence::Medium, rate));
        let busy = gap.free_at.saturating_since(at(0.1)).as_millis();
        assert_eq!(busy, on_link.unwrap_or(0), "{late}");
    }
}

#[test]
fn what_ends_a_write_is_a_small_segment_with_psh() {
    for (small, ended, ends) in [(true, true, true), (false, true, false), (true, false, false)] {
        let it = Departure { small, ended, ..departed() };
        assert_eq!(it.ends_write(), ends, "{small} {ended}");
    }
}
