//! What an exchange waits for, by how far it is: each condition once not met, and each bound from both sides.

use super::*;
use crate::{
    attribution::{
        gap::{
            Released,
            tests::{HELD, at},
        },
        sender::tests::departed,
    },
    flow::heard::HeardByServer,
};

fn open() -> OpenExchange {
    OpenExchange::new(ExchangeId(0), 0, Account::new(at(0)), 0)
}

/// A way that ends at `arrives`, in milliseconds.
fn way(packet: u64, arrives: u64) -> LastWay {
    LastWay { arrives: at(arrives), packet, ..departed().way(at(0)) }
}

/// A request of 100 bytes, with the server since 10 ms.
fn waiting() -> OpenExchange {
    let mut open = open();
    open.request = [0, 100];
    open.request_sent(way(1, 10));
    open
}

/// The first data of a response, which leaves at 90 ms.
fn first() -> Departure {
    let mut first = departed();
    (first.packet, first.seen, first.sent, first.arrives) = (7, at(90), at(90), at(100));
    first
}

fn answered() -> OpenExchange {
    let mut open = waiting();
    open.begin_response(&first(), Asked::Known, Some(Nanos::ZERO), ServerHabits::default());
    open
}

/// The response begins, and the request goes on.
fn early() -> OpenExchange {
    let mut open = open();
    open.begin_response(&first(), Asked::Known, Some(Nanos::ZERO), ServerHabits::default());
    open
}

fn shares(open: &OpenExchange) -> Vec<(Cause, u128, Confidence)> {
    open.account.shares().map(|it| (it.cause, it.span.as_millis(), it.confidence)).collect()
}

fn causes(open: &OpenExchange) -> Vec<(Cause, u128)> {
    shares(open).into_iter().map(|it| (it.0, it.1)).collect()
}

#[test]
fn data_is_waited_for_in_one_direction_at_a_time() {
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    let mut again = Gap { until: at(150), ..HELD };
    again.hold.lost = Some(ackwise_cause::RepairedBy::Timeout);
    let gap = Gap { until: at(150), ..HELD };
    for (why, open, gap, direction, counts) in [
        ("a request goes on", open(), gap, to_server, true),
        ("the other direction", open(), gap, to_client, false),
        ("behind the request", waiting(), gap, to_server, false),
        ("it is sent again", waiting(), again, to_server, true),
        ("sent again by the server", waiting(), again, to_client, false),
        ("a response goes on", answered(), gap, to_client, true),
        ("the other direction", answered(), gap, to_server, false),
    ] {
        let mut open = open;
        let before = open.account.cursor();
        open.handle_gap(&gap, direction);
        assert_eq!(open.account.cursor() > before, counts, "{why}");
    }
}

#[test]
fn while_a_request_goes_on_the_server_may_wait_for_it() {
    let mut sure = Gap { until: at(150), ..HELD };
    sure.hold.confidence = Confidence::High;
    for (open, confidence) in [(answered(), Confidence::High), (early(), Confidence::Medium)] {
        let mut open = open;
        open.handle_gap(&sure, Direction::ToClient);
        let last = *shares(&open).iter().find(|it| it.0 == Cause::NagleRtt).unwrap();
        assert_eq!(last.2, confidence, "{}", open.is_early());
        assert_eq!(open.is_answered(), confidence == Confidence::High);
        open.request_sent(way(9, 200));
        assert!(open.is_answered(), "the request has ended");
    }
}

/// RFC 9110, section 10.1.1.
#[test]
fn what_follows_a_head_that_expects_100_continue_waited_for_the_server() {
    let mut written = HELD;
    (written.hold.wait, written.delayed_until) = (Wait::Application, None);
    written.free_at = at(0);
    let lost = Gap { capture_lost_data: true, ..written };
    for (expects, gap, cause) in [
        (true, written, Cause::ServerThink),
        (false, written, Cause::ApplicationLimited),
        (true, HELD, Cause::NagleRtt),
        (true, lost, Cause::Unknown),
    ] {
        let mut open = open();
        let head = RequestHead {
            method: None,
            path: None,
            has_query: false,
            trace: None,
            end: None,
            expects_continue: expects,
            wants_close: false,
            grpc: None,
        };
        open.head = Some(Box::new(head));
        open.handle_gap(&gap, Direction::ToServer);
        assert!(causes(&open).iter().any(|it| it.0 == cause), "{cause:?} {:?}", causes(&open));
        let later = Gap { until: at(170), arrived: at(80), ..written };
        open.handle_gap(&later, Direction::ToServer);
        let settled = causes(&open).iter().any(|it| it.0 == Cause::ApplicationLimited);
        assert!(settled, "it no longer waits: {:?}", causes(&open));
    }
}

