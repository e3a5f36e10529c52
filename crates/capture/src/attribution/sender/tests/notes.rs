//! What a departure shows for later ones: each condition once not met, and each bound from both sides.

use super::{
    stalls::{arrived, clock, delays, last, sender},
    *,
};
use crate::attribution::{gap::tests::HELD, hold::tests::LATE};

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

/// A sender whose link takes 8 ms for a full segment before the vantage point.
fn behind_link() -> Sender {
    let mut sender = sender();
    sender.bottleneck.before.sample(FULL - Pace::HEADERS, micros(8_000));
    sender
}

#[test]
fn what_a_link_has_kept_apart_is_the_same_burst() {
    let data = Wire::new().seen(0.0, 0..FULL);
    let lost = SeenData { loss: Some(Loss::Missing), ..data.clone() };
    let ready = Facts { immediate: micros(1_000), pushed: false, ..LATE };
    let pushed = Facts { pushed: true, ..ready };
    let released = Facts { since_ack: Some(micros(1_000)), ..ready };
    for (why, sender, gap, data, facts, same) in [
        ("at once", sender(), 1_000, &data, ready, true),
        ("later", sender(), 1_001, &data, ready, false),
        ("a repair", sender(), 1_000, &lost, ready, false),
        ("an eighth more than the link takes", behind_link(), 9_000, &data, pushed, true),
        ("more", behind_link(), 9_001, &data, pushed, false),
        ("more, though an ACK came", behind_link(), 9_001, &data, released, false),
        ("twice as much, and it was ready", behind_link(), 16_000, &data, ready, true),
        ("more", behind_link(), 16_001, &data, ready, false),
    ] {
        assert_eq!(sender.is_same_burst(micros(gap), data, &facts), same, "{why}");
    }
}

#[test]
fn how_long_a_link_was_busy_is_in_doubt_where_it_had_a_part_of_a_wait() {
    let written = Hold { rule: Rule::Written, ..Hold::just_written() };
    let window = Hold { wait: Wait::SlowStart, rule: Rule::WindowFull, ..written };
    let closed = Hold::full_window();
    let nagle = Hold { wait: Wait::Nagle, rule: Rule::NagleHeld, ..written };
    let facts = Facts { since_data: micros(80_000), immediate: micros(1_000), ..LATE };
    let late = |facts: Facts, prompt, by_link| {
        let unexplained = [micros(prompt), Nanos::ZERO];
        let late = crate::attribution::hold::Late { unexplained, by_link, ..facts.late };
        Facts { late, ..facts }
    };
    let brief = Facts { since_data: micros(1_000), ..facts };
    let until = |free_at: f64| {
        let mut sender = sender();
        sender.bottleneck.is_busy_until(at(free_at));
        sender
    };
    let off = Sender { without: Some(Rule::LinkUnsure), ..sender() };
    let by_link = late(facts, 0, true);
    let (medium, high) = (Confidence::Medium, Confidence::High);
    for (why, sender, facts, hold, delayed, free_at, sure) in [
        ("nothing was sent", sender(), facts, window, None, 0.0, high),
        ("an eighth of the time", until(10.0), facts, window, None, 10.0, medium),
        ("less", until(9.999), facts, window, None, 9.999, high),
        ("an eighth is left", until(70.0), facts, window, None, 70.0, medium),
        ("less is", until(70.001), facts, window, None, 70.001, high),
        ("less is, of a closed window", until(70.001), facts, closed, None, 70.001, medium),
        ("a closed window", until(9.999), facts, closed, None, 9.999, high),
        ("no window", until(40.0), facts, nagle, None, 40.0, high),
        ("at once", until(0.5), brief, window, None, 0.5, high),
        (
            "ACKs were late by an eighth",
            sender(),
            late(facts, 10_000, false),
            written,
            None,
            10.0,
            medium,
        ),
        ("by less", sender(), late(facts, 9_999, false), written, None, 0.0, high),
        ("by more than all", sender(), late(facts, 90_000, false), written, None, 80.0, medium),
        ("a window", sender(), late(facts, 10_000, false), window, None, 0.0, high),
        ("switched off", off, late(facts, 10_000, false), written, None, 0.0, high),
        ("late by a link", sender(), by_link, closed, Some(49.999), 39.999, medium),
        ("or a timer", sender(), by_link, closed, Some(50.0), 0.0, high),
        ("by no link", sender(), facts, closed, Some(49.0), 0.0, high),
        ("of no receive window", sender(), by_link, nagle, Some(49.0), 0.0, high),
    ] {
        let hold = [&hold, &hold];
        let found = sender.busy(&last(), at(80.0), &facts, hold, delayed.map(at));
        assert_eq!(found, (at(free_at), sure), "{why}");
    }
}

