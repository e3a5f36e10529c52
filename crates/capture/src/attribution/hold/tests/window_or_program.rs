//! A window, Nagle's algorithm or a cork held it, or its program had not written it.

use super::*;

#[test]
fn a_first_segment_that_nothing_follows_may_have_filled_the_initial_window() {
    let first = Facts {
        since_ack: Some(Nanos::ZERO),
        flight: [135, 0],
        most_flight: 135,
        sure_window: 2 * FULL,
        pushed: true,
        ended: true,
        ..LATE
    };
    let rival = |facts: &Facts| decide(facts).rival;
    check(&[
        ("a full segment after its ACK", first, Wait::SlowStart, Medium),
        (
            "more was outstanding before",
            Facts { most_flight: FULL + 1, ..first },
            Wait::Application,
            Medium,
        ),
        (
            "it answers what came with the ACK",
            Facts { answers: true, ..first },
            Wait::Application,
            Medium,
        ),
    ]);
    assert_eq!(rival(&first), Some(Cause::ApplicationLimited));
}

#[test]
fn far_away_a_cork_is_told_from_a_timeout_by_the_round_trip_that_a_timeout_lasts_longer() {
    let held = Facts {
        since_ack: Some(Nanos::from_millis(140)),
        since_data: Nanos::from_millis(200),
        round_trip: Nanos::from_millis(60),
        bytes: 500,
        left_late: true,
        ..LATE
    };
    check(&[
        ("200 ms after the data before", held, Wait::Cork, Medium),
        (
            "a round trip later, too soon after an ACK for a timeout",
            Facts { since_data: Nanos::from_millis(260), ..held },
            Wait::Cork,
            Medium,
        ),
        (
            "a timeout lasts as long",
            Facts {
                since_data: Nanos::from_millis(260),
                since_ack: Some(Nanos::from_millis(200)),
                ..held
            },
            Wait::RetransmissionTimeout,
            Medium,
        ),
        (
            "too soon for a timeout, and for a cork",
            Facts { since_data: Nanos::from_millis(190), ..held },
            Wait::Application,
            Medium,
        ),
    ]);
}

#[test]
fn nagle_is_in_doubt_where_the_window_was_full_until_an_earlier_acknowledgement() {
    let full = Facts { window_was_full: true, outstanding: 3 * FULL, flight: [FULL, 0], ..SMALL };
    check(&[
        ("the window was full at first", full, Wait::Nagle, Medium),
        ("it had room", Facts { window_was_full: false, ..full }, Wait::Nagle, High),
        ("no ACK came between", Facts { outstanding: FULL, ..full }, Wait::Nagle, High),
    ]);
    assert_eq!(decide(&full).rival, Some(Cause::SlowStart));
}

#[test]
fn a_small_end_behind_a_head_and_a_segment_waits_for_nagle_or_for_a_first_window_of_two() {
    let flight = [FULL + 90, FULL];
    let first = Facts { flight, most_flight: FULL + 90, small_acknowledged: true, ..SMALL };
    check(&[
        ("a first window of two segments is as full", first, Wait::Nagle, Medium),
        (
            "more was outstanding before",
            Facts { most_flight: 3 * FULL, ..first },
            Wait::Nagle,
            High,
        ),
        ("a head alone", Facts { flight: [90, 0], most_flight: 90, ..first }, Wait::Nagle, High),
    ]);
    assert_eq!(decide(&first).rival, Some(Cause::SlowStart));
}

#[test]
fn the_time_of_a_cork_is_that_of_its_senders_clock() {
    let held = Facts {
        since_ack: Some(Nanos::from_millis(140)),
        since_data: Nanos::from_millis(190),
        bytes: 500,
        left_late: true,
        ..LATE
    };
    let by_stamps = Nanos::from_millis(200);
    check(&[
        ("a slow link has kept the data before", Facts { by_stamps, ..held }, Wait::Cork, Medium),
        ("without timestamps", held, Wait::Application, Medium),
    ]);
}

#[test]
fn exactly_as_much_outstanding_as_before_is_a_send_buffer() {
    let full = Facts { pushed: true, fills_same_buffer: true, ..BULK };
    let writer = |facts| decide(&facts).writer;
    assert_eq!(writer(full), Writer::SendBufferFull);
    assert_eq!(writer(Facts { after_idle: true, ..full }), Writer::SendBufferFull);
    let end = Facts { bytes: 500, outstanding: 8 * FULL + 500, ..full };
    assert_eq!(writer(end), Writer::SendBufferFull, "not Nagle's");
    for other in [
        Facts { fills_same_buffer: false, after_idle: true, ..full },
        Facts { usable_window: Some(FULL), ..full },
        Facts { outstanding: 10 * FULL, ..end },
        Facts { flight: [FULL, 0], after_idle: true, ..full },
    ] {
        assert_eq!(writer(other), Writer::Working, "{other:?}");
    }
}

/// Linux wakes a program that waits for memory when a third is free, FreeBSD at 2,048 bytes.
#[test]
fn too_small_an_acknowledgement_wakes_no_blocked_program() {
    let emptied = Facts {
        pushed: true,
        ended: true,
        emptied_before: true,
        outstanding: 6 * FULL,
        flight: [6 * FULL, 5 * FULL],
        since_room: None,
        ..BULK
    };
    let decided = |facts: &Facts| {
        let hold = decide(facts);
        (hold.writer, hold.rule, hold.confidence, hold.rival)
    };
    let buffer = Some(Cause::SendBuffer);
    let by_chance = (Writer::Working, Rule::RoomInWindow, Medium, buffer);
    assert_eq!(decided(&emptied), by_chance);
    let same = Facts { fills_same_buffer: true, ..emptied };
    assert_eq!(decided(&same), by_chance);
    for more in [
        Facts { since_room: micros(0), ..emptied },
        Facts { flight: [6 * FULL, 4 * FULL], ..emptied },
        Facts { since_room: micros(0), ..same },
    ] {
        assert_eq!(decided(&more).0, Writer::SendBufferFull, "{more:?}");
    }
    let ready = Facts { pushed: false, ended: false, ..emptied };
    assert_eq!(decide(&ready).wait, Wait::SlowStart, "more was ready");
}