#[test]
fn how_far_a_server_is_may_become_known_after_its_request() {
    let asks = |packet| Some(Asks { packet, seen: at(15) });
    for (asked, arrives) in [(asks(1), 20), (asks(2), 10), (None, 10)] {
        let mut open = waiting();
        open.learn_way(asked, Nanos::from_millis(5), true);
        let State::Think(way) = open.state else { panic!("it waits") };
        assert_eq!(way.arrives, at(arrives), "{asked:?}");
    }
    let mut nearer = waiting();
    nearer.learn_way(Some(Asks { packet: 1, seen: at(1) }), Nanos::from_millis(5), true);
    let State::Think(way) = nearer.state else { panic!("it waits") };
    assert_eq!(way.arrives, at(10), "no earlier");
}

#[test]
fn copies_of_a_request_are_kept_and_given_up() {
    let mut open = waiting();
    assert!(!open.was_sent_after(at(0)), "it was sent once");
    open.sent_again(way(2, 50));
    for (millis, after) in [(10, true), (11, false)] {
        assert_eq!(open.was_sent_after(at(millis)), after, "{millis}");
    }
    open.sent_again(way(3, 80));
    let of = |open: &OpenExchange| match open.state {
        State::Think(way) => way.packet,
        _ => 0,
    };
    for (all, packet) in [(false, 2), (true, 1)] {
        let mut open = open.clone();
        assert!(open.forget_again(all));
        assert_eq!(of(&open), packet, "{all}");
    }
    assert!(!waiting().forget_again(false) && !waiting().forget_again(true));
    for number in 0..40 {
        open.sent_again(way(number, 90));
    }
    assert_eq!(open.ways.len(), 16);
    let mut request = self::open();
    request.sent_again(way(1, 5));
    assert!(request.ways.is_empty() && request.waits_for_response());
    let mut over = answered();
    over.sent_again(way(9, 200));
    assert!(over.ways.is_empty() && over.is_answered());
}

#[test]
fn a_client_has_waited_for_an_interim_response_if_its_request_goes_on() {
    for (why, open, thinks) in [
        ("it goes on", open(), true),
        ("it is over", waiting(), false),
        ("answered", answered(), false),
    ] {
        let mut open = open;
        let before = open.account.cursor();
        let mut last = departed();
        last.arrives = at(95);
        let mut interim = first();
        (interim.sent, interim.arrives) = (at(120), at(125));
        open.handle_interim(at(0), &last, &interim);
        let changed = open.account.cursor() > before;
        assert_eq!(changed, thinks, "{why}");
        assert_eq!(open.continue_settled, thinks, "{why}");
    }
    for (open, interim) in [(waiting(), 7), (open(), 0), (answered(), 0)] {
        let mut open = open;
        let habits = ServerHabits::default();
        open.think_until_interim(&first(), Asked::Known, Nanos::ZERO, habits);
        assert_eq!(open.interim, interim);
    }
}

#[test]
fn a_response_waits_behind_earlier_ones_that_end_while_it_does() {
    let mut earlier = EarlierEnd::default();
    earlier.note(at(40), 5);
    for (why, open, waits) in [
        ("its request is with the server", waiting(), true),
        ("its request goes on", open(), false),
        ("it has begun", answered(), false),
        ("they were over before", waiting().behind(&earlier), false),
    ] {
        let mut open = open;
        open.handle_earlier_end(&earlier);
        let behind = causes(&open).contains(&(Cause::HeadOfLine, 30));
        assert_eq!(behind, waits, "{why}: {:?}", causes(&open));
        let before = causes(&open);
        open.handle_earlier_end(&earlier);
        assert_eq!(causes(&open), before, "once");
    }
    // What left in the same packet delayed nothing.
    let mut two = earlier;
    two.note(at(60), 6);
    for (packet, until) in [(6, 40), (7, 60)] {
        assert_eq!(two.outside(packet).until, at(until), "{packet}");
    }
    two.note(at(70), 6);
    assert_eq!((two.outside(6).until, two.count), (at(40), 3));
}