/// Nagle's algorithm would have held it, and it left as soon as its acknowledgement came.
fn held() -> Facts {
    Facts {
        since_data: micros(50_000),
        since_ack: Some(Nanos::ZERO),
        immediate: micros(1_000),
        bytes: 500,
        full: FULL,
        flight: [90, 0],
        least_window: 10 * FULL,
        pushed: true,
        ..LATE
    }
}

#[test]
fn a_small_segment_shows_a_habit_only_where_nagle_would_have_held_it() {
    let data = Wire::new().seen(50.0, 0..500);
    let answers = Some(Asks { packet: 1, seen: at(0.0) });
    let [answer, repair] = [
        SeenData { answers, ..data.clone() },
        SeenData { loss: Some(Loss::Missing), ..data.clone() },
    ];
    let lacks = Sender { lacks_ack: true, ..sender() };
    let later = |micros_late| Facts { since_ack: Some(micros(micros_late)), ..held() };
    let busy = |until: f64| {
        let mut sender = sender();
        sender.bottleneck.is_busy_until(at(until));
        sender
    };
    for (why, sender, facts, data, habit) in [
        ("at once", sender(), held(), &data, NagleHabit::Holds),
        ("an answer", sender(), held(), &answer, NagleHabit::Unknown),
        ("a repair", sender(), held(), &repair, NagleHabit::Unknown),
        ("an ACK is missing", lacks, held(), &data, NagleHabit::Unknown),
        ("more was ready", sender(), Facts { pushed: false, ..held() }, &data, NagleHabit::Unknown),
        ("a full one", sender(), Facts { bytes: FULL, ..held() }, &data, NagleHabit::Unknown),
        (
            "without an ACK",
            sender(),
            Facts { since_ack: None, ..held() },
            &data,
            NagleHabit::Unknown,
        ),
        ("late", sender(), later(5_000), &data, NagleHabit::WritesLate),
        ("a link was busy until then", busy(49.0), later(5_000), &data, NagleHabit::Holds),
        ("until before", busy(45.0), later(5_000), &data, NagleHabit::WritesLate),
        ("at once, while it was idle", busy(5.0), later(1_000), &data, NagleHabit::Holds),
    ] {
        let mut sender = sender;
        sender.note_wait(&Hold::just_written(), &facts, data, at(50.0));
        assert_eq!(sender.nagle.habit(), habit, "{why}");
    }
}

#[test]
fn a_wait_shows_what_a_buffer_and_a_window_hold() {
    let data = Wire::new().seen(50.0, 0..FULL);
    let answer = SeenData { answers: Some(Asks { packet: 1, seen: at(0.0) }), ..data.clone() };
    let emptied = Facts { ended: true, flight: [FULL + 1, 0], ..held() };
    let brief = Facts { since_data: micros(1_000), ..emptied };
    let late = Facts { since_ack: Some(micros(1_001)), ..emptied };
    let ready = Facts { pushed: false, ..emptied };
    // Whether all was written when it went on, whether so much fills its buffer, and whether a window was full.
    for (why, facts, data, found) in [
        ("all had left", emptied, &data, [true, true, true]),
        ("in one burst", brief, &data, [false, false, true]),
        ("by its program", late, &data, [false, true, false]),
        ("more was ready", ready, &data, [true, false, true]),
        ("an answer", emptied, &answer, [false, true, true]),
        ("a segment", Facts { flight: [FULL, 0], ..emptied }, &data, [false, true, true]),
    ] {
        let mut sender = Sender { left_with: [7_000, 0], ..sender() };
        sender.window.initial = 10 * FULL;
        sender.window.idle();
        sender.window.least = 10 * FULL;
        let window = Hold { wait: Wait::SlowStart, ..Hold::just_written() };
        sender.note_wait(&window, &facts, data, at(50.0));
        let was_full = sender.window.least < 10 * FULL;
        let fills = sender.buffer.is_filled_by(7_000);
        assert_eq!([sender.emptied, fills, was_full], found, "{why}");
    }
    for (wait, confidence, full) in [
        (Wait::SlowStart, Confidence::Medium, false),
        (Wait::Application, Confidence::High, false),
        (Wait::CongestionWindow, Confidence::High, true),
    ] {
        let mut sender = sender();
        sender.window.idle();
        sender.window.least = 10 * FULL;
        let hold = Hold { wait, confidence, ..Hold::just_written() };
        sender.note_wait(&hold, &emptied, &data, at(50.0));
        assert_eq!(sender.window.least < 10 * FULL, full, "{wait:?} {confidence:?}");
    }
}

