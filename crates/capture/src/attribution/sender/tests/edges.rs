//! What the edge of the receive window shows, by each of its bounds.

use super::*;

/// All that was sent up to 5,000 is acknowledged, and the window is as large as it ever was.
fn sender() -> Sender {
    Sender {
        full: FULL,
        highest: 5_000,
        acked: 5_000,
        edge: Some(65_000),
        most_offered: 60_000,
        offered: Some(60_000),
        ..Sender::default()
    }
}

fn ack(acked: u64, edge: Option<u64>) -> Acknowledgement {
    Acknowledgement {
        packet: 9,
        seen: at(0.0),
        acked,
        edge,
        stamp: None,
        echo: None,
        sacks: false,
        is_pure: true,
        held: Nanos::ZERO,
        lost_before: false,
        unread: false,
    }
}

#[test]
fn a_window_is_silly_that_has_some_room_and_less_than_a_segment_or_half_of_the_largest() {
    for (room, most_offered, acked, silly) in [
        (0, 60_000, 5_000, false),
        (1, 60_000, 5_000, true),
        (999, 60_000, 5_000, true),
        (1_000, 60_000, 5_000, false),
        (399, 800, 5_000, true),
        (400, 800, 5_000, false),
        (999, 60_000, 4_999, false),
    ] {
        let edge = Some(5_000 + room);
        let mut sender = Sender { edge, most_offered, acked, ..sender() };
        sender.note_silly_window(at(1.0));
        assert_eq!(sender.silly_since.is_some(), silly, "{room} {most_offered} {acked}");
    }
}

#[test]
fn a_silly_window_is_taken_by_what_ends_with_it() {
    let silly = Sender { silly_since: Some(at(0.0)), edge: Some(5_400), ..sender() };
    let mut wire = Wire::new();
    for (end, loss, takes) in [
        (5_400, None, true),
        (5_399, None, false),
        (5_401, None, false),
        (5_400, Some(Loss::Repairs), false),
    ] {
        let data = SeenData { loss, ..wire.seen(200.0, 5_000..end) };
        assert_eq!(silly.takes_silly_window(&data), takes, "{end} {loss:?}");
        assert!(!sender().takes_silly_window(&data), "the window is not silly");
    }
}

/// RFC 9293, section 3.8.6.2.1: the override timeout is 0.1 s at least.
#[test]
fn what_takes_a_silly_window_after_the_override_timeout_is_sure() {
    let silly = Sender { silly_since: Some(at(100.0)), edge: Some(5_400), ..sender() };
    let lacks_ack = Sender { lacks_ack: true, ..silly.clone() };
    let mut wire = Wire::new();
    let data = wire.seen(200.0, 5_000..5_400);
    let part = wire.seen(200.0, 5_000..5_300);
    let closed = Hold::full_window();
    let lost = Hold { lost: Some(RepairedBy::Timeout), ..closed };
    let (medium, high) = (Confidence::Medium, Confidence::High);
    for (why, sender, data, hold, sent, wait, sure) in [
        ("after 100 ms", &silly, &data, closed, 200.0, Wait::SillyWindow, high),
        ("sooner", &silly, &data, closed, 199.9, Wait::SillyWindow, medium),
        ("a part of it", &silly, &part, closed, 200.0, Wait::SillyWindow, medium),
        ("an ACK is missing", &lacks_ack, &data, closed, 200.0, Wait::SillyWindow, medium),
        ("sent again", &silly, &data, lost, 200.0, closed.wait, medium),
    ] {
        let (found, before) = sender.with_silly_window(hold, data, at(sent));
        assert_eq!((found.wait, found.confidence), (wait, sure), "{why}");
        assert_eq!(before.is_some(), wait == Wait::SillyWindow, "{why}");
    }
    let written = Hold::just_written();
    let (found, before) = silly.with_silly_window(written, &data, at(200.0));
    assert_eq!((found.wait, before), (written.wait, None), "its program");
}

#[test]
fn a_reader_may_keep_an_acknowledgement_while_the_window_shrinks_or_until_it_doubles() {
    // What was offered before, and the room that was left, and what is offered now.
    for (before, room, now, expected) in [
        (60_000, 30_000, 60_000, [false, false]),
        (60_000, 30_000, 59_999, [true, false]),
        (60_000, 1_000, 60_000, [false, false]),
        (60_000, 999, 60_000, [false, true]),
        (2_000, 999, 4_000, [true, true]),
        (2_000, 999, 3_999, [false, true]),
        (2_000, 1_000, 4_000, [false, false]),
        (0, 0, 0, [false, true]),
    ] {
        let (edge, offered) = (Some(5_000 + room), Some(before));
        let mut sender = Sender { edge, offered, ..sender() };
        let found = sender.may_wait_for_reader(&ack(5_000, Some(5_000 + now)));
        assert_eq!(found, expected, "{before} {room} {now}");
        assert_eq!(sender.offered, Some(now));
    }
}