#[test]
fn a_response_begins_behind_a_hole_only_if_that_came_after_the_request() {
    let of = |packet| {
        let mut departure = first();
        departure.packet = packet;
        Some(departure)
    };
    let packet = |open: &OpenExchange, hole, last| open.first_of(hole, last).map(|it| it.packet);
    assert_eq!(packet(&waiting(), of(2), of(9)), Some(2));
    assert_eq!(packet(&waiting(), of(1), of(9)), Some(9), "before the request");
    assert_eq!(packet(&waiting(), None, of(9)), Some(9));
    assert_eq!(packet(&open(), of(2), of(9)), Some(9), "the request goes on");
}

/// Within a millisecond, or an eighth of a round trip.
#[test]
fn a_server_is_known_to_have_a_request_if_it_acknowledged_that_at_once() {
    let late = |micros| Asked::Late(Nanos::from_micros(micros));
    for (position, micros, round_trip, asked) in [
        (99, 15_000, 0, Asked::Unheard),
        (100, 16_000, 0, Asked::Known),
        (100, 16_001, 0, late(1_001)),
        (101, 16_000, 8, Asked::Known),
        (100, 17_000, 16, Asked::Known),
        (100, 17_001, 16, late(2_001)),
    ] {
        let heard = HeardByServer { position, at: Instant::EPOCH + Nanos::from_micros(micros) };
        let (way, round_trip) = (Nanos::from_millis(5), Nanos::from_millis(round_trip));
        let found = waiting().asked(heard, way, round_trip);
        assert_eq!(found, asked, "{position} {micros} {round_trip:?}");
    }
    let nothing = HeardByServer::default();
    assert_eq!(open().asked(nothing, Nanos::ZERO, Nanos::ZERO), Asked::Known, "it goes on");
}

#[test]
fn an_acknowledgement_behind_the_request_may_have_released_the_response() {
    let released = |ack| {
        let (cause, is_sure, acknowledged) = (Cause::SlowStart, true, None);
        Some(Released { ack, cause, is_sure, acknowledged })
    };
    for (why, interim, ack, cause) in [
        ("behind it", 0, 2, Cause::SlowStart),
        ("before it", 0, 1, Cause::ServerThink),
        ("before an interim response", 3, 3, Cause::ServerThink),
        ("behind that", 3, 4, Cause::SlowStart),
    ] {
        let mut open = waiting();
        open.interim = interim;
        let mut first = first();
        first.released = released(ack);
        open.begin_response(&first, Asked::Known, Some(Nanos::ZERO), ServerHabits::default());
        assert!(causes(&open).iter().any(|it| it.0 == cause), "{why}: {:?}", causes(&open));
    }
}

#[test]
fn what_waited_in_a_queue_is_no_time_of_the_server_and_a_stall_if_it_is_long() {
    for (queued, rival) in [(40, Cause::ServerThink), (41, Cause::PathStall)] {
        let mut open = waiting();
        let mut first = first();
        first.queued = Some(Nanos::from_millis(queued));
        let round_trip = Some(Nanos::from_millis(20));
        open.begin_response(&first, Asked::Known, round_trip, ServerHabits::default());
        let queue = open.account.shares().find(|it| it.cause == Cause::Queueing).unwrap();
        assert_eq!(queue.span.as_millis(), queued.into(), "{queued}");
        assert_eq!(queue.rival, Some(rival), "{queued}");
    }
}

#[test]
fn a_response_begins_once_and_ends_in_any_case() {
    let mut open = answered();
    let mut later = first();
    later.packet = 8;
    open.begin_response(&later, Asked::Known, None, ServerHabits::default());
    assert_eq!(open.answered_in[0], 7, "the first counts");
    for open in [waiting(), answered()] {
        let mut open = open;
        let was_answered = open.is_answered();
        let mut last = first();
        (last.packet, last.seen) = (9, at(130));
        open.end_response(at(0), &last);
        assert_eq!(open.answered_in, [if was_answered { 7 } else { 9 }, 9]);
        assert_eq!(open.account.cursor(), at(130));
    }
}

#[test]
fn behind_a_hole_the_time_before_a_response_is_unknown() {
    for (hole, cause) in [(true, Cause::Unknown), (false, Cause::ServerThink)] {
        let mut open = waiting();
        if hole {
            open.fall_into_hole();
        }
        assert_eq!(open.is_in_hole(), hole);
        open.begin_response(&first(), Asked::Known, Some(Nanos::ZERO), ServerHabits::default());
        assert!(causes(&open).contains(&(cause, 80)), "{hole}: {:?}", causes(&open));
    }
}