#[test]
fn a_small_segment_that_leaves_despite_another_shows_that_nagle_is_off() {
    let written = Gap { hold: Hold::just_written(), ..HELD };
    let burst = Gap { same_burst: true, ..written };
    let held = Gap { hold: Hold { wait: Wait::Nagle, ..written.hold }, ..written };
    let paced = Gap { hold: Hold { paced: true, ..written.hold }, ..written };
    let data = Wire::new().seen(0.0, 5_000..5_100);
    let lost = SeenData { loss: Some(Loss::Missing), ..data.clone() };
    let denied = SeenData { echo: Some(30), ..data.clone() };
    let outstanding = Sender { small_end: 2 * FULL + 1, ..sender() };
    let acknowledged = Sender { small_end: 2 * FULL, ..sender() };
    let lacks = Sender { lacks_ack: true, ..outstanding.clone() };
    let with_ack = |acked| {
        let mut sender = outstanding.clone();
        let mut wire = Wire::new();
        wire.ack(0.0, acked);
        let ack = wire.sender.acks_in_flight[0];
        sender.acks_in_flight.push_back(Acknowledgement { stamp: Some(61), ..ack });
        sender
    };
    let [of_it, before] = [with_ack(2 * FULL + 1), with_ack(2 * FULL)];
    for (why, sender, data, gap, despite) in [
        ("ready", &outstanding, &data, &written, 1),
        ("in one burst", &outstanding, &data, &burst, 2),
        ("none is outstanding", &acknowledged, &data, &written, 0),
        ("an ACK is missing", &lacks, &data, &written, 0),
        ("it was held", &outstanding, &data, &held, 0),
        ("paced", &outstanding, &data, &paced, 0),
        ("a loss", &outstanding, &lost, &written, 0),
        ("its ACK may have come", &of_it, &data, &burst, 1),
        ("another's may have", &before, &data, &burst, 2),
        ("its timestamp denies it", &of_it, &denied, &held, 1),
        ("the capture has it", &of_it, &data, &held, 0),
    ] {
        let mut sender = sender.clone();
        sender.note_small(data, Some(gap));
        assert_eq!(sender.nagle.despite(), despite, "{why}");
        assert_eq!(sender.small_end, 5_100);
    }
    let mut first = outstanding.clone();
    first.note_small(&data, None);
    assert_eq!(first.nagle.despite(), 0);
}

#[test]
fn a_repair_begins_a_recovery_unless_it_probes() {
    let data =
        SeenData { loss: Some(Loss::Repairs), new: false, ..Wire::new().seen(0.0, 2_000..3_000) };
    let lost = Hold { lost: Some(RepairedBy::Timeout), ..Hold::just_written() };
    let repair = Gap { hold: lost, kind: None, ..HELD };
    let probe = Gap { kind: Some(LossKind::Probe), ..repair };
    let closed = Gap { hold: Hold::full_window(), ..repair };
    for (why, gap, again, recovers) in [
        ("a timer", Some(repair), Some(RepairedBy::Timeout), true),
        ("a probe", Some(probe), Some(RepairedBy::Timeout), false),
        ("into a closed window", Some(closed), None, false),
        ("the first", None, Some(RepairedBy::Recovery), true),
    ] {
        let mut sender = sender();
        sender.note_repair(&data, gap.as_ref());
        assert_eq!(sender.again.as_ref().map(|it| it.by), again, "{why}");
        assert_eq!(sender.recover, recovers.then_some(10 * FULL), "{why}");
        assert_eq!(sender.window.is_lossy(), recovers, "{why}");
    }
}

#[test]
fn what_is_sent_after_a_timeout_far_away_has_a_window_that_was_cut() {
    let data = Wire::new().seen(0.0, 10_000..11_000);
    let wait = |wait| Gap { hold: Hold { wait, ..Hold::just_written() }, ..HELD };
    let timeout = wait(Wait::RetransmissionTimeout);
    let written = wait(Wait::Application);
    for (why, sender, gap, lossy, most, least) in [
        ("sent by a timer", sender(), &timeout, true, 9_000, 9_000),
        ("written", sender(), &written, false, 9_000, 9_000),
        (
            "an ACK is missing",
            Sender { lacks_ack: true, ..sender() },
            &written,
            false,
            1_000,
            1_000,
        ),
        (
            "in a recovery",
            Sender { recover: Some(10 * FULL), ..sender() },
            &written,
            false,
            9_000,
            1_000,
        ),
    ] {
        let mut sender = sender;
        sender.note_sent(&data, false, Some(gap));
        assert_eq!(sender.window.is_lossy(), lossy, "{why}");
        assert_eq!((sender.most_flight, sender.window.least), (most, least), "{why}");
    }
}

