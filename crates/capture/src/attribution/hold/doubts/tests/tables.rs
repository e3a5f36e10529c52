//! Each doubt alone, with each of its conditions once not met and each of its bounds from both sides.

use super::*;
use crate::attribution::hold::tests::{LATE, SMALL, micros};

type Row = (&'static str, Facts, Option<Limit>);

#[track_caller]
fn check(doubt: fn(&Facts, &Hold) -> Option<Limit>, claim: Hold, rows: &[Row]) {
    for (why, facts, limit) in rows {
        assert_eq!(doubt(facts, &claim), *limit, "{why}");
    }
}

/// What a rule claims.
const fn claim(rule: Rule, wait: Wait) -> Hold {
    Hold { rule, ..Hold::new(wait, Confidence::High) }
}

const NAGLE: Hold = claim(Rule::NagleHeld, Wait::Nagle);
const WINDOW: Hold = claim(Rule::WindowFull, Wait::SlowStart);
const WRITTEN: Hold = claim(Rule::Written, Wait::Application);
const PACED: Hold = claim(Rule::Paced, Wait::Application);
const CLOSED: Hold = claim(Rule::ClosedWindow, Wait::ReceiveWindow { probing: false });
const RECOVERY: Hold =
    Hold { lost: Some(RepairedBy::Recovery), ..claim(Rule::AckRepair, Wait::Recovery) };
const TIMEOUT: Hold = Hold {
    lost: Some(RepairedBy::Timeout),
    ..claim(Rule::TimerRepair, Wait::RetransmissionTimeout)
};

/// A program that waits for memory.
const MEMORY: Hold = Hold {
    writer: ackwise_cause::Writer::SendBufferFull,
    ..claim(Rule::EmptiedBuffer, Wait::Application)
};

const fn or(rival: Cause) -> Option<Limit> {
    Some(Limit::or(rival))
}

const fn as_well(rival: Cause) -> Option<Limit> {
    Some(Limit::as_well(rival))
}

const UNSURE: Option<Limit> = Some(Limit { most: Confidence::Medium, rival: None });

#[test]
fn a_window_may_have_held_a_small_segment_if_it_was_full_or_of_few_segments() {
    let full = Facts { window_was_full: true, outstanding: 3 * FULL, flight: [FULL, 0], ..SMALL };
    let flight = |flight| Facts { flight: [flight, 0], ..SMALL };
    let idle = Facts { after_idle: true, ..flight(2 * FULL) };
    let first = Facts { most_flight: FULL + 1, ..flight(FULL + 1) };
    let slow_start = or(Cause::SlowStart);
    check(
        may_be_window,
        NAGLE,
        &[
            ("it was full until an earlier ACK", full, slow_start),
            ("past slow start", Facts { slow_start: false, ..full }, or(Cause::CongestionWindow)),
            ("it had room", Facts { window_was_full: false, ..full }, None),
            ("no ACK came between", Facts { outstanding: FULL, ..full }, None),
            ("two segments fewer than the window", flight(8 * FULL), None),
            ("one byte more", flight(8 * FULL + 1), slow_start),
            ("two segments", Facts { least_window: 4 * FULL - 1, ..flight(2 * FULL) }, slow_start),
            ("which have room", Facts { least_window: 4 * FULL, ..flight(2 * FULL) }, None),
            ("less is Nagle's", Facts { least_window: 0, ..flight(2 * FULL - 1) }, None),
            ("an idle time may have cut it", idle, or(Cause::IdleRestart)),
            ("it was not idle", Facts { after_idle: false, ..idle }, None),
            ("not to so little", Facts { flight: [2 * FULL - 1, 0], ..idle }, None),
            ("a least window is known", Facts { sure_window: 1, ..idle }, None),
            ("the first window of a route", first, slow_start),
            ("more was outstanding before", Facts { most_flight: FULL + 2, ..first }, None),
            ("one segment", Facts { most_flight: FULL, ..flight(FULL) }, None),
            ("past slow start", Facts { slow_start: false, ..first }, None),
        ],
    );
    assert_eq!(may_be_window(&full, &WINDOW), None, "it is the window");
}

#[test]
fn a_program_may_have_written_what_nagle_or_a_buffer_seems_to_have_held() {
    let program = Cause::ApplicationLimited;
    let follows = Facts { follows_held: true, ..SMALL };
    check(
        may_be_program,
        NAGLE,
        &[
            ("right after its ACK", SMALL, None),
            ("written after one that was held", follows, as_well(program)),
            ("later", Facts { since_ack: micros(1_001), ..SMALL }, or(program)),
            ("without an ACK", Facts { since_ack: None, ..SMALL }, or(program)),
            ("its sender does without", Facts { nagle: NagleHabit::Mixed, ..SMALL }, or(program)),
        ],
    );
    check(
        may_be_program,
        MEMORY,
        &[
            ("all was acknowledged", LATE, as_well(program)),
            ("some is outstanding", Facts { flight: [FULL, 1], ..LATE }, None),
        ],
    );
    check(may_be_program, WINDOW, &[("no buffer", follows, None)]);
}

#[test]
fn what_is_outstanding_may_be_all_that_a_buffer_holds() {
    let buffer = or(Cause::SendBuffer);
    let ended = Facts { ended: true, flight: [FULL + 1, 0], ..LATE };
    check(
        may_be_buffer,
        WINDOW,
        &[
            ("a window that grows", LATE, None),
            ("one that does not", Facts { stays: Plateau::Yes, ..LATE }, buffer),
            ("perhaps", Facts { stays: Plateau::Perhaps, ..LATE }, buffer),
            ("one that has room", Facts { sure_window: 2 * FULL, ..LATE }, buffer),
            (
                "for one of several",
                Facts { sure_window: 2 * FULL, bytes: 3 * FULL, ..LATE },
                buffer,
            ),
            ("for less", Facts { sure_window: 2 * FULL - 1, ..LATE }, None),
            ("all had left", ended, buffer),
            ("or not", Facts { ended: false, ..ended }, None),
            ("past slow start", Facts { slow_start: false, ..ended }, None),
            ("a segment", Facts { flight: [FULL, 0], ..ended }, None),
        ],
    );
    let waited = Facts { pushed: true, outstanding: 2 * FULL, since_room: micros(20_000), ..LATE };
    check(
        may_be_buffer,
        WRITTEN,
        &[
            ("it had room after a quarter of the pause", waited, buffer),
            ("later", Facts { since_room: micros(20_001), ..waited }, None),
            ("never", Facts { since_room: None, ..waited }, None),
            ("more was ready", Facts { pushed: false, ..waited }, None),
            ("an answer", Facts { answers: true, ..waited }, None),
            ("less than two segments", Facts { outstanding: 2 * FULL - 1, ..waited }, None),
            ("what may be a full window", Facts { stays: Plateau::Yes, ..ended }, None),
        ],
    );
    check(may_be_buffer, WINDOW, &[("a pause is no window", waited, None)]);
    let all = Facts { stays: Plateau::Yes, ended: true, ..waited };
    check(may_be_buffer, PACED, &[("it was ready", all, None)]);
}

#[test]
fn nagle_may_have_collected_writes_or_held_one_that_a_window_seems_to_have() {
    let nagle = or(Cause::NagleRtt);
    let collected = Facts { nagle: NagleHabit::Holds, behind_small: true, ..LATE };
    check(
        may_be_nagle,
        WRITTEN,
        &[
            ("a full segment behind a small one", collected, nagle),
            ("without the habit", Facts { nagle: NagleHabit::Unknown, ..collected }, None),
            ("none is outstanding", Facts { behind_small: false, ..collected }, None),
            ("a small one is not complete", Facts { bytes: 500, ..collected }, None),
            ("what a window held", SMALL, None),
        ],
    );
    let flight = |flight| Facts { flight, ..SMALL };
    let least = |flight| Facts { least_window: 0, flight: [flight, 0], ..SMALL };
    check(
        may_be_nagle,
        WINDOW,
        &[
            ("a small one that fits", SMALL, nagle),
            ("without Nagle", Facts { nagle: NagleHabit::Off, ..SMALL }, None),
            ("a full one", Facts { bytes: FULL, ..SMALL }, None),
            ("an answer", Facts { answers: true, ..SMALL }, None),
            ("it just fits", flight([10 * FULL - 500, 0]), nagle),
            ("it does not", flight([10 * FULL - 499, 0]), None),
            ("a window is one segment at least", least(FULL - 500), nagle),
            ("and no more", least(FULL - 499), None),
            ("more is outstanding", flight([FULL + 90, FULL]), None),
            (
                "but nothing small",
                Facts { small_acknowledged: true, ..flight([FULL + 90, FULL]) },
                nagle,
            ),
            ("what was collected", collected, None),
        ],
    );
    check(may_be_nagle, PACED, &[("no window, no program", SMALL, None)]);
}

#[test]
fn a_cork_may_have_held_what_seems_to_be_the_rest_of_a_write() {
    let cork = or(Cause::CorkTimer);
    let after = |since_data, since_ack| Facts {
        since_data: Nanos::from_micros(since_data),
        since_ack,
        bytes: 500,
        ..LATE
    };
    let held = after(240_000, micros(200_000));
    check(
        may_be_corked,
        WRITTEN,
        &[
            ("when its timer ends", held, cork),
            ("the write had ended", Facts { ended: true, ..held }, None),
            ("as far as Linux's PSH shows", Facts { ended: true, forced: true, ..held }, cork),
            ("a full segment", Facts { bytes: FULL, ..held }, None),
            ("the earliest", after(195_000, micros(195_000)), cork),
            ("earlier", after(194_999, micros(194_999)), None),
            ("by the ACK", after(400_000, micros(195_000)), cork),
            ("by the data", after(240_000, micros(50_000)), cork),
            ("the latest: 240 ms, a round trip, and 80 ms", after(340_000, None), cork),
            ("later", after(340_001, None), None),
        ],
    );
    check(may_be_corked, WINDOW, &[("it waited for a window", held, None)]);
}

#[test]
fn a_timer_may_have_sent_what_was_ready_and_left_late_or_what_waits_for_a_lost_acknowledgement() {
    let timeout = or(Cause::RetransmissionTimeout);
    let late = Facts { left_late: true, ..LATE };
    let small = Facts { pushed: true, bytes: 500, ..late };
    check(
        may_be_timer,
        WRITTEN,
        &[
            ("it was ready, and left late", late, timeout),
            ("the path may have held it", Facts { left_late: false, ..late }, None),
            ("at its sender", Facts { may_miss_losses: false, ..late }, None),
            ("nothing was lost", Facts { lost_before: Some(false), ..late }, None),
            ("something was", Facts { lost_before: Some(true), ..late }, timeout),
            ("more is outstanding", Facts { flight: [FULL, 1], ..late }, None),
            ("the buffer was empty", Facts { pushed: true, ..late }, None),
            ("a last piece", small, timeout),
            ("of another write", Facts { ended: true, ..small }, None),
            ("as soon as any timer", Facts { since_ack: micros(5_000), ..late }, timeout),
            ("sooner", Facts { since_ack: micros(4_999), ..late }, None),
        ],
    );
    let after = |micros| Facts {
        since_data: Nanos::from_micros(micros),
        since_ack: None,
        bytes: 300,
        flight: [40, 40],
        round_trip: Nanos::from_millis(40),
        pushed: true,
        ended: true,
        ..LATE
    };
    let probe = after(245_000);
    check(
        may_be_timer,
        WRITTEN,
        &[
            ("a probe has new data", probe, timeout),
            ("it is full", Facts { bytes: FULL, ..probe }, None),
            ("nothing is outstanding", Facts { flight: [40, 0], ..probe }, None),
            ("one byte less than a segment", Facts { flight: [FULL - 1; 2], ..probe }, timeout),
            ("a segment", Facts { flight: [FULL; 2], ..probe }, None),
            ("without Nagle", Facts { nagle: NagleHabit::Off, ..probe }, None),
            ("the earliest", after(235_000), timeout),
            ("earlier", after(234_999), None),
            ("the latest", after(400_000), timeout),
            ("later", after(400_001), None),
        ],
    );
    let ack_lost = Facts { kind: Some(LossKind::AckLost), ..LATE };
    check(
        may_be_timer,
        PACED,
        &[
            ("late, but paced", late, None),
            ("a probe, but paced", probe, None),
            ("what would have come next, nobody sees", ack_lost, UNSURE),
        ],
    );
}

#[test]
fn an_acknowledgement_or_a_window_that_the_capture_lacks_may_have_decided() {
    let lacks = Lacks { ack: true, ..LATE.lacks };
    let lacks_ack = Facts { lacks, ..LATE };
    check(
        capture_lacks,
        WRITTEN,
        &[
            ("nothing is missing", LATE, None),
            ("a window", lacks_ack, as_well(Cause::SlowStart)),
            (
                "past slow start",
                Facts { slow_start: false, ..lacks_ack },
                as_well(Cause::CongestionWindow),
            ),
            ("Nagle", Facts { bytes: 500, ..lacks_ack }, as_well(Cause::NagleRtt)),
            ("another released it", Facts { since_ack: micros(1_000), ..lacks_ack }, UNSURE),
            ("later", Facts { since_ack: micros(1_001), ..lacks_ack }, as_well(Cause::SlowStart)),
            ("a repair", Facts { loss: Some(Loss::Repairs), bytes: 500, ..lacks_ack }, UNSURE),
        ],
    );
    let lacks_window = Facts { lacks: Lacks { window: true, ..LATE.lacks }, ..LATE };
    let lost = |hold| Hold { lost: Some(RepairedBy::Recovery), ..hold };
    for (claim, limit) in [
        (WINDOW, or(Cause::ReceiveWindow)),
        (MEMORY, as_well(Cause::ReceiveWindow)),
        (WRITTEN, None),
        (NAGLE, None),
        (lost(WINDOW), None),
        (lost(MEMORY), None),
    ] {
        assert_eq!(capture_lacks(&lacks_window, &claim), limit, "{claim:?}");
        assert_eq!(capture_lacks(&LATE, &claim), None, "a window is known: {claim:?}");
    }
}

#[test]
fn the_path_or_a_queue_may_have_held_what_was_waited_for() {
    let (queue, path) = (or(Cause::Queueing), or(Cause::PathStall));
    let near = Facts { may_miss_losses: false, flight: [2 * FULL, FULL], ..LATE };
    let late = |late| Facts { late, ..near };
    let silent = late(Late { silent: micros(50_000), ..LATE.late });
    let usual = late(Late { usual: true, ..silent.late });
    let arrived = late(Late { may_have_arrived: true, ..LATE.late });
    let slow = late(Late { slow: true, ..LATE.late });
    let due = late(Late { due_ack: true, ..LATE.late });
    let stalled = |facts| Facts { stall: Stall::Shown, ..facts };
    check(
        quiet_path,
        TIMEOUT,
        &[
            ("what was sent with it was late itself", silent, queue),
            ("nothing of that was acknowledged", Facts { flight: [FULL; 2], ..silent }, None),
            ("in time", near, None),
            ("it may have arrived", arrived, path),
            ("what stalls is known", stalled(arrived), None),
            ("no queue before a timeout", slow, None),
        ],
    );
    check(
        quiet_path,
        RECOVERY,
        &[
            ("a part was a queue", slow, queue),
            ("in time", near, None),
            ("late, but no timer", silent, None),
            ("it may have arrived", arrived, None),
        ],
    );
    check(
        quiet_path,
        WINDOW,
        &[
            ("later than any ACK", silent, path),
            ("as late as others", usual, None),
            ("in time", near, None),
            ("a stall is known", stalled(silent), None),
            ("an ACK is due, but it waited for another", due, None),
            ("a queue shows in repairs", slow, None),
            ("far from its sender", LATE, None),
        ],
    );
    check(
        quiet_path,
        WRITTEN,
        &[
            ("it waited for no ACK", silent, None),
            ("an ACK is due", due, path),
            ("whatever else stalls", stalled(due), path),
            ("in time", near, None),
        ],
    );
}

/// Two round trips of 20 ms are a stall.
#[test]
fn far_from_its_sender_the_path_may_have_held_what_seems_to_be_written() {
    let after = |since_ack| Facts { since_ack: micros(since_ack), ..LATE };
    let left_late = |facts| Facts { left_late: true, ..facts };
    check(
        quiet_path,
        WRITTEN,
        &[
            ("for so long", after(40_001), or(Cause::PathStall)),
            ("or a queue", after(40_000), or(Cause::Queueing)),
            ("as soon as that", after(1_001), or(Cause::Queueing)),
            ("or not at all", after(1_000), None),
            ("not at the sender", Facts { may_miss_losses: false, ..LATE }, None),
            ("it left late", left_late(LATE), None),
            (
                "perhaps because Nagle's ACK was late",
                left_late(Facts { bytes: 500, ..LATE }),
                or(Cause::NagleRtt),
            ),
        ],
    );
}

#[test]
fn where_the_sender_may_be_nearer_an_acknowledgement_and_a_program_look_alike() {
    let near = Late { sender_nearer: true, more_acks: true, ..LATE.late };
    let (program, nagle) = (or(Cause::ApplicationLimited), or(Cause::NagleRtt));
    let small = Facts { late: near, ..SMALL };
    let known = Facts { late: Late { sender_nearer: false, ..near }, ..SMALL };
    let no_ack = Facts { late: Late { more_acks: false, ..near }, ..SMALL };
    check(way_unsure, NAGLE, &[("it may have come later", small, program), ("known", known, None)]);
    check(way_unsure, Hold { wait: Wait::Application, ..NAGLE }, &[("its habit", small, None)]);
    check(
        way_unsure,
        WRITTEN,
        &[
            ("an ACK is on its way", small, nagle),
            ("none is", no_ack, None),
            ("it is full", Facts { bytes: FULL, ..small }, None),
            ("its way is known", known, None),
        ],
    );
    check(way_unsure, WINDOW, &[("a window", small, None)]);
}

#[test]
fn a_link_may_have_been_busy_where_its_rate_shows_less_well() {
    let link = or(Cause::Transmission);
    let lossy = Facts { lossy: true, slow_start: false, ..LATE };
    let unexplained = |late: [u64; 2]| {
        let unexplained = late.map(Nanos::from_micros);
        Facts { late: Late { unexplained, ..LATE.late }, ..LATE }
    };
    let immediately = Facts { since_data: Nanos::ZERO, ..LATE };
    let by_link = Facts { late: Late { by_link: true, ..LATE.late }, ..LATE };
    check(
        link_unsure,
        WINDOW,
        &[
            ("one that drops", lossy, link),
            ("one that has not", Facts { lossy: false, ..lossy }, None),
            ("nor does yet", Facts { slow_start: true, ..lossy }, None),
            ("late, but it waited for the window", unexplained([80_000; 2]), None),
            ("no receive window", by_link, None),
        ],
    );
    check(
        link_unsure,
        WRITTEN,
        &[
            ("busy for an eighth of 80 ms", unexplained([10_000, 0]), link),
            ("as all ACKs were late", unexplained([0, 10_000]), link),
            ("less", unexplained([9_999; 2]), None),
            ("at once", immediately, None),
            ("what dropped", lossy, None),
        ],
    );
    let repaired = Hold { lost: Some(RepairedBy::Recovery), ..WRITTEN };
    check(link_unsure, repaired, &[("after a loss", unexplained([80_000; 2]), None)]);
    check(
        link_unsure,
        CLOSED,
        &[("or a slow reader", by_link, link), ("a slow reader", LATE, None)],
    );
    let again = Hold { lost: Some(RepairedBy::Timeout), ..CLOSED };
    check(link_unsure, again, &[("what was sent again", by_link, None)]);
}