#[test]
fn an_exchange_that_is_left_alone_waited_for_whoever_was_next() {
    use Cause::{ApplicationLimited, PathStall, Propagation, ServerThink, Unknown};
    let guess = || OpenExchange { exact: false, ..open() };
    let closed = AbruptEnd { closed: Some(at(60)), ..AbruptEnd::default() };
    let asked = AbruptEnd { asked: Some(way(1, 20)), ..AbruptEnd::default() };
    let given_up = AbruptEnd { given_up: true, ..asked };
    let last = AbruptEnd { last: Some(way(8, 110)), ..AbruptEnd::default() };
    let mut hole = waiting();
    hole.fall_into_hole();
    for (why, open, end, found) in [
        ("it asks", open(), AbruptEnd::default(), (ApplicationLimited, 200, Some(PathStall))),
        ("the server closes", open(), closed, (ApplicationLimited, 200, None)),
        ("perhaps it has asked", guess(), asked, (Unknown, 180, None)),
        ("and gave up", guess(), given_up, (ServerThink, 180, Some(ApplicationLimited))),
        ("it has asked", open(), asked, (ApplicationLimited, 200, Some(PathStall))),
        ("it waits", waiting(), AbruptEnd::default(), (ServerThink, 190, Some(PathStall))),
        ("until the server closes", waiting(), closed, (ServerThink, 50, None)),
        ("behind a hole", hole, closed, (Unknown, 190, None)),
        (
            "it is answered",
            answered(),
            AbruptEnd::default(),
            (ApplicationLimited, 110, Some(PathStall)),
        ),
        ("and the last is on its way", answered(), last, (ApplicationLimited, 90, Some(PathStall))),
    ] {
        let mut open = open;
        open.abandon(&end, at(200));
        let share = open.account.shares().find(|it| it.cause == found.0).unwrap();
        assert_eq!((share.cause, share.span.as_millis(), share.rival), found, "{why}");
        let way: u128 = causes(&open).iter().filter(|it| it.0 == Propagation).map(|it| it.1).sum();
        assert_eq!(way >= 140, end.closed.is_some() && found.0 == ServerThink, "{why}: {way}");
        assert_eq!(open.account.cursor(), at(200));
    }
}

/// Its time is divided by the round trip that was known when the response began, however short later ones are.
#[test]
fn an_exchange_keeps_the_round_trip_that_divided_it() {
    for (known, at_its_end, kept) in [(200, 15, 200), (15, 200, 200), (15, 15, 15)] {
        let mut open = waiting();
        let known = Some(Nanos::from_millis(known));
        open.begin_response(&first(), Asked::Known, known, ServerHabits::default());
        let later = Some(Nanos::from_millis(1));
        open.begin_response(&first(), Asked::Known, later, ServerHabits::default());
        let result = Box::new(open).into_result(0, true, Nanos::from_millis(at_its_end));
        assert_eq!(result.round_trip.as_millis(), kept);
    }
}

#[test]
fn what_only_turns_show_is_less_sure() {
    let result = |change: fn(&mut OpenExchange)| {
        let mut open = open();
        change(&mut open);
        let direction = open_direction(&open);
        let verdict =
            |cause| OpenExchange::verdict(Rule::Written, cause, direction, Evidence::default());
        open.account.add(at(10), verdict(Cause::ApplicationLimited));
        open.account.add(at(20), verdict(Cause::Transmission));
        let result = Box::new(open).into_result(0, true, Nanos::ZERO);
        let mut found: Vec<_> = result.shares.iter().map(|it| (it.confidence, it.doubt)).collect();
        found.sort_unstable_by_key(|it| it.0);
        found
    };
    fn open_direction(open: &OpenExchange) -> Direction {
        if open.stream == 7 { Direction::ToClient } else { Direction::ToServer }
    }
    let doubt = Some(Rule::RequestEnd);
    let high = (Confidence::High, None);
    assert_eq!(result(|_| ()), [high, high]);
    let guess = result(|it| it.request_exact = false);
    assert_eq!(guess, [(Confidence::Low, doubt), high]);
    let answer = result(|it| (it.request_exact, it.stream) = (false, 7));
    assert_eq!(answer, [high, high], "the server's pause is none of the request");
    let several = result(|it| it.may_be_several = true);
    assert_eq!(several, [(Confidence::Medium, doubt); 2]);
}