#[test]
fn who_has_sent_nothing_for_a_timeout_was_idle_unless_something_was_outstanding() {
    let (near, far) = (delays(0, 20_000), delays(10_000, 10_000));
    let idle = Sender { acked: 10 * FULL, ..sender() };
    let outstanding = Sender { acked: 10 * FULL - 1, ..sender() };
    let waited = |at_millis: f64, flight| {
        let latest = Some(Arrived { at: at(at_millis), flight, ..arrived(0.0) });
        Sender { latest, ..idle.clone() }
    };
    let mut small = idle.clone();
    small.window.initial = 10 * FULL;
    small.window.lose(RepairedBy::Recovery, 16 * FULL);
    let never = Sender { last: None, ..idle.clone() };
    for (why, sender, sent, delays, is_idle) in [
        ("a timeout and a round trip", &idle, 220.0, &near, false),
        ("longer", &idle, 220.001, &near, true),
        ("something is outstanding", &outstanding, 900.0, &near, false),
        ("until just now", &waited(899.7, [1, 0]), 900.0, &near, false),
        ("until before", &waited(899.6, [1, 0]), 900.0, &near, true),
        ("nothing was", &waited(899.7, [0, 0]), 900.0, &near, true),
        ("a loss has left less than the first window", &small, 900.0, &near, false),
        ("which shows less far away", &small, 900.0, &far, true),
        ("it has sent nothing", &never, 900.0, &near, false),
    ] {
        let mut sender = sender.clone();
        sender.notice_idle(at(sent), delays);
        assert_eq!(sender.window.after_idle, is_idle, "{why}");
    }
}

#[test]
fn facts_are_those_of_the_latest_acknowledgement_since_the_data_before() {
    let near = delays(0, 20_000);
    let data = Wire::new().seen(100.0, 10_000..11_000);
    let ack = |millis: f64| Arrived { at: at(millis), ..arrived(0.0) };
    let facts = |sender: &Sender, latest: Option<&Arrived>, data: &SeenData, sent| {
        sender.facts((sender.last.as_ref().unwrap(), latest), data, at(sent), &near)
    };
    // What was outstanding: if the acknowledgement came before the data before, that is.
    for (arrives, sent, flight) in
        [(0.0, 0.3, [4_000, 0]), (0.0, 0.301, [8_000, 8_000]), (0.001, 100.0, [4_000, 0])]
    {
        let found = facts(&sender(), Some(&ack(arrives)), &data, sent);
        assert_eq!(found.flight, flight, "{arrives} {sent}");
    }
    assert_eq!(facts(&sender(), None, &data, 100.0).flight, [8_000; 2]);
    // A window that was opened in steps: what it was before, unless that was for most of the time.
    for (opened, usable) in [(75.0, Some(7)), (74.9, Some(9))] {
        let sender = Sender { opened: Some((7, at(opened))), ..sender() };
        let latest = Arrived { usable_window: Some(9), ..ack(90.0) };
        let found = facts(&sender, Some(&latest), &data, 100.0);
        assert_eq!(found.usable_window, usable, "{opened}");
    }
    for (end, fills) in [(10_999, false), (11_000, true), (11_001, true)] {
        let sender = Sender { edge: Some(11_000), ..sender() };
        let data = SeenData { bytes: 10_000..end, ..data.clone() };
        assert_eq!(facts(&sender, None, &data, 100.0).fills_receive_window, fills, "{end}");
    }
    for (least, full) in [(9_000, false), (8_999, true)] {
        let sender = Sender { left_with: [8_000, least], ..sender() };
        assert_eq!(facts(&sender, None, &data, 100.0).window_was_full, full, "{least}");
    }
    // It answers what came with the acknowledgement, or before.
    for (packet, answers) in [(1, false), (2, true), (3, true)] {
        let asks = Some(Asks { packet, seen: at(0.0) });
        let data = SeenData { answers: asks, ..data.clone() };
        assert_eq!(facts(&sender(), Some(&ack(90.0)), &data, 100.0).answers, answers, "{packet}");
        assert!(!facts(&sender(), None, &data, 100.0).answers, "no acknowledgement came");
    }
    assert!(!facts(&sender(), Some(&ack(90.0)), &data, 100.0).answers);
    for (small_end, behind) in [(2_000, false), (2_001, true)] {
        let found = facts(&Sender { small_end, ..sender() }, None, &data, 100.0);
        assert_eq!(found.behind_small, behind, "{small_end}");
    }
}

