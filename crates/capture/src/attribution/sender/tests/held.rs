//! What the path held: acknowledgements and data, and what a link or a program would have kept as long.

use super::*;

impl Wire {
    /// An acknowledgement that the path held for `held` milliseconds, by its timestamp.
    fn held_ack(&mut self, millis: f64, acked: u64, held: u64) -> Option<Resolution> {
        self.packets += 1;
        let ack = Acknowledgement {
            packet: self.packets,
            seen: at(millis),
            acked,
            edge: Some(acked + 60_000),
            stamp: None,
            echo: None,
            sacks: false,
            is_pure: true,
            held: Nanos::from_millis(held),
            lost_before: false,
            unread: false,
        };
        self.sender.handle_ack(ack, false, Direction::ToClient, &mut self.distances)
    }

    /// Ten full segments at once.
    fn burst(&mut self, millis: f64) {
        self.sender.set_initial_window(10_000);
        for start in (0..10_000).step_by(1_000) {
            self.data(millis, start..start + 1_000);
        }
    }

    /// What links behind the vantage point take for a full segment, in microseconds.
    fn behind(&self) -> u64 {
        let [_, behind] = self.sender.paces();
        behind.time(FULL + Pace::HEADERS).get() / 1_000
    }
}

#[test]
fn an_acknowledgement_with_an_old_timestamp_was_held_since_it_was_due() {
    for (held, stall) in [(40, Stall::Shown), (90, Stall::Since(at(30.0)))] {
        let mut wire = Wire::new();
        wire.burst(0.0);
        wire.held_ack(120.0, 1_000, held);
        let gap = wire.data(120.0, 10_000..11_000).unwrap();
        assert_eq!((gap.hold.wait, gap.stall), (Wait::SlowStart, stall), "{held}");
    }
    // A program that writes later did not wait for it.
    let mut wire = Wire::new();
    wire.push(0.0, 0..100);
    wire.held_ack(120.0, 100, 90);
    assert_eq!(wire.answer(125.0, 100..2_100).unwrap().stall, Stall::None);
}

#[test]
fn what_the_path_held_shows_no_slow_link() {
    let behind = |held| {
        let mut wire = Wire::new();
        wire.burst(0.0);
        wire.held_ack(70.0, 2_000, held);
        wire.behind()
    };
    assert_eq!(behind(0), 24_999, "50 ms for two segments");
    assert_eq!(behind(50), 0);
}

#[test]
fn a_burst_that_is_acknowledged_in_one_go_shows_no_slow_link() {
    for (late, apart, is_slow) in [(60.0, 0.1, false), (60.0, 40.0, true), (39.0, 0.1, true)] {
        let mut wire = Wire::new();
        wire.burst(0.0);
        wire.ack(20.0 + late, 2_000);
        assert!(wire.behind() > 0);
        wire.ack(20.0 + late + apart, 4_000);
        assert_eq!(wire.behind() > 0, is_slow, "{late} {apart}");
    }
}

#[test]
fn a_reader_that_keeps_a_window_used_up_shows_no_slow_link_if_an_acknowledgement_denies_it() {
    let behind = |first: f64| {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(10_000);
        wire.ack_up_to(0.0, 0, 3_000);
        wire.data(0.0, 0..1_000);
        wire.ack_up_to(first, 1_000, 3_000);
        wire.data(100.0, 1_000..2_000);
        wire.data(100.0, 2_000..3_000);
        // The window is used up, and moves by what was read.
        wire.ack_up_to(180.0, 3_000, 5_000);
        wire.behind()
    };
    assert_eq!(behind(21.0), 0, "a segment took 1 ms");
    assert!(behind(55.0) > 0, "or 35 ms");
}

#[test]
fn a_receiver_that_was_seen_to_wait_for_its_reader_shows_no_slow_link_later() {
    // Three segments fill the window, and one acknowledgement of all of them comes so late.
    for (late, waits) in [(10.0, true), (5.0, true), (4.9, false)] {
        let mut wire = Wire::new();
        wire.ack_up_to(0.0, 0, 3_000);
        wire.data(0.0, 0..1_000);
        wire.data(0.0, 1_000..2_000);
        wire.data(0.0, 2_000..3_000);
        wire.ack_up_to(20.0 + late, 3_000, 5_000);
        assert_eq!(wire.sender.waits_for_reader, waits, "{late}");
        wire.data(100.0, 3_000..4_000);
        wire.data(100.0, 4_000..5_000);
        wire.ack_up_to(150.0, 5_000, 8_000);
        assert_eq!(wire.behind() == 0, waits, "{late}");
    }
    let mut wire = Wire::new();
    wire.ack_up_to(0.0, 0, 9_000);
    wire.data(0.0, 0..1_000);
    wire.data(0.0, 1_000..2_000);
    wire.data(0.0, 2_000..3_000);
    wire.ack_up_to(40.0, 3_000, 12_000);
    assert!(!wire.sender.waits_for_reader, "the window had room");
}

#[test]
fn a_probe_is_sent_in_a_stall_that_goes_on_until_earlier_data_is_acknowledged() {
    for (acked, stall) in [(2_000, Stall::Since(at(60.0))), (11_000, Stall::None)] {
        let mut wire = Wire::new();
        wire.burst(0.0);
        assert_eq!(wire.data(60.0, 10_000..11_000).unwrap().stall, Stall::OrLoss);
        wire.ack(80.0, acked);
        assert_eq!(wire.data(80.0, 11_000..12_000).unwrap().stall, stall, "{acked}");
    }
}

