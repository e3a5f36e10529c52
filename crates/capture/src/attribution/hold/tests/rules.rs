//! Which rule decides: each with its conditions once not met, and its bounds from both sides.

use super::*;

type RuleRow = (&'static str, Facts, Rule);

#[track_caller]
fn check_rules(rows: &[RuleRow]) {
    for (why, facts, rule) in rows {
        assert_eq!(Hold::claimed(facts).rule, *rule, "{why}");
    }
}

#[test]
fn a_repair_is_by_acknowledgement_by_timer_or_a_probe_of_the_window() {
    let repairs = Facts { since_data: Nanos::from_millis(80), ..REPAIR };
    let sacked = |since| Facts { sacked: true, since_ack: micros(since), ..repairs };
    let repaired = Facts { loss: Some(Loss::Repaired), ..LATE };
    check_rules(&[
        ("in vain", Facts { fills_in_vain: true, ..repairs }, Rule::FillsWindow),
        ("RACK: a quarter of 20 ms, and 18 ms", sacked(23_000), Rule::AckRepair),
        ("later", sacked(23_001), Rule::TimerRepair),
        (
            "it follows a repair and an ACK",
            Facts { since_ack: micros(5_000), ..repaired },
            Rule::AckRepair,
        ),
        (
            "later than a sixteenth of 80 ms",
            Facts { since_ack: micros(5_001), ..repaired },
            Rule::LateOrLost,
        ),
        ("behind a hole", Facts { loss: Some(Loss::Missing), ..LATE }, Rule::LateOrLost),
    ]);
}

#[test]
fn a_first_window_is_told_from_a_buffer_and_from_one_that_has_more_room() {
    let first = Facts {
        flight: [135, 0],
        most_flight: FULL,
        sure_window: 2 * FULL,
        pushed: true,
        since_ack: Some(Nanos::ZERO),
        ..LATE
    };
    let off = Facts { bytes: 500, nagle: NagleHabit::Off, ..first };
    check_rules(&[
        ("a full segment behind a head", first, Rule::FirstWindow),
        (
            "more was outstanding before",
            Facts { most_flight: FULL + 1, ..first },
            Rule::RoomInWindow,
        ),
        ("past slow start", Facts { slow_start: false, ..first }, Rule::RoomInWindow),
        ("nothing was outstanding", Facts { flight: [0, 0], ..first }, Rule::RoomInWindow),
        ("it answers", Facts { answers: true, ..first }, Rule::RoomInWindow),
        ("a small one", off, Rule::RoomInWindow),
        ("more was ready", Facts { pushed: false, ..first }, Rule::WindowFull),
        ("no room for sure", Facts { sure_window: FULL + 134, ..first }, Rule::WindowFull),
        ("just room", Facts { sure_window: FULL + 135, ..first }, Rule::FirstWindow),
        ("a byte less than a segment", Facts { flight: [FULL - 1, 0], ..first }, Rule::FirstWindow),
        ("a segment may be a buffer", Facts { flight: [FULL, 0], ..first }, Rule::RoomInWindow),
    ]);
    let writer = |flight, answers| {
        let facts = Facts { flight: [flight, 0], answers, sure_window: 9 * FULL, ..first };
        Hold::claimed(&facts).writer
    };
    assert_eq!(writer(FULL - 1, false), Writer::Working);
    assert_eq!(writer(FULL, false), Writer::SendBufferFull);
    assert_eq!(writer(4 * FULL, true), Writer::Working, "an answer is written then");
}

#[test]
fn a_window_that_stays_is_a_program_s_or_a_buffer_s() {
    let stays = Facts { stays: Plateau::Yes, flight: [2 * FULL, FULL], ..BULK };
    let emptied = Facts { most_flight: 5 * FULL, pushed: true, since_room: micros(0), ..stays };
    let again = Facts { emptied_before: true, ended: true, stays: Plateau::No, ..emptied };
    check_rules(&[
        ("nothing was outstanding", Facts { flight: [0, 0], ..BULK }, Rule::RoomInWindow),
        (
            "less than two segments",
            Facts { flight: [2 * FULL - 1, 0], ..stays },
            Rule::RoomInWindow,
        ),
        ("two, and more was ready", stays, Rule::WindowFull),
        ("one, but it may grow", Facts { flight: [FULL, 0], ..BULK }, Rule::WindowFull),
        ("two fifths of the most", emptied, Rule::EmptiedBuffer),
        ("less", Facts { most_flight: 5 * FULL + 1, ..emptied }, Rule::WindowFull),
        ("more was ready", Facts { pushed: false, ..emptied }, Rule::WindowFull),
        ("perhaps it grows", Facts { stays: Plateau::Perhaps, ..emptied }, Rule::WindowFull),
        ("all had left again", again, Rule::EmptiedBuffer),
        ("for the first time", Facts { emptied_before: false, ..again }, Rule::WindowFull),
        ("more was written", Facts { ended: false, ..again }, Rule::WindowFull),
        ("past slow start", Facts { slow_start: false, ..again }, Rule::WindowFull),
        ("a byte more than one", Facts { flight: [FULL + 1, 1], ..again }, Rule::EmptiedBuffer),
        ("one segment", Facts { flight: [FULL, 0], ..again }, Rule::WindowFull),
        ("too little to wake it", Facts { since_room: None, ..emptied }, Rule::RoomInWindow),
        (
            "two segments do",
            Facts { since_room: None, outstanding: 3 * FULL, ..emptied },
            Rule::EmptiedBuffer,
        ),
        (
            "a byte less does not",
            Facts { since_room: None, outstanding: 3 * FULL - 1, ..emptied },
            Rule::RoomInWindow,
        ),
    ]);
}

#[test]
fn a_window_after_an_idle_time_may_be_any_while_it_grows() {
    let idle = Facts { after_idle: true, ..BULK };
    check_rules(&[
        ("it grows", idle, Rule::AfterIdle),
        ("it was not idle", BULK, Rule::WindowFull),
        ("it does not grow", Facts { slow_start: false, ..idle }, Rule::WindowFull),
        ("it stays", Facts { stays: Plateau::Perhaps, ..idle }, Rule::WindowFull),
        ("cut", Facts { peak_before_idle: Some(10 * FULL + 1), ..idle }, Rule::WindowFull),
        ("as before", Facts { peak_before_idle: Some(10 * FULL), ..idle }, Rule::AfterIdle),
    ]);
    for (reach, cut, rival) in
        [(10 * FULL, false, Cause::IdleRestart), (10 * FULL + 1, true, Cause::SlowStart)]
    {
        let hold = Hold::claimed(&Facts { reach_before_idle: reach, ..idle });
        assert_eq!((hold.cut_by_idle, hold.rival), (cut, Some(rival)), "{reach}");
    }
    for (lossy, after_idle, by_loss) in
        [(true, false, true), (true, true, false), (false, false, false)]
    {
        let facts = Facts { lossy, after_idle, slow_start: false, ..BULK };
        assert_eq!(Hold::claimed(&facts).cut_by_loss, by_loss, "{lossy} {after_idle}");
    }
}

#[test]
fn what_nothing_released_filled_the_window_or_was_lost_or_written() {
    let opened = Facts { lacks: Lacks { opening: true, ..LATE.lacks }, since_ack: None, ..LATE };
    let after = |micros| Facts { since_data: Nanos::from_micros(micros), ..opened };
    let fills = Facts { fills_receive_window: true, bytes: 500, ..LATE };
    let last = Facts { bytes: FULL, flight: [2 * FULL, FULL + 1], ..fills };
    let missing = Facts { lost_before: Some(true), pushed: true, ended: true, ..LATE };
    check_rules(&[
        ("an ACK that is missing opened it", opened, Rule::ClosedWindow),
        ("at once", after(1_000), Rule::Written),
        ("later", after(1_001), Rule::ClosedWindow),
        ("a small one fills the window", fills, Rule::FillsWindow),
        ("it has room", Facts { fills_receive_window: false, ..fills }, Rule::LateOrLost),
        ("its last segment, behind more than one", last, Rule::FillsWindow),
        ("behind one", Facts { flight: [2 * FULL, FULL], ..last }, Rule::Paced),
        ("several", Facts { bytes: 2 * FULL, ..last }, Rule::Paced),
        ("an answer", Facts { answers: true, ..last }, Rule::Paced),
        ("by number, one is missing", missing, Rule::LostBefore),
        ("none is", Facts { lost_before: Some(false), ..missing }, Rule::Written),
        ("at its sender", Facts { may_miss_losses: false, ..missing }, Rule::Written),
        ("more is outstanding", Facts { flight: [FULL, 1], ..missing }, Rule::Written),
        ("as soon as a timer", Facts { since_ack: micros(5_000), ..missing }, Rule::LostBefore),
        ("sooner", Facts { since_ack: micros(4_999), ..missing }, Rule::Written),
    ]);
}

#[test]
fn what_was_ready_and_late_was_lost_or_held_by_the_path() {
    let late = Facts { left_late: true, ..LATE };
    let small = Facts { bytes: 500, ..late };
    let far = |since_ack, since_data, round_trip| Facts {
        since_ack: micros(since_ack),
        since_data: Nanos::from_millis(since_data),
        round_trip: Nanos::from_millis(round_trip),
        ..small
    };
    check_rules(&[
        ("it left late: a timer sent it", late, Rule::LostBefore),
        ("nothing shows when it left", LATE, Rule::LateOrLost),
        ("too soon after an ACK for a timer", small, Rule::Written),
        ("not after one", far(345_000, 500, 20), Rule::LostBefore),
        ("too soon after one, and a cork", far(194_999, 260, 60), Rule::Corked),
        ("as late as a timer", far(195_000, 260, 60), Rule::LostBefore),
        ("nothing was acknowledged", Facts { flight: [0, 0], ..small }, Rule::LostBefore),
        ("a full one has a probe", Facts { bytes: FULL, ..small }, Rule::LostBefore),
        ("nothing was lost", Facts { lost_before: Some(false), ..LATE }, Rule::Written),
        ("sooner than any timer", Facts { since_ack: micros(4_999), ..LATE }, Rule::Written),
        ("the buffer was empty", Facts { pushed: true, ..LATE }, Rule::Written),
        ("but this is a last piece", Facts { pushed: true, bytes: 500, ..LATE }, Rule::LateOrLost),
    ]);
}

#[test]
fn a_cork_holds_a_lone_tail() {
    let far = Facts { may_miss_losses: true, ..CORKED };
    let soon = Facts { since_ack: micros(194_999), since_data: Nanos::from_millis(300), ..far };
    check_rules(&[
        ("a tail", CORKED, Rule::Corked),
        ("the write had ended", Facts { ended: true, ..CORKED }, Rule::Written),
        ("a full segment", Facts { bytes: FULL, ..CORKED }, Rule::Written),
        (
            "more than one is outstanding",
            Facts { flight: [2 * FULL, FULL + 1], ..CORKED },
            Rule::Written,
        ),
        ("far away, on a short path", far, Rule::Corked),
        ("too soon for a timeout", soon, Rule::Corked),
        (
            "as late as one",
            Facts { since_ack: micros(195_000), since_data: Nanos::from_millis(300), ..far },
            Rule::Corked,
        ),
        (
            "on a longer path, as late as one",
            Facts {
                round_trip: Nanos::from_millis(46),
                since_ack: micros(249_000),
                since_data: Nanos::from_millis(300),
                ..far
            },
            Rule::LateOrLost,
        ),
        (
            "on a longer path, before one",
            Facts {
                round_trip: Nanos::from_millis(46),
                since_ack: micros(230_000),
                since_data: Nanos::from_millis(240),
                ..far
            },
            Rule::Corked,
        ),
    ]);
    for (pushed, may_miss_losses, since, confidence) in [
        (false, false, 221, High),
        (false, false, 220, Medium),
        (true, false, 221, Medium),
        (false, true, 221, Medium),
        (false, false, 261, Medium),
    ] {
        let since_ack = micros(since * 1_000);
        let since_data = Nanos::from_millis(300);
        let facts = Facts { pushed, may_miss_losses, since_ack, since_data, ..CORKED };
        let hold = Hold::claimed(&facts);
        assert_eq!((hold.rule, hold.confidence), (Rule::Corked, confidence), "{pushed} {since}");
    }
}

#[test]
fn what_is_paced_was_ready_while_more_is_outstanding() {
    let paced =
        Facts { flight: [2 * FULL, 1], may_miss_losses: false, since_ack: micros(40_000), ..LATE };
    check_rules(&[
        ("it was ready", paced, Rule::Paced),
        ("it was not", Facts { ended: true, ..paced }, Rule::Written),
        ("small", Facts { bytes: 500, ..paced }, Rule::Written),
        ("nothing is outstanding", Facts { flight: [2 * FULL, 0], ..paced }, Rule::Written),
    ]);
    for (pushed, may_miss_losses, since, paced_for, confidence) in [
        (true, false, 40_000, true, Medium),
        (false, false, 40_000, true, Low),
        (true, true, 40_000, true, Low),
        (true, false, 40_001, false, Medium),
    ] {
        let facts = Facts { pushed, may_miss_losses, since_ack: micros(since), ..paced };
        let hold = Hold::claimed(&facts);
        assert_eq!((hold.paced, hold.confidence), (paced_for, confidence), "{pushed} {since}");
    }
}

#[test]
fn a_receive_window_without_room_is_told_by_each_of_its_bounds() {
    let shut = |usable, bytes, flight| Facts {
        usable_window: Some(usable),
        bytes,
        flight: [flight, 0],
        nagle: NagleHabit::Off,
        ..BULK
    };
    check_rules(&[
        ("a small one, partly, behind less than the room", shut(499, 500, 498), Rule::WindowFull),
        ("behind as much", shut(499, 500, 499), Rule::ClosedWindow),
        ("behind one byte", shut(499, 500, 1), Rule::WindowFull),
        ("behind nothing", shut(499, 500, 0), Rule::ClosedWindow),
        ("a full one", shut(FULL - 1, FULL, 90), Rule::ClosedWindow),
        ("which fits", shut(FULL, FULL, 90), Rule::WindowFull),
        ("several, of which one fits", shut(FULL, 3 * FULL, 90), Rule::WindowFull),
        ("none of several", shut(FULL - 1, 3 * FULL, 90), Rule::ClosedWindow),
    ]);
}

#[test]
fn exactly_as_much_as_before_is_a_buffer_by_each_of_its_bounds() {
    let full = Facts {
        pushed: true,
        fills_same_buffer: true,
        usable_window: Some(2 * FULL),
        flight: [2 * FULL, 0],
        outstanding: 2 * FULL,
        since_room: None,
        ..BULK
    };
    check_rules(&[
        ("two segments", full, Rule::SameBuffer),
        (
            "the receive window has less room",
            Facts { usable_window: Some(2 * FULL - 1), ..full },
            Rule::WindowFull,
        ),
        ("it was never told", Facts { usable_window: None, ..full }, Rule::SameBuffer),
        ("less was outstanding", Facts { flight: [2 * FULL - 1, 0], ..full }, Rule::WindowFull),
        ("not as before", Facts { fills_same_buffer: false, ..full }, Rule::WindowFull),
        ("an answer", Facts { answers: true, ..full }, Rule::WindowFull),
        (
            "too little for a blocked writer",
            Facts { outstanding: 2 * FULL - 1, ..full },
            Rule::WindowFull,
        ),
        ("a third", Facts { since_room: micros(0), outstanding: FULL, ..full }, Rule::SameBuffer),
        (
            "an end does not fill it",
            Facts { bytes: 500, nagle: NagleHabit::Off, ..full },
            Rule::WindowFull,
        ),
        (
            "or does",
            Facts {
                bytes: 500,
                flight: [2 * FULL, 100],
                outstanding: 600,
                since_room: micros(0),
                nagle: NagleHabit::Off,
                ..full
            },
            Rule::SameBuffer,
        ),
    ]);
}

#[test]
fn nagle_holds_by_each_of_its_conditions() {
    let late = Facts {
        since_ack: micros(4_000),
        nagle: NagleHabit::Holds,
        may_miss_losses: false,
        ended: true,
        pushed: true,
        ..SMALL
    };
    check_rules(&[
        ("released", SMALL, Rule::NagleHeld),
        ("behind more", Facts { flight: [2 * FULL, 90], ..SMALL }, Rule::WindowFull),
        (
            "the last small one is acknowledged",
            Facts { flight: [2 * FULL, 90], small_acknowledged: true, ..SMALL },
            Rule::NagleHeld,
        ),
        ("nothing was outstanding", Facts { flight: [0, 0], ..SMALL }, Rule::RoomInWindow),
        ("an answer", Facts { answers: true, ..SMALL }, Rule::WindowFull),
        ("a busy host", late, Rule::NagleHeld),
        ("busier", Facts { since_ack: micros(4_001), ..late }, Rule::Written),
        ("not for long", Facts { since_data: Nanos::from_millis(64), ..late }, Rule::NagleHeld),
        ("for less", Facts { since_data: Nanos::from_micros(63_999), ..late }, Rule::Written),
        ("no habit", Facts { nagle: NagleHabit::Mixed, ..late }, Rule::Written),
        (
            "a window of ten segments, counted",
            Facts { flight: [8 * FULL + 1, 0], ..SMALL },
            Rule::NagleHeld,
        ),
        ("and full", Facts { flight: [9 * FULL + 1, 0], ..SMALL }, Rule::WindowFull),
        ("nine, to the byte", Facts { flight: [9 * FULL, 0], ..SMALL }, Rule::NagleHeld),
        (
            "of a smaller one, nobody knows",
            Facts { least_window: 10 * FULL - 1, flight: [9 * FULL + 1, 0], bytes: 500, ..SMALL },
            Rule::NagleHeld,
        ),
    ]);
}