#[test]
fn what_follows_a_small_segment_that_nagle_held_was_written_later() {
    let near = delays(0, 20_000);
    let data = Wire::new().seen(100.0, 10_000..11_000);
    let answer = SeenData { answers: Some(Asks { packet: 1, seen: at(0.0) }), ..data.clone() };
    let by = |acknowledged| {
        let (ack, cause, is_sure) = (1, Cause::NagleRtt, true);
        Some(crate::attribution::gap::Released { ack, cause, is_sure, acknowledged })
    };
    let held = Departure { small: true, released: by(Some([at(0.0); 3])), ..last() };
    for (why, last, data, follows) in [
        ("held", held, &data, true),
        ("a full one", Departure { small: false, ..held }, &data, false),
        ("a window held it", Departure { released: by(None), ..held }, &data, false),
        ("nothing did", Departure { released: None, ..held }, &data, false),
        ("an answer", held, &answer, false),
    ] {
        let sender = Sender { last: Some(last), ..sender() };
        let found = sender.facts((&last, None), data, at(100.0), &near);
        assert_eq!(found.follows_held, follows, "{why}");
    }
}

#[test]
fn the_same_buffer_is_full_where_all_had_left_and_no_window_holds_as_much() {
    let near = delays(0, 20_000);
    let pushed = Departure { pushed: true, ended: true, ..last() };
    for (why, last, left, before, fills) in [
        ("as much as before", pushed, 7_000, 7_000, true),
        ("less", pushed, 6_999, 7_000, false),
        ("more was ready", Departure { pushed: false, ..pushed }, 7_000, 7_000, false),
        ("a window of segments", Departure { ended: false, ..pushed }, 7_000, 7_000, false),
        ("no number of them", Departure { ended: false, ..pushed }, 7_001, 7_001, true),
    ] {
        let mut sender = Sender { left_with: [left, 0], last: Some(last), ..sender() };
        sender.buffer.note(before);
        let data = Wire::new().seen(100.0, 10_000..11_000);
        let found = sender.facts((&last, None), &data, at(100.0), &near);
        assert_eq!(found.fills_same_buffer, fills, "{why}");
    }
}

#[test]
fn an_acknowledgement_is_late_that_a_path_or_a_link_may_have_kept() {
    let (far, near) = (delays(0, 20_000), delays(20_000, 100));
    let data = Wire::new().seen(100.0, 10_000..11_000);
    let late = |sender: &Sender, ack: Option<Arrived>, delays| {
        sender.facts((&last(), ack.as_ref()), &data, at(100.0), delays).late
    };
    let silent = |silent: f64| Some(arrived(10.0 + silent));
    for (millis, delays, slow, overdue, usual) in [
        (10.0, &far, false, false, true),
        (10.1, &far, true, false, true),
        (40.0, &far, true, false, true),
        (40.1, &far, true, true, true),
        (80.0, &far, true, true, false),
        (80.0, &near, true, true, true),
    ] {
        let found = late(&sender(), silent(millis), delays);
        assert_eq!([found.slow, found.silent.is_some(), found.usual], [slow, overdue, usual]);
    }
    let none = late(&sender(), None, &far);
    assert!(!none.slow && none.silent.is_none() && none.usual && !none.by_link);
    let mut known = sender();
    known.bottleneck.behind.sample(FULL, micros(100));
    let reads_late = Sender { waits_for_reader: true, ..sender() };
    let ack = |late: f64, flight| Some(Arrived { flight, ..arrived(10.0 + late) });
    for (why, sender, ack, by_link) in [
        ("late", sender(), ack(3.6, [FULL, 0]), true),
        ("prompt", sender(), ack(3.5, [FULL, 0]), false),
        ("a part of it", sender(), ack(3.6, [FULL, 1]), false),
        ("nothing was outstanding", sender(), ack(3.6, [0, 0]), false),
        ("a link that is known", known, ack(3.6, [FULL, 0]), false),
        ("a reader that is", reads_late, ack(3.6, [FULL, 0]), false),
    ] {
        assert_eq!(late(&sender, ack, &far).by_link, by_link, "{why}");
    }
    let mut lacks = sender();
    assert!(!late(&lacks, None, &far).more_acks);
    let mut wire = Wire::new();
    wire.ack(0.0, 100);
    lacks.acks_in_flight.push_back(wire.sender.acks_in_flight[0]);
    assert!(late(&lacks, None, &far).more_acks);
}

