//! What Nagle's algorithm held, and what only looks like it.

use super::*;

#[test]
fn a_delayed_acknowledgement_is_told_from_think_time() {
    check(&[
        ("right after the ACK", SMALL, Wait::Nagle, High),
        (
            "as late as the path varies",
            Facts { since_ack: micros(1_000), ..SMALL },
            Wait::Nagle,
            High,
        ),
        (
            "later than that, the ACK may have been late on its way",
            Facts { since_ack: micros(1_001), pushed: true, ended: true, left_late: true, ..SMALL },
            Wait::Application,
            Medium,
        ),
        (
            "but not at the sender",
            Facts {
                since_ack: micros(1_001),
                pushed: true,
                ended: true,
                may_miss_losses: false,
                ..SMALL
            },
            Wait::Application,
            High,
        ),
        (
            "no ACK at all, at the sender",
            Facts { since_ack: None, pushed: true, ended: true, may_miss_losses: false, ..SMALL },
            Wait::Application,
            High,
        ),
        (
            "or far from it: the path may have held an ACK, or the segment",
            Facts { since_ack: None, pushed: true, ended: true, left_late: true, ..SMALL },
            Wait::Application,
            Medium,
        ),
    ]);
}

#[test]
fn what_the_sender_did_before_says_whether_an_acknowledgement_released_a_small_segment() {
    let habit = |nagle| Facts { nagle, pushed: true, ended: true, ..SMALL };
    let late = Facts {
        since_ack: micros(1_001),
        left_late: true,
        may_miss_losses: false,
        ..habit(NagleHabit::Holds)
    };
    check(&[
        ("it always waited", habit(NagleHabit::Holds), Wait::Nagle, High),
        ("it waited as often as not", habit(NagleHabit::Mixed), Wait::Nagle, Medium),
        (
            "it waited with the one before: this was written after that",
            Facts { follows_held: true, ..habit(NagleHabit::Holds) },
            Wait::Nagle,
            Low,
        ),
        ("its program writes late", habit(NagleHabit::WritesLate), Wait::Application, Low),
        ("it always waited, and its host was busy", late, Wait::Nagle, Medium),
        (
            "up to four times as busy",
            Facts { since_ack: micros(4_000), ..late },
            Wait::Nagle,
            Medium,
        ),
        ("no busier", Facts { since_ack: micros(4_001), ..late }, Wait::Application, High),
        (
            "no more than a sixteenth of the time",
            Facts { since_data: Nanos::from_millis(16), ..late },
            Wait::Application,
            High,
        ),
        (
            "a habit is needed for that",
            Facts { nagle: NagleHabit::Unknown, ..late },
            Wait::Application,
            High,
        ),
    ]);
    let far = Facts { may_miss_losses: true, ..late };
    check(&[
        (
            "on a path whose delay varies, half of the time",
            Facts { since_data: Nanos::from_micros(2_002), ..far },
            Wait::Nagle,
            Medium,
        ),
        (
            "no more than that",
            Facts { since_data: Nanos::from_micros(2_001), ..far },
            Wait::Application,
            Medium,
        ),
        (
            "without a habit, the ACK may have been late all the same",
            Facts { nagle: NagleHabit::Unknown, ..far },
            Wait::Application,
            Medium,
        ),
    ]);
}

#[test]
fn nagle_is_told_from_a_full_congestion_window() {
    let held = Facts { flight: [2_000, 0], least_window: 2_500, ..SMALL };
    let of_full_segments = Facts { bytes: 2 * FULL, flight: [FULL, 0], ..SMALL };
    check(&[
        ("the window had room for it", held, Wait::Nagle, High),
        ("one byte too many", Facts { bytes: 501, ..held }, Wait::SlowStart, High),
        (
            "a window is one segment at least",
            Facts { least_window: 0, flight: [FULL - 500, 0], ..held },
            Wait::Nagle,
            High,
        ),
        (
            "and no more",
            Facts { least_window: 0, flight: [FULL - 499, 0], ..held },
            Wait::SlowStart,
            High,
        ),
        ("full segments are not held", of_full_segments, Wait::SlowStart, High),
        (
            "a size that nobody knows is not small",
            Facts { full: 0, ..SMALL },
            Wait::SlowStart,
            High,
        ),
        (
            "its sender has no Nagle",
            Facts { nagle: NagleHabit::Off, ..SMALL },
            Wait::SlowStart,
            High,
        ),
        ("nothing was outstanding", Facts { flight: [0, 0], ..SMALL }, Wait::Application, Medium),
        (
            "more is outstanding: not by RFC 896",
            Facts { flight: [2_000, 500], ..held },
            Wait::SlowStart,
            High,
        ),
        (
            "but by Minshall, if a small one was acknowledged",
            Facts { flight: [2_000, 500], small_acknowledged: true, ..held },
            Wait::Nagle,
            High,
        ),
    ]);
}

#[test]
fn a_program_that_is_seen_to_write_late_by_itself_is_charged_with_its_own_pause() {
    let nagle = NagleHabit::Holds;
    let facts =
        Facts { since_data: Nanos::from_millis(44), nagle, may_miss_losses: false, ..SMALL };
    let divided = |facts: &Facts, own: Option<u64>| {
        decide(facts).divided_by_pace(facts, own.map(Nanos::from_micros))
    };
    for (own, is_divided) in [
        (None, false),
        (Some(5_499), false),
        (Some(5_500), true),
        (Some(30_000), true),
        (Some(43_999), true),
        (Some(44_000), false),
    ] {
        let (hold, before) = divided(&facts, own);
        assert_eq!(hold.wait, Wait::Nagle, "{own:?}");
        let rival = is_divided.then_some(Cause::ApplicationLimited);
        assert_eq!((hold.rival, hold.confidence == Medium), (rival, is_divided), "{own:?}");
        let before = before.map(|it| (it.wait, it.rival, it.confidence));
        let own_pause = (Wait::Application, Some(Cause::NagleRtt), Medium);
        assert_eq!(before, is_divided.then_some(own_pause), "{own:?}");
    }
    let far = Facts { may_miss_losses: true, ..facts };
    assert_eq!(divided(&far, Some(30_000)), (decide(&far), None));
    let written = Facts { nagle: NagleHabit::WritesLate, ..facts };
    assert_eq!(divided(&written, Some(30_000)), (decide(&written), None));
    let window = Facts { nagle: NagleHabit::Off, ..facts };
    assert_eq!(divided(&window, Some(30_000)), (decide(&window), None));
}