#[test]
fn a_probe_behind_which_earlier_data_is_acknowledged_was_held_with_that() {
    let resolution = |earlier: Option<u64>, last: f64| {
        let mut wire = Wire::new();
        wire.burst(0.0);
        wire.repair(100.0, 9_000..10_000);
        if let Some(acked) = earlier {
            wire.held_ack(170.0, acked, 0);
        }
        wire.held_ack(last, 10_000, 0)
    };
    assert_eq!(resolution(Some(2_000), 170.1), Some(Resolution::Spurious));
    assert_eq!(resolution(None, 170.1), None, "nothing shows which copy arrived");
    assert_eq!(resolution(Some(2_000), 120.0), Some(Resolution::Confirmed), "a round trip later");
}

#[test]
fn behind_segments_that_waited_in_a_queue_a_lost_one_would_have_waited_too() {
    for (acked_at, rival) in [(21.0, None), (70.0, Some(Cause::Queueing))] {
        let mut wire = Wire::new();
        wire.data(0.0, 0..1_000);
        wire.data(0.0, 1_000..2_000);
        wire.push(0.0, 2_000..2_500);
        wire.ack(acked_at, 2_000);
        let mut gap = wire.repair(400.0, 2_000..2_500).unwrap();
        gap.later.note(Resolution::Confirmed);
        let gap = gap.settled();
        assert_eq!(gap.hold.wait, Wait::RetransmissionTimeout);
        assert_eq!(gap.hold.rival, rival, "{acked_at}");
        assert_eq!(gap.hold.confidence == Confidence::High, rival.is_none(), "{acked_at}");
    }
}

#[test]
fn a_program_waited_for_memory_until_acknowledgements_came_again() {
    for (acks, rival) in [
        (&[(0.2, 9_000), (96.0, 12_000), (96.5, 15_500)][..], Some(Cause::SendBuffer)),
        (&[(0.2, 9_000), (50.0, 15_500)], None),
    ] {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(20_000);
        for start in (0..15_000).step_by(1_000) {
            wire.data(0.0, start..start + 1_000);
        }
        wire.push(0.0, 15_000..15_500);
        acks.iter().for_each(|&(millis, acked)| wire.ack(millis, acked));
        let hold = wire.push(98.0, 15_500..20_500).unwrap().hold;
        assert_eq!((hold.wait, hold.rival), (Wait::Application, rival), "{acks:?}");
    }
}

/// Three quarters of a round trip of 20 ms, and five quarters and a prompt acknowledgement.
#[test]
fn what_was_sent_again_had_been_lost_if_its_acknowledgement_takes_about_a_round_trip() {
    for (took, resolution) in [
        (14.9, Some(Resolution::Spurious)),
        (15.0, Some(Resolution::Confirmed)),
        (28.5, Some(Resolution::Confirmed)),
        (28.6, None),
    ] {
        let mut wire = Wire::new();
        wire.data(0.0, 0..1_000);
        let repair = wire.repair(400.0, 0..1_000).unwrap();
        assert_eq!(repair.repairs(), Some(RepairedBy::Timeout));
        assert_eq!(wire.held_ack(400.0 + took, 1_000, 0), resolution, "{took}");
    }
}

/// RFC 1122, section 4.2.3.2: an acknowledgement is delayed for less than 0.5 s; that of two segments is not.
#[test]
fn a_silence_longer_than_any_delay_is_a_stall_or_the_reader_s() {
    for (segments, silent, stall) in [
        (1, 500.0, Stall::None),
        (1, 500.1, Stall::Shown),
        (2, 40.0, Stall::None),
        (2, 40.1, Stall::OrDelayedAck),
        (2, 500.0, Stall::OrDelayedAck),
        (2, 500.1, Stall::Shown),
    ] {
        let mut wire = Wire::new();
        let end = segments * 1_000;
        (0..segments).for_each(|it| _ = wire.data(0.0, it * 1_000..(it + 1) * 1_000));
        wire.ack(20.0 + silent, end);
        let gap = wire.data(20.0 + silent, end..end + 1_000).unwrap();
        assert_eq!(gap.stall, stall, "{segments} {silent}");
    }
    for (segments, silent, stall) in [
        (1, 100.0, Stall::None),
        (2, 5.0, Stall::None),
        (2, 5.1, Stall::Unread),
        (2, 500.0, Stall::Unread),
        (2, 500.1, Stall::None),
    ] {
        let mut wire = Wire::default();
        wire.distances.sample(Direction::ToClient, Nanos::from_micros(100));
        wire.distances.sample(Direction::ToServer, Nanos::from_millis(20));
        let end = segments * 1_000;
        (0..segments).for_each(|it| _ = wire.data(20.0, it * 1_000..(it + 1) * 1_000));
        wire.ack(20.1 + silent, end);
        let gap = wire.data(40.1 + silent, end..end + 1_000).unwrap();
        assert_eq!(gap.stall, stall, "{segments} {silent}, at the receiver");
    }
}