#[test]
fn timestamps_show_whether_the_path_held_an_answer_or_what_came_before() {
    let far = delays(10_000, 10_000);
    let near = delays(0, 20_000);
    let stamped = |timestamp| Some(Departure { timestamp, seen: at(1_000.0), ..last() });
    let base = Sender { clock: clock(), last: stamped(Some(1_000)), ..sender() };
    let heard = Sender { heard: Some((1_020, at(1_020.0))), ..base.clone() };
    let heard_earlier = Sender { heard: Some((500, at(990.0))), ..base.clone() };
    let asks = Some(Asks { packet: 1, seen: at(0.0) });
    let mut wire = Wire::new();
    let mut answer = |millis: f64, timestamp| SeenData {
        timestamp,
        answers: asks,
        ..wire.seen(millis, 0..FULL)
    };
    let same = answer(1_100.0, Some(1_100));
    let early = answer(1_100.0, Some(1_020));
    let rest = SeenData { answers: None, ..same.clone() };
    let bare = Sender { last: stamped(None), ..base.clone() };
    let new = Sender { clock: SenderClock::default(), ..base.clone() };
    for (why, sender, data, delays, left) in [
        ("as far apart", &base, &same, &far, Left::AsSeen),
        ("nearer", &base, &early, &far, Left::Earlier),
        ("next to the sender", &base, &early, &near, Left::AsSeen),
        ("the rest of a message", &base, &rest, &far, Left::Unknown),
        ("without a timestamp", &base, &answer(1_100.0, None), &far, Left::Unknown),
        ("nothing before has one", &bare, &same, &far, Left::Unknown),
        ("compared with the latest", &heard, &answer(1_100.0, Some(1_100)), &far, Left::AsSeen),
        ("which left with it", &heard, &answer(1_100.0, Some(1_030)), &far, Left::Earlier),
        ("not with an earlier one", &heard_earlier, &same, &far, Left::AsSeen),
        ("its clock is not known", &new, &answer(1_100.0, Some(1_001)), &far, Left::Unknown),
        ("nor any that has so few ticks", &new, &answer(1_100.0, Some(1_003)), &far, Left::Earlier),
    ] {
        assert_eq!(sender.left(data, delays), left, "{why}");
    }
    // It waited in a queue: what links take for it is no part of that.
    let queued = |sender: &Sender, data: &SeenData, delays| sender.queued(data, delays);
    assert_eq!(queued(&base, &early, &far), Some(micros(78_990)));
    assert_eq!(queued(&base, &early, &near), None);
    assert_eq!(queued(&base, &SeenData { answers: None, ..early.clone() }, &far), None);
    assert_eq!(queued(&base, &SeenData { timestamp: None, ..early.clone() }, &far), None);
    let mut slow = base.clone();
    slow.bottleneck.behind.sample(FULL - Pace::HEADERS, micros(8_000));
    assert_eq!(queued(&slow, &early, &far), Some(micros(70_990)));
}

#[test]
fn a_packet_without_data_was_held_if_its_timestamp_denies_that_it_left_so_late() {
    let mut sender = Sender { clock: clock(), ..Sender::default() };
    sender.heard = Some((1_000, at(1_000.0)));
    for (why, heard, timestamp, seen, early) in [
        ("as far apart", 1_000.0, Some(1_100), 1_100.0, false),
        ("nearer", 1_000.0, Some(1_010), 1_100.0, true),
        ("a busy host's", 1_000.0, Some(1_000), 1_005.0, false),
        ("later", 1_000.0, Some(1_000), 1_005.1, true),
        ("without a timestamp", 1_000.0, None, 1_100.0, false),
    ] {
        let mut sender = Sender { heard: Some((1_000, at(heard))), ..sender.clone() };
        sender.heard_early = true;
        sender.hear(timestamp, at(seen));
        assert_eq!(sender.was_held_on_its_way(), early, "{why}");
        let expected =
            (timestamp.unwrap_or(1_000), at(if timestamp.is_some() { seen } else { heard }));
        assert_eq!(sender.heard, Some(expected), "{why}");
    }
}

