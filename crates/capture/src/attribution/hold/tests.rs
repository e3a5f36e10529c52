//! Facts in, verdict out.

mod nagle;
mod rules;
mod timers;
mod window_or_program;

use super::*;

/// A full segment, 80 ms after the data before it and 60 ms after an acknowledgement of all of that.
pub(crate) const LATE: Facts = Facts {
    since_data: Nanos::from_millis(80),
    by_stamps: Nanos::ZERO,
    since_ack: Some(Nanos::from_millis(60)),
    since_progress: None,
    since_room: Some(Nanos::from_millis(60)),
    immediate: Nanos::from_millis(1),
    bytes: FULL,
    full: FULL,
    flight: [FULL, 0],
    usable_window: Some(60_000),
    least_window: 10 * FULL,
    sure_window: 0,
    peak_before_idle: None,
    after_idle: false,
    reach_before_idle: 0,
    lossy: false,
    slow_start: true,
    stays: Plateau::No,
    most_flight: 10 * FULL,
    fills_receive_window: false,
    round_trip: Nanos::from_millis(20),
    left_late: false,
    small_acknowledged: false,
    sacked: false,
    pushed: false,
    ended: false,
    forced: false,
    may_miss_losses: true,
    lost_before: None,
    emptied_before: false,
    fills_same_buffer: false,
    outstanding: 0,
    window_was_full: false,
    nagle: NagleHabit::Unknown,
    answers: false,
    follows_held: false,
    behind_small: false,
    loss: None,
    fills_in_vain: false,
    stall: Stall::None,
    kind: None,
    lacks: Lacks { ack: false, opening: false, window: false },
    late: Late {
        due_ack: false,
        silent: None,
        slow: false,
        usual: false,
        may_have_arrived: false,
        sender_nearer: false,
        more_acks: false,
        unexplained: [Nanos::ZERO; 2],
        by_link: false,
    },
    without: None,
};

fn decide(facts: &Facts) -> Hold {
    Hold::claimed(facts).with_doubts(facts)
}

/// A small segment, right after an acknowledgement of all that was outstanding.
pub(super) const SMALL: Facts =
    Facts { since_ack: Some(Nanos::ZERO), bytes: 500, flight: [90, 0], ..LATE };

/// A full segment, right after an acknowledgement of a part of a full window.
const BULK: Facts = Facts { since_ack: Some(Nanos::ZERO), flight: [10 * FULL, 8 * FULL], ..LATE };

/// A small segment without PSH before it, 200 ms after anything happened.
const CORKED: Facts = Facts {
    since_data: Nanos::from_millis(240),
    since_ack: Some(Nanos::from_millis(200)),
    bytes: 500,
    may_miss_losses: false,
    ..LATE
};

/// A repair, 8 ms after anything happened.
const REPAIR: Facts = Facts {
    since_data: Nanos::from_millis(20),
    since_ack: Some(Nanos::from_millis(8)),
    loss: Some(Loss::Repairs),
    ..BULK
};

const FULL: u64 = 1_448;

pub(super) const fn micros(micros: u64) -> Option<Nanos> {
    Some(Nanos::from_micros(micros))
}

