//! Facts in, cause out: each rule and doubt with its conditions once not met, and its bounds from both sides.

use super::*;

/// 100 ms on a path of 20 ms, of a server that is known to have had the request.
const THINK: ThinkFacts = ThinkFacts {
    since: Nanos::from_millis(100),
    round_trip: Some(Nanos::from_millis(20)),
    left: Left::AsSeen,
    queued: false,
    released: None,
    after_interim: false,
    takes_silly_window: false,
    lost_before: false,
    seems_lost_before: false,
    small: true,
    asked: Asked::Known,
    knows_way: true,
    habits: ServerHabits { acks_at_once: false, corks: false, varies: [Nanos::ZERO; 2] },
    without: None,
};

type Row = (&'static str, ThinkFacts, Rule);

/// Which rule decides, and the doubt where it is the server's time.
#[track_caller]
fn check(rows: &[Row]) {
    for (why, facts, rule) in rows {
        let Thought { cause, rival, confidence, rule: row, doubt } = facts.decide();
        assert_eq!(doubt.unwrap_or(row), *rule, "{why}");
        match (row, doubt) {
            (Rule::Thinks, None) => assert_eq!((rival, confidence), (None, Confidence::High)),
            (Rule::Thinks, Some(_)) => {
                assert_eq!((cause, confidence), (Cause::ServerThink, Confidence::Medium));
            }
            _ => assert_eq!((rival, confidence), (Some(Cause::ServerThink), Confidence::Medium)),
        }
    }
}

const fn after(micros: u64, facts: ThinkFacts) -> ThinkFacts {
    ThinkFacts { since: Nanos::from_micros(micros), ..facts }
}

const fn released(is_sure: bool) -> Option<Released> {
    Some(Released { ack: 1, cause: Cause::SlowStart, is_sure, acknowledged: None })
}

#[test]
fn an_acknowledgement_released_the_answer_for_sure_or_behind_an_interim_one() {
    let perhaps = ThinkFacts { released: released(false), ..THINK };
    check(&[
        ("nothing did", THINK, Rule::Thinks),
        ("a window", ThinkFacts { released: released(true), ..THINK }, Rule::HeldAnswer),
        ("behind 100 Continue", ThinkFacts { after_interim: true, ..perhaps }, Rule::HeldAnswer),
        ("perhaps", perhaps, Rule::MayBeNagle),
    ]);
    assert_eq!(perhaps.decide().rival, Some(Cause::SlowStart));
}

/// RFC 9293, section 3.8.6.2.1: 0.1 to 1 s.
#[test]
fn a_timer_sends_an_answer_into_a_silly_window() {
    let silly = ThinkFacts { takes_silly_window: true, ..THINK };
    check(&[
        ("its timer", silly, Rule::SillyWindow),
        ("sooner", after(99_999, silly), Rule::Thinks),
        ("the latest", after(1_000_000, silly), Rule::SillyWindow),
        ("later", after(1_000_001, silly), Rule::MayBeNagle),
        ("a window with room", after(1_000_001, THINK), Rule::Thinks),
    ]);
    assert_eq!(after(1_000_001, silly).decide().rival, Some(Cause::SillyWindow));
}

/// A silence of two round trips is no stall.
#[test]
fn an_answer_was_lost_or_held_if_more_than_two_round_trips_passed() {
    let lost = ThinkFacts { lost_before: true, left: Left::Unknown, ..THINK };
    let seems = ThinkFacts { seems_lost_before: true, ..THINK };
    let early = ThinkFacts { left: Left::Earlier, ..THINK };
    let unheard = ThinkFacts { asked: Asked::Unheard, small: false, ..after(201_000, THINK) };
    check(&[
        ("one is missing", lost, Rule::LostBefore),
        ("after two round trips", after(40_001, lost), Rule::LostBefore),
        ("sooner", after(40_000, lost), Rule::QuietPath),
        ("without a round trip", ThinkFacts { round_trip: None, ..lost }, Rule::Thinks),
        ("one seems to be", seems, Rule::LostBefore),
        (
            "and nothing shows when it left",
            ThinkFacts { left: Left::Unknown, ..seems },
            Rule::QuietPath,
        ),
        ("it left earlier", early, Rule::HeldByPath),
        ("by two round trips", after(40_000, early), Rule::QuietPath),
        ("no ACK of the request", unheard, Rule::UnheardRequest),
        ("the capture is the server's", ThinkFacts { asked: Asked::Here, ..unheard }, Rule::Thinks),
        ("a server may keep it so long", after(200_999, unheard), Rule::QuietPath),
        ("the client would have sent again", after(1_000_000, unheard), Rule::UnheardRequest),
        ("and has not", after(1_000_001, unheard), Rule::QuietPath),
        (
            "two round trips",
            ThinkFacts { round_trip: Some(Nanos::from_micros(100_500)), ..unheard },
            Rule::QuietPath,
        ),
    ]);
}

/// Linux keeps a quick acknowledgement back for 40 ms or a round trip.
#[test]
fn a_server_that_acknowledges_at_once_is_heard_sooner() {
    let habits = ServerHabits { acks_at_once: true, ..THINK.habits };
    let unheard = ThinkFacts { habits, asked: Asked::Unheard, ..THINK };
    let here = ThinkFacts { asked: Asked::Here, ..unheard };
    check(&[
        ("50 ms and a round trip", after(70_000, unheard), Rule::UnheardRequest),
        ("less", after(69_999, unheard), Rule::QuietPath),
        ("beyond what seems to be its host", after(70_000, here), Rule::QuietPath),
        ("not so soon", after(69_999, here), Rule::Thinks),
        ("nor if it never did", ThinkFacts { habits: THINK.habits, ..here }, Rule::Thinks),
        ("nor if the request was heard", ThinkFacts { asked: Asked::Known, ..here }, Rule::Thinks),
        ("nor on no path", ThinkFacts { round_trip: None, ..here }, Rule::Thinks),
    ]);
    assert_eq!(here.decide().rival, Some(Cause::PathStall));
}

#[test]
fn a_corked_answer_is_small_and_as_late_as_its_timer_where_another_was_corked() {
    let habits = ServerHabits { corks: true, ..THINK.habits };
    let corked = ThinkFacts { habits, ..after(221_000, THINK) };
    let far = ThinkFacts { round_trip: Some(Nanos::from_micros(100_001)), ..after(360_000, THINK) };
    check(&[
        ("200 ms, a round trip and a tick", corked, Rule::Corked),
        ("less", after(220_999, corked), Rule::MayBeCorked),
        ("as long as a delayed ACK more", after(260_000, corked), Rule::Corked),
        ("longer", after(260_001, corked), Rule::MayBeCorked),
        ("none was corked", ThinkFacts { habits: THINK.habits, ..corked }, Rule::MayBeCorked),
        ("full", ThinkFacts { small: false, ..corked }, Rule::Thinks),
        ("it left earlier", ThinkFacts { left: Left::Earlier, ..corked }, Rule::HeldByPath),
        ("perhaps", ThinkFacts { left: Left::Unknown, ..corked }, Rule::Corked),
        ("without a round trip", ThinkFacts { round_trip: None, ..corked }, Rule::Thinks),
        ("the earliest", after(195_000, THINK), Rule::MayBeCorked),
        ("earlier", after(194_999, THINK), Rule::Thinks),
        ("the latest", after(340_000, THINK), Rule::MayBeCorked),
        ("later", after(340_001, THINK), Rule::Thinks),
        ("far away", far, Rule::MayBeCorked),
        ("far away, and full", ThinkFacts { small: false, ..far }, Rule::Thinks),
        (
            "nothing shows when it left",
            ThinkFacts { left: Left::Unknown, ..after(195_000, THINK) },
            Rule::QuietPath,
        ),
    ]);
}

#[test]
fn a_path_that_varies_holds_a_request_for_as_long() {
    let mut habits = THINK.habits;
    habits.note_held(Nanos::from_millis(100));
    let once = ThinkFacts { habits, asked: Asked::Unheard, ..THINK };
    habits.note_held(Nanos::from_millis(150));
    let twice = ThinkFacts { habits, ..once };
    let late = |by| ThinkFacts { asked: Asked::Late(Nanos::from_millis(by)), ..twice };
    check(&[
        ("once is an accident", once, Rule::QuietPath),
        ("twice", twice, Rule::VaryingPath),
        ("not for longer", after(100_001, twice), Rule::QuietPath),
        ("the request was in time", ThinkFacts { asked: Asked::Known, ..twice }, Rule::Thinks),
        ("late by as much", late(100), Rule::VaryingPath),
        ("late by less", late(99), Rule::QuietPath),
        ("an eighth of a round trip", after(2_500, twice), Rule::Thinks),
        ("more", after(2_501, twice), Rule::VaryingPath),
        ("a millisecond", after(1_000, ThinkFacts { round_trip: None, ..twice }), Rule::Thinks),
    ]);
    habits.note_held(Nanos::from_millis(120));
    assert_eq!(habits.varies(), Nanos::from_millis(120), "the second longest");
}

#[test]
fn the_path_may_have_held_what_nothing_shows() {
    let unknown = ThinkFacts { left: Left::Unknown, ..THINK };
    let late = |micros| ThinkFacts { asked: Asked::Late(Nanos::from_micros(micros)), ..THINK };
    let brief = |since, round_trip| ThinkFacts {
        round_trip: Some(Nanos::from_millis(round_trip)),
        ..after(since, unknown)
    };
    check(&[
        ("when it left", unknown, Rule::QuietPath),
        ("its time in a queue", ThinkFacts { queued: true, ..unknown }, Rule::Thinks),
        ("the request was late by an eighth", late(12_500), Rule::Thinks),
        ("by more", late(12_501), Rule::QuietPath),
        ("nothing was heard", ThinkFacts { asked: Asked::Unheard, ..THINK }, Rule::QuietPath),
        ("an eighth of a round trip is brief", brief(2_500, 20), Rule::Thinks),
        ("more is not", brief(2_501, 20), Rule::QuietPath),
        ("a millisecond is", brief(1_000, 2), Rule::Thinks),
        ("more is not", brief(1_001, 2), Rule::QuietPath),
        ("how far it is", ThinkFacts { knows_way: false, ..THINK }, Rule::WayUnsure),
    ]);
    let rival = |since| after(since, unknown).decide().rival;
    assert_eq!(rival(40_000), Some(Cause::Queueing));
    assert_eq!(rival(40_001), Some(Cause::PathStall));
    let way = ThinkFacts { knows_way: false, ..THINK };
    assert_eq!(way.decide().rival, Some(Cause::Propagation));
}

#[test]
fn a_rule_that_is_switched_off_decides_nothing() {
    let off = |facts, rule| ThinkFacts { without: Some(rule), ..facts };
    let held = ThinkFacts { left: Left::Earlier, ..THINK };
    let way = ThinkFacts { knows_way: false, ..THINK };
    check(&[
        ("a row", off(held, Rule::HeldByPath), Rule::QuietPath),
        ("a doubt", off(way, Rule::WayUnsure), Rule::Thinks),
    ]);
}