#[test]
fn what_left_earlier_than_the_path_varies_was_held() {
    let far = delays(10_000, 10_000);
    let before = Some(Departure { timestamp: Some(1_000), seen: at(1_000.0), ..last() });
    let before = before.map(|it| Departure { sent: at(995.0), ..it });
    let base = Sender { clock: clock(), last: before, ..sender() };
    let data = |millis: f64, timestamp| SeenData { timestamp, ..Wire::new().seen(millis, 0..FULL) };
    let held = |sender: &Sender, data: &SeenData, sent: f64| {
        sender.clone().sent_by_clock(data, at(sent), &far)
    };
    // By its clock 20 ms after the data before, and a tick; it is held for more than half of a round trip of 20 ms.
    for (sent, by_clock) in [(1_026.0, None), (1_026.1, Some(at(1_015.0)))] {
        assert_eq!(held(&base, &data(sent + 5.0, Some(1_020)), sent), by_clock, "{sent}");
    }
    assert_eq!(held(&base, &data(1_100.0, None), 1_095.0), None);
    let bare =
        Sender { last: base.last.map(|it| Departure { timestamp: None, ..it }), ..base.clone() };
    assert_eq!(held(&bare, &data(1_100.0, Some(1_020)), 1_095.0), None);
    // A link takes 8 ms for it.
    let mut slow = base.clone();
    slow.bottleneck.before.sample(FULL - Pace::HEADERS, micros(8_000));
    for (sent, by_clock) in [(1_032.0, None), (1_032.1, Some(at(1_015.0)))] {
        assert_eq!(held(&slow, &data(sent + 5.0, Some(1_020)), sent), by_clock, "{sent}");
    }
    // An answer that waited in a queue for as long, or longer.
    let asks = Some(Asks { packet: 1, seen: at(0.0) });
    let answer = SeenData { answers: asks, ..data(1_060.0, Some(1_020)) };
    assert_eq!(held(&base, &answer, 1_055.0 - 0.1), None);
    let mut late = base.clone();
    late.clock = SenderClock::default();
    late.clock.note(0, at(0.0));
    late.clock.note(1_000, at(1_000.0));
    late.clock.note(1_001, at(1_041.0));
    assert_eq!(held(&late, &answer, 1_080.0), Some(at(1_015.0)), "it was held for longer");
}

#[test]
fn a_third_of_what_was_outstanding_is_room_and_counts_again_after_most_of_the_time() {
    let wire = |acks: &[(f64, u64)]| {
        let mut wire = Wire::new();
        wire.sender.set_initial_window(20_000);
        for start in (0..9_000).step_by(1_000) {
            wire.data(0.0, start..start + 1_000);
        }
        acks.iter().for_each(|&(millis, acked)| wire.ack(millis, acked));
        let delays = *wire.distances.path_delays(Direction::ToClient);
        wire.sender.receive(at(200.0), Nanos::ZERO, &delays, None);
        wire.sender.room_at
    };
    for (acks, room) in [
        (&[(20.0, 2_999)][..], None),
        (&[(20.0, 3_000)], Some(20.0)),
        (&[(20.0, 3_000), (40.0, 3_001)], Some(20.0)),
        // After more than half of the time: a third of what was still outstanding.
        (&[(20.0, 3_000), (40.1, 3_001)], None),
        (&[(20.0, 3_000), (40.1, 5_000)], Some(40.1)),
    ] {
        assert_eq!(wire(acks), room.map(at), "{acks:?}");
    }
}

#[test]
fn a_window_is_opened_by_the_acknowledgement_that_moves_its_edge() {
    let wire = |edge: u64, acks: &[(f64, u64, u64)]| {
        let mut wire = Wire::new();
        wire.ack_up_to(0.0, 0, edge);
        wire.data(1.0, 0..FULL);
        acks.iter().for_each(|&(millis, acked, edge)| wire.ack_up_to(millis, acked, edge));
        let delays = *wire.distances.path_delays(Direction::ToClient);
        wire.sender.receive(at(200.0), Nanos::ZERO, &delays, None);
        wire.sender.opened
    };
    for (edge, acks, opened) in [
        (1_999, &[(20.0, 1_000, 3_000)][..], Some((999, 20.0))),
        (2_000, &[(20.0, 1_000, 3_000)], None),
        (1_999, &[(20.0, 1_000, 1_999)], None),
        // The one that had the least room.
        (1_500, &[(20.0, 1_000, 1_600), (30.0, 1_000, 3_000)], Some((500, 20.0))),
        (1_500, &[(20.0, 1_000, 1_400), (30.0, 1_000, 3_000)], Some((400, 30.0))),
        (
            1_000,
            &[(20.0, 1_000, 1_500), (25.0, 1_000, 1_000), (30.0, 1_000, 3_000)],
            Some((0, 30.0)),
        ),
    ] {
        let expected = opened.map(|(room, millis)| (room, at(millis)));
        assert_eq!(wire(edge, acks), expected, "{edge} {acks:?}");
    }
}