type Row = (&'static str, Facts, Wait, Confidence);

#[track_caller]
fn check(rows: &[Row]) {
    for (why, facts, wait, confidence) in rows {
        let hold = decide(facts);
        assert_eq!((hold.wait, hold.confidence), (*wait, *confidence), "{why}");
    }
}

use Confidence::{High, Low, Medium};

const RECEIVE_WINDOW: Wait = Wait::ReceiveWindow { probing: false };

#[test]
fn no_congestion_window_holds_two_small_segments() {
    let small = Facts { nagle: NagleHabit::Off, sure_window: 2 * FULL, pushed: true, ..SMALL };
    let full = Facts { bytes: FULL, flight: [FULL, 0], ..small };
    check(&[
        ("they fit any window", small, Wait::Application, Medium),
        ("two full ones, too: a program, or its buffer", full, Wait::Application, Low),
        ("more was ready", Facts { pushed: false, ..full }, Wait::SlowStart, Medium),
        ("one byte too many", Facts { flight: [FULL + 1, 0], ..full }, Wait::SlowStart, High),
        ("nobody knows the window", Facts { sure_window: 0, ..small }, Wait::SlowStart, High),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn a_receive_window_is_told_from_what_else_an_acknowledgement_opens() {
    let shut = Facts { usable_window: Some(0), ..BULK };
    let late = Facts { since_ack: micros(20_000), ..shut };
    check(&[
        ("no room for a segment", shut, RECEIVE_WINDOW, High),
        (
            "no room for all of it",
            Facts { usable_window: Some(FULL - 1), ..BULK },
            RECEIVE_WINDOW,
            High,
        ),
        ("room for it", Facts { usable_window: Some(FULL), ..BULK }, Wait::SlowStart, High),
        (
            "room for all of a small one",
            Facts { usable_window: Some(500), ..SMALL },
            Wait::Nagle,
            High,
        ),
        (
            "room for a part of a small one, and the window is mostly open",
            Facts { usable_window: Some(499), ..SMALL },
            Wait::Nagle,
            High,
        ),
        (
            "it takes all of the room",
            Facts { usable_window: Some(499), fills_receive_window: true, ..SMALL },
            RECEIVE_WINDOW,
            High,
        ),
        (
            "a small one, and nothing is outstanding",
            Facts { usable_window: Some(499), flight: [0, 0], ..SMALL },
            RECEIVE_WINDOW,
            High,
        ),
        (
            "a full one, and little is outstanding",
            Facts { usable_window: Some(FULL - 1), flight: [90, 0], ..BULK },
            RECEIVE_WINDOW,
            High,
        ),
        (
            "as much is outstanding as the window has room for",
            Facts { usable_window: Some(499), flight: [499, 0], ..SMALL },
            RECEIVE_WINDOW,
            High,
        ),
        (
            "room for one of several",
            Facts { bytes: 3 * FULL, usable_window: Some(FULL), ..BULK },
            Wait::SlowStart,
            High,
        ),
        ("never told", Facts { usable_window: None, ..BULK }, Wait::SlowStart, High),
        ("the sender took a quarter of the time", late, RECEIVE_WINDOW, High),
        (
            "it took longer",
            Facts { since_ack: micros(20_001), pushed: true, ended: true, left_late: true, ..late },
            Wait::Application,
            High,
        ),
        (
            "it was never told",
            Facts { usable_window: None, pushed: true, ended: true, ..late },
            Wait::Application,
            Medium,
        ),
        (
            "it had room",
            Facts { usable_window: Some(FULL), pushed: true, ended: true, ..late },
            Wait::Application,
            Medium,
        ),
    ]);
}

#[test]
fn a_congestion_window_is_told_from_a_send_buffer_and_from_a_coincidence() {
    let constant = Facts { stays: Plateau::Yes, pushed: true, outstanding: 10 * FULL, ..BULK };
    let emptied = Facts { pushed: true, ended: true, ..BULK };
    let held_before = Facts { most_flight: 25 * FULL, ..constant };
    let more_before = Facts { most_flight: 25 * FULL + 1, ..constant };
    check(&[
        ("slow start", BULK, Wait::SlowStart, High),
        ("past it", Facts { slow_start: false, ..BULK }, Wait::CongestionWindow, High),
        ("does not grow", constant, Wait::Application, Medium),
        (
            "nor does what is written once a round trip",
            Facts { flight: [10 * FULL, 0], ..constant },
            Wait::Application,
            Low,
        ),
        (
            "nor does it, but more was ready",
            Facts { pushed: false, ..constant },
            Wait::SlowStart,
            Medium,
        ),
        ("all had left, for the first time", emptied, Wait::SlowStart, Medium),
        ("all had left after a loss", Facts { lossy: true, ..emptied }, Wait::SlowStart, Medium),
        (
            "all had left after an idle time",
            Facts { peak_before_idle: Some(30 * FULL), ..emptied },
            Wait::SlowStart,
            Medium,
        ),
        (
            "all had left, again",
            Facts { emptied_before: true, ..emptied },
            Wait::Application,
            Medium,
        ),
        ("as much was outstanding before", held_before, Wait::Application, Medium),
        ("more was outstanding before", more_before, Wait::SlowStart, Medium),
        (
            "perhaps it does not grow",
            Facts { stays: Plateau::Perhaps, ..constant },
            Wait::SlowStart,
            Medium,
        ),
        ("nothing was outstanding", Facts { flight: [0, 0], ..BULK }, Wait::Application, Medium),
        ("one segment is a window", Facts { flight: [FULL, 0], ..BULK }, Wait::SlowStart, High),
    ]);
    for (facts, writer) in [
        (constant, Writer::SendBufferFull),
        (
            Facts { flight: [2 * FULL, 0], most_flight: 2 * FULL, ..constant },
            Writer::SendBufferFull,
        ),
        (Facts { flight: [2 * FULL - 1, 0], most_flight: 0, ..constant }, Writer::Working),
        (Facts { flight: [0, 0], ..BULK }, Writer::Working),
    ] {
        assert_eq!(decide(&facts).writer, writer, "{facts:?}");
    }
}

#[test]
fn a_window_is_cut_by_an_idle_time_until_it_is_what_it_was() {
    for (peak, cut) in [(None, false), (Some(10 * FULL), false), (Some(10 * FULL + 1), true)] {
        let hold = decide(&Facts { peak_before_idle: peak, ..BULK });
        assert_eq!((hold.wait, hold.cut_by_idle), (Wait::SlowStart, cut), "{peak:?}");
    }
}

#[test]
fn a_timeout_is_told_from_a_recovery() {
    let after = |micros_late| Facts { since_ack: micros(micros_late), ..REPAIR };
    check(&[
        ("by nothing but a timer", REPAIR, Wait::RetransmissionTimeout, High),
        ("the shortest timeout", after(5_000), Wait::RetransmissionTimeout, High),
        ("too soon for a timeout", after(4_999), Wait::Recovery, High),
        ("RACK waits after a SACK", Facts { sacked: true, ..after(13_000) }, Wait::Recovery, High),
        (
            "longer than RACK waits",
            Facts { sacked: true, since_data: Nanos::from_millis(60), ..after(30_000) },
            Wait::RetransmissionTimeout,
            High,
        ),
        ("right after an ACK", after(1_000), Wait::Recovery, High),
        (
            "as late as RACK",
            Facts { immediate: Nanos::from_millis(4), ..REPAIR },
            Wait::Recovery,
            High,
        ),
        (
            "later",
            Facts { immediate: Nanos::from_micros(3_999), ..REPAIR },
            Wait::RetransmissionTimeout,
            High,
        ),
        ("without an ACK", Facts { since_ack: None, ..REPAIR }, Wait::RetransmissionTimeout, High),
        ("behind a repair", Facts { loss: Some(Loss::Repaired), ..BULK }, Wait::Recovery, Medium),
        (
            "behind a repair, and late",
            Facts { loss: Some(Loss::Repaired), pushed: true, left_late: true, ..LATE },
            Wait::Application,
            High,
        ),
        ("behind a hole", Facts { loss: Some(Loss::Missing), ..BULK }, Wait::SlowStart, High),
    ]);
    for (facts, lost) in [
        (REPAIR, Some(RepairedBy::Timeout)),
        (after(0), Some(RepairedBy::Recovery)),
        (Facts { loss: Some(Loss::Missing), ..BULK }, Some(RepairedBy::Recovery)),
        (Facts { loss: Some(Loss::Repaired), ..BULK }, None),
        (BULK, None),
    ] {
        assert_eq!(decide(&facts).lost, lost, "{facts:?}");
    }
}

#[test]
fn what_may_have_been_lost_before_it_could_be_seen_is_told_from_what_was_written_late() {
    for (why, facts, unknown) in [
        ("followed by more, so it was ready", LATE, true),
        ("after the shortest timeout", Facts { since_ack: micros(5_000), ..LATE }, true),
        (
            "sooner, but long for its gap",
            Facts { since_ack: micros(4_999), since_data: Nanos::from_millis(19), ..LATE },
            false,
        ),
        ("its sender's host would have seen it", Facts { may_miss_losses: false, ..LATE }, false),
        ("a send buffer was empty, and full again", Facts { pushed: true, ..LATE }, false),
        (
            "a last piece behind a card's PSH",
            Facts { pushed: true, bytes: 500, since_ack: micros(195_000), ..LATE },
            true,
        ),
        ("the program had written no more", Facts { pushed: true, ended: true, ..LATE }, false),
        ("nor this", Facts { pushed: true, ended: true, bytes: 500, ..LATE }, false),
        (
            "more is under way",
            Facts { flight: [2 * FULL, FULL], pushed: true, ended: true, ..LATE },
            false,
        ),
    ] {
        let hold = decide(&facts);
        assert_eq!(hold.unknown, unknown, "{why}");
        // Longer than two round trips of 20 ms.
        let long = facts.since_event() > Nanos::from_millis(40);
        let path = if long { Cause::PathStall } else { Cause::Queueing };
        let rival = (!unknown && facts.may_miss_losses).then_some(path);
        let confidence = match rival {
            Some(_) => Medium,
            None if unknown => Low,
            None => High,
        };
        assert_eq!((hold.confidence, hold.rival), (confidence, rival), "{why}");
        assert_eq!((hold.wait, hold.lost), (Wait::Application, None), "no retransmission: {why}");
        let left_late = decide(&Facts { left_late: true, ..facts });
        let wait = if unknown { Wait::RetransmissionTimeout } else { Wait::Application };
        let may_wait = long && facts.may_miss_losses && facts.may_be_held_by_nagle();
        let confidence = if unknown || may_wait { Medium } else { High };
        assert_eq!((left_late.wait, left_late.confidence), (wait, confidence), "{why}");
        assert_eq!(left_late.lost, unknown.then_some(RepairedBy::Timeout), "{why}");
    }
}

#[test]
fn pacing_is_told_from_what_is_written_late() {
    let soon = Facts { since_ack: micros(40_000), ..LATE };
    let paced = Facts { flight: [2 * FULL, FULL], may_miss_losses: false, ..soon };
    let probe = Facts { since_ack: micros(40_001), ..paced };
    assert_eq!(decide(&probe).wait, Wait::SlowStart, "a timer sends after so long, paced or not");
    for (why, facts, is_paced) in [
        ("it was ready, and no window held it", paced, true),
        ("behind PSH of a network card", Facts { pushed: true, ..paced }, true),
        ("the write had ended", Facts { pushed: true, ended: true, ..paced }, false),
        ("a small one", Facts { bytes: 500, ..paced }, false),
        (
            "nothing is outstanding",
            Facts { flight: [FULL, 0], may_miss_losses: false, ..paced },
            false,
        ),
    ] {
        let hold = decide(&facts);
        assert_eq!((hold.wait, hold.paced), (Wait::Application, is_paced), "{why}");
        let confidence = match (is_paced, facts.pushed) {
            (false, _) => High,
            (true, true) => Medium,
            (true, false) => Low,
        };
        assert_eq!(hold.confidence, confidence, "{why}");
    }
}

#[test]
fn a_delayed_acknowledgement_of_a_head_lets_nothing_go_that_nothing_held() {
    let small = Facts { stays: Plateau::Yes, nagle: NagleHabit::Off, pushed: true, ..SMALL };
    let full = Facts { flight: [3 * FULL, FULL], most_flight: 3 * FULL, ..small };
    for (facts, writer) in [(small, Writer::Working), (full, Writer::SendBufferFull)] {
        let hold = decide(&facts);
        assert_eq!((hold.wait, hold.writer), (Wait::Application, writer));
    }
}

#[test]
fn who_has_sent_everything_waits_for_nothing() {
    let done = Hold::done();
    assert_eq!((done.wait, done.writer), (Wait::Application, Writer::Done));
    assert_eq!((done.confidence, done.lost, done.paced), (High, None, false));
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn what_else_the_packets_admit_is_named() {
    use Cause::{ApplicationLimited, NagleRtt, PathStall, SendBuffer, SlowStart};
    let habit = |nagle| Facts { nagle, pushed: true, ended: true, ..SMALL };
    let constant = Facts { stays: Plateau::Yes, most_flight: 10 * FULL, pushed: true, ..BULK };
    let busy = |micros| {
        let unexplained = [Nanos::from_micros(micros); 2];
        let late = Late { unexplained, ..LATE.late };
        Facts { pushed: true, ended: true, left_late: true, late, ..LATE }
    };
    let ends = |slow_start| Facts { ended: true, slow_start, ..BULK };
    for (why, facts, rival) in [
        ("Nagle's algorithm", habit(NagleHabit::Holds), None),
        ("or a program that writes then", habit(NagleHabit::Mixed), Some(ApplicationLimited)),
        ("a program, or Nagle's algorithm", habit(NagleHabit::WritesLate), Some(NagleRtt)),
        ("a window", BULK, None),
        ("a window, perhaps cut", Facts { after_idle: true, ..BULK }, Some(Cause::IdleRestart)),
        ("a buffer, or a window", constant, Some(SlowStart)),
        ("a window, or a buffer", Facts { most_flight: 26 * FULL, ..constant }, Some(SendBuffer)),
        (
            "a window that losses cut, or a link",
            Facts { lossy: true, slow_start: false, ..BULK },
            Some(Cause::Transmission),
        ),
        (
            "Nagle's algorithm, or the window",
            Facts { flight: [9 * FULL, 0], ..SMALL },
            Some(SlowStart),
        ),
        (
            "Nagle's algorithm, or a window that an idle time has cut",
            Facts { flight: [2 * FULL, 0], after_idle: true, ..SMALL },
            Some(Cause::IdleRestart),
        ),
        (
            "a program, or its send buffer",
            Facts {
                since_ack: micros(2_000),
                since_room: micros(20_000),
                outstanding: 2 * FULL,
                flight: [500, 0],
                pushed: true,
                ended: true,
                may_miss_losses: false,
                ..BULK
            },
            Some(SendBuffer),
        ),
        (
            "a program, or a queue",
            Facts { since_ack: micros(6_000), pushed: true, ended: true, ..LATE },
            Some(Cause::Queueing),
        ),
        (
            "a program, or a cork: Linux sets PSH in long writes",
            Facts { pushed: true, ended: true, forced: true, since_ack: micros(195_000), ..CORKED },
            Some(Cause::CorkTimer),
        ),
        ("a cork, or a program", CORKED, Some(ApplicationLimited)),
        ("a program, or the path", Facts { pushed: true, ended: true, ..LATE }, Some(PathStall)),
        (
            "by its timestamp, a program",
            Facts { pushed: true, ended: true, left_late: true, ..LATE },
            None,
        ),
        (
            "or Nagle's algorithm and an ACK that was lost on its way",
            Facts { pushed: true, ended: true, left_late: true, bytes: 500, ..LATE },
            Some(NagleRtt),
        ),
        ("a timer, or a program", Facts { left_late: true, ..LATE }, Some(ApplicationLimited)),
        ("a program, or a link busy for an eighth", busy(10_000), Some(Cause::Transmission)),
        ("a program: a link was busy for less", busy(9_999), None),
        (
            "Nagle's algorithm, whatever else is due",
            Facts { late: Late { due_ack: true, ..LATE.late }, ..habit(NagleHabit::Holds) },
            None,
        ),
        ("a window with the end of a write, or a buffer", ends(true), Some(SendBuffer)),
        ("a buffer that a window had outgrown before", ends(false), None),
        ("by a repair, or a window", Facts { loss: Some(Loss::Repaired), ..BULK }, Some(SlowStart)),
        ("a repair", REPAIR, None),
    ] {
        let hold = decide(&facts);
        assert_eq!(hold.rival, rival, "{why}");
        assert!(rival.is_none() || hold.confidence < High, "{why}");
    }
}

#[test]
fn a_small_segment_behind_as_many_as_the_first_window_has_waits_for_that() {
    let tail = Facts { flight: [9 * FULL + 109, 8 * FULL], small_acknowledged: true, ..SMALL };
    check(&[
        ("ten are outstanding, one of them small", tail, Wait::SlowStart, Medium),
        (
            "nine are",
            Facts { flight: [8 * FULL + 109, 7 * FULL], sure_window: 0, ..tail },
            Wait::Nagle,
            Medium,
        ),
        ("all but Nagle's", Facts { nagle: NagleHabit::Off, ..tail }, Wait::SlowStart, High),
    ]);
    assert_eq!(decide(&tail).rival, Some(Cause::NagleRtt));
}

#[test]
fn what_has_low_confidence_and_a_rival_already_still_names_its_doubt() {
    let nagle = NagleHabit::WritesLate;
    let late = Facts { nagle, pushed: true, ended: true, ..SMALL };
    let lacks = Facts { lacks: Lacks { ack: true, ..LATE.lacks }, ..late };
    for (facts, doubt) in [(late, None), (lacks, Some(Rule::CaptureLacks))] {
        let hold = decide(&facts);
        assert_eq!((hold.confidence, hold.rival, hold.doubt), (Low, Some(Cause::NagleRtt), doubt));
    }
}
