//! What a timer of the sender released, or its program.

use super::*;

#[test]
fn a_timer_sends_what_nagle_holds_for_an_acknowledgement_that_was_lost() {
    // A head of 40 bytes, no ACK for six round trips, then the body.
    let body = Facts {
        since_data: Nanos::from_millis(245),
        since_ack: None,
        bytes: 300,
        flight: [40, 40],
        round_trip: Nanos::from_millis(40),
        pushed: true,
        ended: true,
        may_miss_losses: false,
        ..LATE
    };
    let after = |ms| Facts { since_data: Nanos::from_millis(ms), ..body };
    check(&[
        ("a timeout or a probe", body, Wait::Application, Medium),
        ("earlier", after(234), Wait::Application, High),
        ("later", after(500), Wait::Application, High),
        (
            "it does not use Nagle's algorithm",
            Facts { nagle: NagleHabit::Off, ..body },
            Wait::Application,
            High,
        ),
        ("all was acknowledged", Facts { flight: [40, 0], ..body }, Wait::Application, High),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn a_cork_timer_is_told_from_think_time() {
    let round_trip = Nanos::from_millis(10);
    let acked = |since| Facts { since_ack: micros(since), ..CORKED };
    let since_both = |since| {
        let since_data = Nanos::from_micros(since);
        Facts { since_data, since_ack: micros(since), round_trip, ..CORKED }
    };
    check(&[
        ("after 200 ms", CORKED, Wait::Cork, Medium),
        ("the earliest", since_both(195_000), Wait::Cork, Medium),
        ("earlier", since_both(194_999), Wait::Application, High),
        ("as Linux's, which is a round trip longer", since_both(211_000), Wait::Cork, High),
        ("a program's may be shorter", since_both(210_999), Wait::Cork, Medium),
        ("the usual latest", since_both(250_000), Wait::Cork, High),
        ("later than usual", since_both(250_001), Wait::Cork, Medium),
        ("the latest", since_both(330_000), Wait::Cork, Medium),
        ("later", since_both(330_001), Wait::Application, High),
        ("the timer runs since the ACK", acked(195_000), Wait::Cork, Medium),
        (
            "the timer runs since the data",
            Facts { since_data: Nanos::from_millis(200), ..acked(300_000) },
            Wait::Cork,
            Medium,
        ),
        (
            "without an ACK",
            Facts { since_data: Nanos::from_millis(200), since_ack: None, ..CORKED },
            Wait::Cork,
            Medium,
        ),
        (
            "the write before it had ended",
            Facts { pushed: true, ended: true, ..CORKED },
            Wait::Application,
            High,
        ),
        ("PSH is of a network card", Facts { pushed: true, ..CORKED }, Wait::Cork, Medium),
        (
            "the longest round trip",
            Facts { round_trip: Nanos::from_millis(100), ..CORKED },
            Wait::Cork,
            Medium,
        ),
        (
            "far from the sender, a loss before the vantage point looks the same",
            Facts { may_miss_losses: true, left_late: true, ..since_both(240_001) },
            Wait::RetransmissionTimeout,
            Medium,
        ),
        (
            "far from the sender, on a short path",
            Facts { may_miss_losses: true, ..since_both(240_000) },
            Wait::Cork,
            Medium,
        ),
        (
            "on a longer one, too: more was written",
            Facts { round_trip: Nanos::from_micros(100_001), ..CORKED },
            Wait::Cork,
            Medium,
        ),
        (
            "but behind PSH too much else is in range: a rival",
            Facts { round_trip: Nanos::from_micros(100_001), pushed: true, ..CORKED },
            Wait::Application,
            Medium,
        ),
        (
            "the receive window had no room for more",
            Facts { fills_receive_window: true, ..CORKED },
            RECEIVE_WINDOW,
            Medium,
        ),
        ("a full segment is not corked", Facts { bytes: FULL, ..CORKED }, Wait::Application, High),
        (
            "something was outstanding: only Linux keeps its timer from running then",
            Facts { flight: [FULL, 1], ..CORKED },
            Wait::Application,
            Medium,
        ),
    ]);
}

#[test]
fn a_cork_beside_a_segment_is_told_from_a_probe_of_that() {
    let beside = Facts {
        since_data: Nanos::from_millis(200),
        since_ack: micros(140_000),
        flight: [3 * FULL, FULL],
        ..CORKED
    };
    let no_ack = |round_trip| Facts {
        since_ack: None,
        flight: [FULL; 2],
        round_trip: Nanos::from_millis(round_trip),
        ..beside
    };
    check(&[
        ("the timer began again with the ACK", beside, Wait::Cork, Medium),
        (
            "no timer that began with the ACK has ended, however long ago the data left",
            Facts { since_data: Nanos::from_millis(230), ..beside },
            Wait::Cork,
            Medium,
        ),
        (
            "one that began then may have",
            Facts { since_data: Nanos::from_millis(230), since_ack: micros(195_000), ..beside },
            Wait::Application,
            Medium,
        ),
        ("no timer ends before a round trip more", no_ack(6), Wait::Cork, Medium),
        ("a probe, perhaps", no_ack(5), Wait::Application, Medium),
        ("the write had ended", Facts { pushed: true, ..beside }, Wait::Application, Medium),
        (
            "two are outstanding",
            Facts { flight: [4 * FULL, 2 * FULL], ..beside },
            Wait::Application,
            Medium,
        ),
        (
            "too early",
            Facts { since_data: Nanos::from_millis(194), ..beside },
            Wait::Application,
            High,
        ),
    ]);
}

#[test]
fn a_repair_soon_after_progress_is_no_timeout_if_sack_told_of_the_loss() {
    let late = Facts {
        sacked: true,
        since_ack: micros(38_000),
        since_data: Nanos::from_millis(39),
        since_progress: Some(Nanos::from_millis(194)),
        ..REPAIR
    };
    let by = |facts: Facts| decide(&facts).lost;
    assert_eq!(by(late), Some(RepairedBy::Recovery));
    for other in [
        Facts { since_progress: Some(Nanos::from_millis(195)), ..late },
        Facts { since_progress: None, ..late },
        Facts { sacked: false, ..late },
    ] {
        assert_eq!(by(other), Some(RepairedBy::Timeout), "{other:?}");
    }
}