#[test]
fn acknowledgements_arrive_within_the_tolerance_and_together_if_they_did() {
    let wire = |apart: f64, now: f64, tolerance: u64| {
        let mut wire = Wire::new();
        wire.data(0.0, 0..2_000);
        wire.ack(20.0, 1_000);
        wire.ack(20.0 + apart, 2_000);
        let delays = *wire.distances.path_delays(Direction::ToClient);
        wire.sender.receive(at(now), micros(tolerance), &delays, None);
        wire.sender.latest.map(|it| (it.flight, it.in_bunch))
    };
    for (apart, now, tolerance, latest) in [
        (1.0, 19.9, 100, Some(([2_000, 1_000], false))),
        (1.0, 19.8, 100, None),
        (0.1, 20.1, 100, Some(([2_000, 0], true))),
        (0.2, 20.2, 100, Some(([1_000, 0], false))),
    ] {
        assert_eq!(wire(apart, now, tolerance), latest, "{apart} {now} {tolerance}");
    }
}

#[test]
fn a_repair_was_needed_or_not_by_what_its_acknowledgement_says_first() {
    use Resolution::{Confirmed, OrRefused, Refused, Spurious};
    let resolve =
        |to_server: u64, change: &dyn Fn(&mut Sender, &mut Again), direction, took: f64| {
            let mut distances = Distances::default();
            distances.sample(Direction::ToServer, micros(to_server));
            distances.sample(Direction::ToClient, micros(20_000));
            let mut sender = sender();
            sender.window.initial = 10 * FULL;
            let (packet, seen, bytes, by) = (5, at(0.0), 0..FULL, RepairedBy::Timeout);
            let (timestamp, acked, came_before) = (None, false, false);
            let mut again = Again { packet, seen, bytes, by, timestamp, acked, came_before };
            change(&mut sender, &mut again);
            let mut wire = Wire::new();
            wire.ack(took, FULL);
            let ack = wire.sender.acks_in_flight[0];
            let acked_before = if again.acked { FULL } else { 0 };
            let found = sender.resolve(again, &ack, acked_before, false, direction, &mut distances);
            (found, sender.in_vain)
        };
    let (to_client, to_server) = (Direction::ToClient, Direction::ToServer);
    let as_is = |_: &mut Sender, _: &mut Again| ();
    let recovered = |_: &mut Sender, again: &mut Again| again.by = RepairedBy::Recovery;
    let later = |_: &mut Sender, again: &mut Again| again.acked = true;
    let unknown = |sender: &mut Sender, _: &mut Again| sender.window.initial = 0;
    assert_eq!(resolve(0, &as_is, to_client, 20.0), (Some(Confirmed), None));
    assert_eq!(resolve(0, &as_is, to_client, 14.9), (Some(Spurious), Some(5)));
    assert_eq!(resolve(0, &recovered, to_client, 14.9), (Some(Spurious), None));
    // The first data to the server: what its own capture has was refused.
    assert_eq!(resolve(100, &as_is, to_server, 0.1), (Some(Refused { sure: false }), None));
    assert_eq!(resolve(20_000, &as_is, to_server, 20.0), (Some(OrRefused), None));
    assert_eq!(resolve(20_000, &recovered, to_server, 20.0), (Some(Confirmed), None));
    assert_eq!(resolve(20_000, &later, to_server, 20.0), (Some(Confirmed), None));
    assert_eq!(resolve(20_000, &unknown, to_server, 20.0), (Some(Confirmed), None));
}

#[test]
fn a_duplicate_that_is_reported_after_the_acknowledgement_shows_a_needless_timeout() {
    let (far, near) = (delays(0, 20_000), delays(20_000, 100));
    let again = |by, acked| {
        let (packet, seen, bytes) = (5, at(0.0), 0..FULL);
        Some(Again { packet, seen, bytes, by, timestamp: None, acked, came_before: false })
    };
    let (timeout, recovery) = (RepairedBy::Timeout, RepairedBy::Recovery);
    for (why, by, acked, duplicate, delays, found, stays) in [
        ("reported", timeout, true, true, &far, Some(Resolution::Spurious), false),
        ("not reported", timeout, true, false, &far, None, false),
        ("at the receiver", timeout, true, true, &near, None, false),
        ("by an acknowledgement", recovery, true, true, &far, None, false),
        ("not acknowledged", timeout, false, true, &far, None, true),
    ] {
        let mut sender = Sender { again: again(by, acked), recover: Some(9), ..sender() };
        assert_eq!(sender.hear_after_acknowledgement(duplicate, delays), found, "{why}");
        assert_eq!(sender.again.is_some(), stays, "{why}");
        let in_vain = found.map(|_| 5);
        assert_eq!((sender.in_vain, sender.recover.is_none()), (in_vain, found.is_some()), "{why}");
    }
    let mut lost = Sender { again: again(timeout, false), ..sender() };
    assert_eq!(lost.hear_duplicate(&far), Some(Resolution::AckLost));
    assert_eq!(lost.hear_duplicate(&far), None);
}