#[test]
fn a_reader_is_waited_for_if_more_than_two_segments_are_acknowledged_late_and_all() {
    for (acked, newly, late, waits) in [
        (5_000, 2_001, 5_000, true),
        (5_000, 2_000, 5_000, false),
        (4_999, 2_001, 5_000, false),
        (5_000, 2_001, 4_999, false),
    ] {
        let mut sender = sender();
        sender.note_reader(&ack(acked, None), newly, Nanos::from_micros(late));
        assert_eq!(sender.waits_for_reader, waits, "{acked} {newly} {late}");
    }
}

/// A probe of a closed window is one byte beyond it.
#[test]
fn data_beyond_every_window_that_was_seen_shows_that_one_is_missing() {
    let shut = Sender { edge: Some(6_000), ..sender() };
    let mut opened = shut.clone();
    opened.acks_in_flight.push_back(ack(5_000, Some(7_000)));
    let mut wire = Wire::new();
    for (end, loss, beyond, beyond_opened) in [
        (6_001, None, false, false),
        (6_002, None, true, false),
        (6_002, Some(Loss::Repairs), false, false),
        (7_001, None, true, false),
        (7_002, None, true, true),
    ] {
        let data = SeenData { loss, ..wire.seen(0.0, 5_000..end) };
        assert_eq!(shut.is_beyond_window(&data), beyond, "{end}");
        assert_eq!(opened.is_beyond_window(&data), beyond_opened, "{end}");
        assert!(!Sender { edge: None, ..sender() }.is_beyond_window(&data));
    }
}

#[test]
fn an_acknowledgement_leaves_no_room_for_less_than_a_segment() {
    for (edge, no_room) in [(Some(5_999), true), (Some(6_000), false), (None, false)] {
        assert_eq!(sender().leaves_no_room(&ack(5_000, edge)), no_room, "{edge:?}");
    }
    let mut wire = Wire::new();
    // The window that the sender had, and the newest that was seen.
    for (had, newest, end, known) in [
        (Some(5_999), None, 5_000, true),
        (Some(6_000), None, 5_000, false),
        (Some(5_999), None, 5_001, false),
        (Some(5_999), Some(6_000), 5_000, true),
        (Some(6_000), Some(5_999), 5_000, true),
        (Some(6_000), Some(6_000), 5_000, false),
        (None, None, 5_000, false),
    ] {
        let mut sender = Sender { edge: had, ..sender() };
        sender.acks_in_flight.extend(newest.map(|edge| ack(5_000, Some(edge))));
        let data = wire.seen(0.0, 4_000..end);
        assert_eq!(sender.is_known_to_fill_window(&data), known, "{had:?} {newest:?} {end}");
    }
}

/// A sender knows a window up to 5,000 bytes, and two acknowledgements that open it were seen on their way: at 10 ms up to
/// 6,000 and at 30 ms up to 8,000. What data beyond it shows of a round trip, which takes two of them.
#[test]
fn data_beyond_the_window_follows_an_acknowledgement_that_has_arrived() {
    let bounds = |edge, data: &[(f64, Range<u64>)]| {
        let mut sender = Sender { edge, ..sender() };
        for (packet, millis, edge) in [(11, 10.0, 6_000), (12, 30.0, 8_000)] {
            let opens = Acknowledgement { packet, seen: at(millis), ..ack(5_000, Some(edge)) };
            sender.acks_in_flight.push_back(opens);
        }
        let last = data.iter().map(|(seen, bytes)| sender.round_trip_at_most(bytes, at(*seen)));
        last.last().flatten()
    };
    let known = Some(5_000);
    let by_second = (50.0, 6_000..7_000);
    for (why, edge, data, expected) in [
        ("one alone", known, &[(40.0, 5_000..6_000)][..], None),
        ("the longer of two", known, &[(40.0, 5_000..6_000), by_second.clone()], Some(30)),
        ("or the later", known, &[(25.0, 5_000..6_000), by_second.clone()], Some(20)),
        (
            "the sooner of what one has opened",
            known,
            &[(40.0, 5_000..5_500), (45.0, 5_500..6_000), by_second.clone()],
            Some(30),
        ),
        ("within the window", known, &[(40.0, 4_000..5_000), by_second.clone()], None),
        ("a probe of it", known, &[(40.0, 5_000..5_001), by_second.clone()], None),
        ("two bytes", known, &[(40.0, 5_000..5_002), by_second.clone()], Some(30)),
        ("an unknown one", None, &[(40.0, 5_000..6_000), by_second], None),
        ("beyond all", known, &[(40.0, 5_000..6_000), (50.0, 8_000..9_000)], None),
    ] {
        assert_eq!(bounds(edge, data), expected.map(Nanos::from_millis), "{why}");
    }
}
