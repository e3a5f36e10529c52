//! What a connection says of itself, by what is known of it: each condition once not met.

use ackwise_cause::{ConnectOutcome, Outcome};
use ackwise_tcp::Flags;

use super::*;
use crate::{
    attribution::{
        Account,
        gap::tests::{HELD, at},
        sender::tests::departed,
    },
    closing::TimeWaitRule,
    conversation::{Event, ExchangeId, RequestHead, TlsEnd},
};

const NONE: Segment = Segment {
    seq: SeqNumber(0),
    ack: None,
    flags: Flags::NONE,
    window: 0,
    options: ackwise_tcp::Options::NONE,
    time_wait_holder: None,
    len: 0,
};

/// A connection of which both SYNs were seen, 1,000 bytes of the client, and 2,000 of the server, half of them
/// acknowledged.
fn connection() -> ObservedConnection {
    let mut it = ObservedConnection::default();
    it.protocol = Some(Protocol::Http1);
    it.work.grant(1 << 20, 0, &mut Results::default().reserve, 1);
    for (half, seen) in it.ends.halves.iter_mut().zip([1_000, 2_000]) {
        half.stream.place(&Segment { flags: Flags::SYN, ..NONE });
        half.stream.see(&(0..seen), at(1));
        half.stream.acknowledge(&Segment { ack: Some(SeqNumber(1_001)), ..NONE }, None);
        half.packets = 2;
    }
    it
}

fn exchange(number: u32) -> OpenExchange {
    OpenExchange::new(ExchangeId(number), 0, Account::new(at(0)), 0)
}

fn head(method: &str, path: &str, end: Option<u64>) -> Option<Box<RequestHead>> {
    Some(Box::new(RequestHead {
        method: Some(method.into()),
        path: Some(path.into()),
        has_query: false,
        trace: None,
        end,
        expects_continue: false,
        wants_close: false,
        grpc: None,
    }))
}

/// It has its request, and waits.
fn waiting(number: u32) -> OpenExchange {
    let mut open = exchange(number);
    open.head = head("GET", "/", Some(90));
    open.request = [0, 100];
    open.request_sent(departed().way(at(0)));
    open
}

#[test]
fn another_syn_begins_another_connection_if_it_has_another_number_or_this_one_closes() {
    let syn = |seq, ack: Option<u32>| Segment {
        seq: SeqNumber(seq),
        ack: ack.map(SeqNumber),
        flags: Flags::SYN,
        ..NONE
    };
    for (why, segment, closes, reused) in [
        ("the same", syn(7, None), false, false),
        ("another", syn(8, None), false, true),
        ("the same, while it closes", syn(7, None), true, true),
        ("an answer", syn(8, Some(1)), true, false),
        ("no SYN", Segment { seq: SeqNumber(8), ..NONE }, true, false),
    ] {
        let mut it = connection();
        it.initial = Some(SeqNumber(7));
        it.ends.reset = closes;
        assert_eq!(it.is_reused_by(&segment), reused, "{why}");
    }
    let mut unknown = connection();
    assert!(!unknown.is_reused_by(&syn(8, None)), "its own was not seen");
    unknown.ends.reset = true;
    assert!(unknown.is_reused_by(&syn(8, None)));
}

#[test]
fn a_client_leaves_a_response_unread_that_it_resets_after_its_fin() {
    type Change = fn(&mut ObservedConnection);
    let base = || {
        let mut it = connection();
        let fin = Segment { seq: SeqNumber(1_001), flags: Flags::FIN, ..NONE };
        it.ends.handle_fin(&fin, Direction::ToServer, 5, at(5));
        (it.ends.reset, it.closed_first) = (true, Some(Party::Client));
        it.answered_from = 1_000;
        it
    };
    let rows: &[(&str, Change, bool)] = &[
        ("it closes, and resets", |_| (), true),
        ("it has read some", |it| it.answered_from = 999, false),
        ("it does not reset", |it| it.ends.reset = false, false),
        ("the server closes first", |it| it.closed_first = Some(Party::Server), false),
        (
            "all is acknowledged",
            |it| {
                it.answered_from = 2_000;
                let ack = Segment { ack: Some(SeqNumber(2_001)), ..NONE };
                it.ends.halves[1].stream.acknowledge(&ack, None);
            },
            false,
        ),
    ];
    for (why, change, unread) in rows {
        let mut it = base();
        change(&mut it);
        assert_eq!(it.leaves_unread(), *unread, "{why}");
    }
    let mut open = connection();
    (open.ends.reset, open.closed_first, open.answered_from) = (true, Some(Party::Client), 1_000);
    assert!(!open.leaves_unread(), "it has not closed");
}

#[test]
fn an_attempt_to_connect_ends_with_tls_if_the_capture_has_all_of_it() {
    use ConnectOutcome::{TlsUnfinished, Unanswered};
    let attempt = |change: fn(&mut ObservedConnection), tls| {
        let mut it = connection();
        it.closed_first = Some(Party::Client);
        change(&mut it);
        it.connect(tls)
    };
    let unfinished = Some(TlsEnd::Unfinished);
    assert_eq!(attempt(|_| (), unfinished), Some(TlsUnfinished));
    assert_eq!(attempt(|it| it.exchanges = 1, unfinished), None);
    assert_eq!(attempt(|it| it.cut[0] = 1, unfinished), None);
    assert_eq!(attempt(|it| it.ends.halves[1].packets = 0, unfinished), Some(Unanswered));
    assert_eq!(attempt(|it| it.closed_first = None, unfinished), None);
    let syns: fn(&mut ObservedConnection) = |it| {
        it.ends = Ends::default();
        it.ends.halves[0].stream.place(&Segment { flags: Flags::SYN, ..NONE });
        it.ends.halves[0].packets = 2;
    };
    for tls in [None, Some(TlsEnd::Done), unfinished] {
        assert_eq!(attempt(syns, tls), Some(Unanswered), "what is missing may have ended it");
    }
}

#[test]
fn who_holds_time_wait_is_known_if_both_closed_in_order() {
    let held = |first: Option<Party>, in_order| {
        let mut it = connection();
        it.closed_first = first;
        it.holds_time_wait(in_order).map(|it| it.1)
    };
    assert!(held(Some(Party::Client), true).is_some());
    assert_eq!(held(Some(Party::Client), false), None);
    assert_eq!(held(None, true), None);
    assert_ne!(held(Some(Party::Client), true), Some(TimeWaitRule::Negotiated));
}

#[test]
fn only_the_last_of_a_lone_response_lingers_and_only_before_its_client() {
    type Change = fn(&mut ObservedConnection);
    let base = || {
        let mut it = connection();
        it.ends.distances.sample(Direction::ToServer, Nanos::from_micros(100));
        it.ends.distances.sample(Direction::ToClient, Nanos::from_millis(20));
        let data = Segment { seq: SeqNumber(2_001), ack: Some(SeqNumber(1_001)), len: 10, ..NONE };
        it.ends.handle_data(&data, Direction::ToClient, at(3), 3).unwrap();
        it
    };
    let rows: &[(&str, Change, u32, bool)] = &[
        ("at the server", |_| (), 0, true),
        ("of a stream", |_| (), 1, false),
        ("another is open", |it| it.open.push(waiting(1)), 0, false),
        (
            "all is acknowledged",
            |it| {
                let ack = Segment { ack: Some(SeqNumber(2_011)), ..NONE };
                it.ends.halves[1].stream.acknowledge(&ack, None);
            },
            0,
            false,
        ),
        (
            "at the client",
            |it| {
                it.ends.distances = Default::default();
                it.ends.distances.sample(Direction::ToServer, Nanos::from_millis(20));
                it.ends.distances.sample(Direction::ToClient, Nanos::from_micros(100));
            },
            0,
            false,
        ),
    ];
    for (why, change, stream, may) in rows {
        let mut it = base();
        change(&mut it);
        let mut open = exchange(0);
        open.stream = *stream;
        assert_eq!(it.may_be_lost(&open).is_some(), *may, "{why}");
    }
}

#[test]
fn how_an_exchange_ended_is_told_where_the_capture_has_it_all() {
    use crate::outcome::CloseOrder::{Crossed, Ignored};
    type Change = fn(&mut ObservedConnection, &mut OpenExchange);
    let ending = |change: Change| {
        let mut it = connection();
        it.ends_now = Some((Some(Party::Server), true));
        let mut open = waiting(0);
        change(&mut it, &mut open);
        it.ending(&open).map(|it| (it.outcome, it.close))
    };
    let fin: Change = |it, open| {
        let fin = Segment { seq: SeqNumber(2_001), flags: Flags::FIN, ..NONE };
        it.ends.handle_fin(&fin, Direction::ToClient, 5, at(5));
        (it.server_closed, open.acks) = (Some((at(5), 0)), Some(0));
    };
    let reset = Some((Outcome::Reset, None));
    let rows: &[(&str, Change, Option<(Outcome, Option<crate::outcome::CloseOrder>)>)] = &[
        ("reset", |_, _| (), reset),
        ("it goes on", |it, _| it.ends_now = None, None),
        ("no head", |_, open| open.head = None, None),
        ("of another protocol", |it, _| it.protocol = Some(Protocol::Tls), None),
        ("of HTTP/2", |it, _| it.protocol = Some(Protocol::Http2), reset),
        ("behind a hole", |_, open| open.fall_into_hole(), None),
        ("one direction", |it, _| it.ends.halves[0].packets = 0, None),
        ("the time was not looked at", |it, _| _ = it.work.spend(usize::MAX), None),
        ("only turns show it", |_, open| open.exact = false, reset),
        (
            "only turns show the response",
            |it, open| {
                open.exact = false;
                let first = departed();
                open.begin_response(&first, Asked::Known, None, it.habits);
            },
            None,
        ),
        (
            "framing does",
            |it, open| {
                let first = departed();
                open.begin_response(&first, Asked::Known, None, it.habits);
            },
            Some((Outcome::Truncated, None)),
        ),
        ("the FIN crosses it", fin, Some((Outcome::ClosedUnanswered, Some(Crossed)))),
    ];
    for (why, change, expected) in rows {
        assert_eq!(ending(*change), *expected, "{why}");
    }
    // Where the client's stream stands in the FIN's acknowledgement, and where its request acknowledges.
    for (heard, acks, close) in [
        (0, 2_000, Some(Crossed)),
        (1, 2_000, None),
        (1, 2_001, Some(Ignored)),
        (0, 2_001, Some(Ignored)),
    ] {
        let mut it = connection();
        it.ends_now = Some((Some(Party::Server), false));
        let mut open = waiting(0);
        fin(&mut it, &mut open);
        (it.server_closed, open.acks) = (Some((at(5), heard)), Some(acks));
        assert_eq!(it.ending(&open).unwrap().close, close, "{heard} {acks}");
    }
    // A request that the capture cut is taken for whole.
    for (end, outcome) in [(None, Outcome::Reset), (Some(90), Outcome::CutOff)] {
        let mut it = connection();
        it.ends_now = Some((Some(Party::Server), true));
        let mut open = exchange(0);
        open.head = head("GET", "/", end);
        assert_eq!(it.ending(&open).unwrap().outcome, outcome, "{end:?}");
    }
}

#[test]
fn a_client_gives_up_that_resets_first_what_was_heard() {
    type Change = fn(&mut ObservedConnection);
    let rows: &[(&str, Change, bool)] = &[
        ("it resets", |_| (), true),
        ("it closes", |it| it.ends.reset = false, false),
        ("the server does", |it| it.closed_first = Some(Party::Server), false),
        ("not all was heard", |it| _ = it.ends.halves[0].stream.see(&(1_000..1_001), at(2)), false),
    ];
    for (why, change, given_up) in rows {
        let mut it = connection();
        (it.ends.reset, it.closed_first) = (true, Some(Party::Client));
        change(&mut it);
        assert_eq!(it.abrupt_end().given_up, *given_up, "{why}");
    }
}

#[test]
fn a_client_close_is_no_exchange_that_fails() {
    for (method, path, waits, exchanges) in [
        ("CLIENT_CLOSE", "*", true, 0),
        ("CLIENT_CLOSE", "*", false, 1),
        ("CLIENT_CLOSE", "/", true, 1),
        ("GET", "*", true, 1),
    ] {
        let mut it = connection();
        it.exchanges = 1;
        let mut open = if waits { waiting(0) } else { exchange(0) };
        open.head = head(method, path, Some(9));
        let mut results = Results::default();
        it.exchange_abandoned(Box::new(open), &mut results);
        assert_eq!(it.exchanges, exchanges, "{method} {path} {waits}");
        assert_eq!(results.exchanges().len(), exchanges as usize);
    }
}

#[test]
fn an_exchange_is_answered_early_only_over_http_1() {
    use Outcome::{Answered, AnsweredEarly};
    let over = |protocol, early: bool, exact, request_exact, complete| {
        let mut it = connection();
        it.protocol = protocol;
        let mut open = if early { exchange(0) } else { waiting(0) };
        open.begin_response(&departed(), Asked::Known, None, it.habits);
        (open.exact, open.request_exact) = (exact, request_exact);
        let mut results = Results::default();
        it.exchange_over(Box::new(open), complete, &mut results);
        results.exchanges()[0].ending.map(|it| it.outcome)
    };
    let [http1, http2] = [Protocol::Http1, Protocol::Http2].map(Some);
    assert_eq!(over(http1, false, true, true, true), Some(Answered));
    assert_eq!(over(http1, true, true, true, true), Some(AnsweredEarly));
    assert_eq!(over(http2, true, true, true, true), Some(Answered));
    assert_eq!(over(Some(Protocol::Tls), false, true, true, true), None);
    assert_eq!(over(http1, false, true, true, false), None, "not complete");
    assert_eq!(over(http1, false, false, true, true), None, "only turns show its end");
    assert_eq!(over(http1, true, false, true, true), Some(AnsweredEarly));
    assert_eq!(over(http1, true, false, false, true), None);
}

#[test]
fn a_request_had_arrived_whose_answer_or_acknowledgement_was_lost() {
    use Resolution::{AckLost, AnswerLost, Confirmed, Spurious};
    // At the server or at the client; when the last copy arrived there; whether anything waits.
    let arrived = |near: bool, resolution, direction, sent: u64, waits: bool| {
        let mut it = connection();
        let [to_server, to_client] = if near { [100, 20_000] } else { [20_000, 100] };
        it.ends.distances.sample(Direction::ToServer, Nanos::from_micros(to_server));
        it.ends.distances.sample(Direction::ToClient, Nanos::from_micros(to_client));
        let mut open = if waits { waiting(0) } else { exchange(0) };
        if waits {
            let mut copy = departed();
            copy.arrives = at(sent);
            open.request_sent(copy.way(at(0)));
            copy.packet = 2;
            open.sent_again(copy.way(at(0)));
        }
        it.open.push(open);
        it.unsettled[0].put_off(&HELD, true);
        let found = it.arrived_before(direction, resolution, at(500));
        assert_eq!(it.unsettled[0].is_empty(), found, "what had arrived waits for nothing");
        found
    };
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    for (near, resolution, direction, sent, waits, found) in [
        (true, AnswerLost, to_server, 0, true, true),
        (false, AnswerLost, to_server, 0, true, true),
        (true, AckLost, to_server, 0, true, true),
        // A round trip of 20.1 ms, and 50 in which it would have been acknowledged.
        (false, AckLost, to_server, 430, true, true),
        (false, AckLost, to_server, 429, true, false),
        (true, Spurious, to_server, 0, true, true),
        (false, Spurious, to_server, 0, true, false),
        (true, Confirmed, to_server, 0, true, false),
        (true, AnswerLost, to_client, 0, true, false),
        (true, AnswerLost, to_server, 0, false, false),
    ] {
        let why = format!("{near} {resolution:?} {direction:?} {sent} {waits}");
        assert_eq!(arrived(near, resolution, direction, sent, waits), found, "{why}");
    }
}

#[test]
fn clocks_that_go_back_by_more_than_a_millisecond_are_counted() {
    for (micros, steps) in [(1_000, 0), (1_001, 1)] {
        let mut it = connection();
        it.last_seen = at(10);
        let seen = Packet {
            number: 3,
            at: at(10) - Nanos::from_micros(micros),
            segment: &Segment { seq: SeqNumber(1_001), ..NONE },
            payload: &[],
            identification: 0,
            hop_limit: 64,
            interface: 0,
        };
        it.judge(&seen, Direction::ToServer, &mut Results::default());
        assert_eq!((it.clock_steps, it.last_seen), (steps, at(10)), "{micros}");
    }
}

#[test]
fn gaps_are_put_off_from_several_exchanges_on_up_to_a_bound() {
    for (open, gaps, deferred) in [(3, 1, 0), (4, 1, 1), (4, 31, 31), (4, 32, 0), (4, 33, 1)] {
        let mut it = connection();
        (0..open).for_each(|number| it.open.push(waiting(number)));
        (0..gaps).for_each(|_| it.divide(&HELD, Direction::ToClient));
        assert_eq!(it.deferred.len(), deferred, "{open} {gaps}");
        it.catch_up();
        assert!(it.deferred.is_empty() && it.open.iter().all(|it| it.taken == 0));
    }
    let mut spent = connection();
    spent.work.spend(usize::MAX);
    (0..4).for_each(|number| spent.open.push(waiting(number)));
    spent.divide(&HELD, Direction::ToClient);
    assert!(spent.deferred.is_empty());
}

/// A response is under way.
fn answered(number: u32) -> OpenExchange {
    let mut open = waiting(number);
    open.begin_response(&departed(), Asked::Known, None, ServerHabits::default());
    open
}

#[test]
fn a_gap_waits_for_what_later_packets_may_show_of_it() {
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    let late = Gap { stall: Stall::OrTimeout, ..HELD };
    let hole = Gap { missing: Missing::Earlier, ..HELD };
    for (why, gap, direction, new, waits) in [
        ("nothing is to come", HELD, to_client, true, false),
        ("sent again", HELD, to_client, false, true),
        ("a request sent again", HELD, to_server, false, true),
        ("late", late, to_client, true, true),
        ("behind a hole", hole, to_client, true, true),
        ("stalled, for sure", Gap { stall: Stall::Shown, ..HELD }, to_client, true, false),
    ] {
        let mut it = connection();
        it.open.push(answered(0));
        it.settle(&gap, direction, new);
        assert_eq!(it.unsettled[direction as usize].len(), usize::from(waits), "{why}");
        let divided = it.open.front().unwrap().account.cursor() > at(30);
        assert_eq!(divided, !waits, "{why}");
    }
    // What waits is divided before what does not.
    let mut it = connection();
    it.open.push(answered(0));
    it.settle(&HELD, to_client, false);
    it.settle(&Gap { until: at(90), ..HELD }, to_client, true);
    assert!(it.unsettled[1].is_empty());
    // Nothing is looked at any more.
    let mut spent = connection();
    spent.open.push(answered(0));
    spent.work.spend(usize::MAX);
    spent.settle(&late, to_client, true);
    spent.settle(&HELD, to_client, true);
    assert!(spent.unsettled[1].is_empty());
    assert!(spent.open.front().unwrap().account.cursor() < at(30));
    // There is no room for more.
    let mut full = connection();
    full.open.push(answered(0));
    while full.unsettled[1].put_off(&hole, false) {}
    full.settle(&hole, to_client, true);
    assert!(full.unsettled[1].is_empty());
}

#[test]
fn what_is_sent_again_of_a_response_that_lingers_is_that_ones() {
    for (direction, new, lingers) in [
        (Direction::ToClient, false, true),
        (Direction::ToClient, true, false),
        (Direction::ToServer, false, false),
    ] {
        let mut it = connection();
        let data = Segment { seq: SeqNumber(2_001), ack: Some(SeqNumber(1_001)), len: 10, ..NONE };
        it.ends.handle_data(&data, Direction::ToClient, at(3), 3).unwrap();
        let sent = (departed(), at(0));
        it.lingering = Some(Box::new(Lingering::new(Box::new(answered(0)), 2_010, sent)));
        let before = format!("{:?}", it.lingering);
        it.settle(&HELD, direction, new);
        assert_eq!(format!("{:?}", it.lingering) != before, lingers, "{direction:?} {new}");
        let waits = !new && !lingers;
        assert_eq!(it.unsettled[direction as usize].len(), usize::from(waits));
    }
}

#[test]
fn the_begin_of_a_response_is_in_doubt_where_the_capture_lacks_it() {
    for (open, doubted) in [(waiting(0), true), (answered(0), false), (exchange(0), false)] {
        let mut it = connection();
        it.open.push(open);
        it.doubt_response_begin();
        assert_eq!(it.open.front().unwrap().is_in_hole(), doubted);
    }
    // What came behind a hole was its begin, or not.
    for (open, direction, behind, begins) in [
        (waiting(0), Direction::ToClient, true, true),
        (waiting(0), Direction::ToServer, true, false),
        (waiting(0), Direction::ToClient, false, false),
        (exchange(0), Direction::ToClient, true, false),
    ] {
        let mut it = connection();
        it.open.push(open);
        it.behind_hole = behind.then(|| Box::new(departed()));
        it.divide_unsettled(direction);
        assert_eq!(it.open.front().unwrap().is_answered(), begins, "{direction:?} {behind}");
        assert_eq!(it.behind_hole.is_some(), behind && direction == Direction::ToServer);
    }
}

#[test]
fn only_requests_that_wait_are_sent_again() {
    let mut it = connection();
    let data = Segment { seq: SeqNumber(1_001), ack: Some(SeqNumber(1_001)), len: 10, ..NONE };
    it.ends.handle_data(&data, Direction::ToServer, at(3), 3).unwrap();
    [answered(0), waiting(1), exchange(2)].into_iter().for_each(|open| it.open.push(open));
    it.request_sent_again();
    let found: Vec<_> =
        it.open.iter().map(|it| (it.waits_for_response(), it.was_sent_after(at(0)))).collect();
    assert_eq!(found, [(false, false), (true, true), (false, false)]);
    assert!(it.held_beside > 0);
    let mut spent = connection();
    spent.work.spend(usize::MAX);
    spent.open.push(waiting(0));
    spent.request_sent_again();
    assert!(!spent.open.front().unwrap().was_sent_after(at(0)));
}

/// A segment with data, as it is seen at 20 ms.
fn see(it: &mut ObservedConnection, direction: Direction, seq: u32, payload: &[u8]) {
    let len = u32::try_from(payload.len()).unwrap();
    let segment = Segment { seq: SeqNumber(seq), ack: Some(SeqNumber(1)), len, ..NONE };
    let (number, interface, identification, hop_limit) = (20, 0, 0, 64);
    let seen = Packet {
        number,
        at: at(20),
        interface,
        identification,
        hop_limit,
        segment: &segment,
        payload,
    };
    it.handle_data(&seen, direction, [at(10), at(20)], &mut Results::default());
}

#[test]
fn data_behind_a_hole_is_remembered_if_it_is_the_servers() {
    for (direction, seq, behind) in [
        (Direction::ToClient, 2_101, true),
        (Direction::ToClient, 2_001, false),
        (Direction::ToServer, 1_101, false),
    ] {
        let mut it = connection();
        see(&mut it, direction, seq, b"x");
        assert_eq!(it.behind_hole.is_some(), behind, "{direction:?} {seq}");
    }
    let mut it = connection();
    see(&mut it, Direction::ToClient, 2_101, b"x");
    see(&mut it, Direction::ToClient, 2_301, b"x");
    let first = it.ends.half(Direction::ToClient).sender.last().unwrap().packet;
    assert_eq!(it.behind_hole.unwrap().packet, first, "the first of it");
}

#[test]
fn when_a_server_answers_what_was_sent_again_of_the_request_has_arrived() {
    for (direction, seq, again, arrived) in [
        (Direction::ToClient, 2_001, true, true),
        (Direction::ToClient, 1_501, true, false),
        (Direction::ToClient, 2_001, false, false),
        (Direction::ToServer, 1_001, true, false),
    ] {
        let mut it = connection();
        // It waits behind a hole, so that nothing else decides it.
        it.unsettled[0].put_off(&Gap { missing: Missing::Earlier, ..HELD }, again);
        let before = it.unsettled[0].len();
        see(&mut it, direction, seq, b"xx");
        let waits = it.unsettled[0].len() >= before;
        assert_eq!(waits, !arrived, "{direction:?} {seq} {again}");
    }
}

#[test]
fn a_request_is_sent_again_by_its_own_data() {
    for (direction, seq, again) in [
        (Direction::ToServer, 901, false),
        (Direction::ToServer, 1_001, false),
        (Direction::ToClient, 1_501, false),
    ] {
        let mut it = connection();
        it.open.push(waiting(0));
        see(&mut it, direction, seq, b"xx");
        assert_eq!(it.open.front().unwrap().was_sent_after(at(0)), again, "{direction:?} {seq}");
    }
    let mut it = connection();
    it.open.push(waiting(0));
    it.ends.halves[0].stream.see(&(1_000..1_500), at(2));
    see(&mut it, Direction::ToServer, 1_001, b"xx");
    assert!(it.open.front().unwrap().was_sent_after(at(0)), "not acknowledged");
}

#[test]
fn time_wait_is_handed_over_by_the_end_that_closed_second() {
    for (first, from) in [(Party::Client, Party::Server), (Party::Server, Party::Client)] {
        let mut it = connection();
        it.server = SocketAddr::from(([1; 4], 1));
        for (direction, seq) in [(Direction::ToServer, 1_001), (Direction::ToClient, 2_001)] {
            let fin = Segment { seq: SeqNumber(seq), flags: Flags::FIN, ..NONE };
            it.ends.handle_fin(&fin, direction, 5, at(5));
        }
        assert!(it.swap().is_none(), "nobody knows who closed first");
        it.closed_first = Some(first);
        assert_eq!(it.swap().unwrap().from, it.end(from), "{first:?}");
    }
}

#[test]
fn a_packet_that_was_cut_or_closes_is_noted() {
    for (direction, flags, closes) in [
        (Direction::ToClient, Flags::FIN, true),
        (Direction::ToClient, Flags::RST, true),
        (Direction::ToClient, Flags::PSH, false),
        (Direction::ToServer, Flags::FIN, false),
    ] {
        let mut it = connection();
        let seq = SeqNumber(if direction == Direction::ToClient { 2_001 } else { 1_001 });
        let segment = Segment { seq, ack: Some(SeqNumber(1)), flags, len: 3, ..NONE };
        let seen = Packet {
            number: 9,
            at: at(20),
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &segment,
            payload: b"xxx",
        };
        it.judge(&seen, direction, &mut Results::default());
        assert_eq!((it.closed_at.is_some(), it.cut), (closes, [0; 2]), "{direction:?} {flags:?}");
        it.judge(&Packet { payload: b"xx", ..seen }, direction, &mut Results::default());
        assert_eq!(it.cut[direction as usize], 1);
    }
}

fn tell(it: &mut ObservedConnection, event: Event) -> Results {
    let mut results = Results::default();
    it.handle_event(event, at(60), 9, &mut results);
    results
}

const FIRST: ExchangeId = ExchangeId(0);

#[test]
fn an_exchange_is_exact_if_both_of_its_messages_are_and_known_where_the_capture_has_them() {
    for (end_exact, begin_exact) in [(true, true), (false, true), (true, false)] {
        let mut it = connection();
        it.open.push(exchange(0));
        let (exchange, position) = (FIRST, 1_000);
        tell(&mut it, Event::RequestEnds { exchange, position, exact: end_exact });
        let open = it.open.front().unwrap();
        assert_eq!((open.exact, open.request_exact), (end_exact, end_exact));
        tell(&mut it, Event::ResponseBegins { exchange, position, exact: begin_exact });
        let open = it.open.front().unwrap();
        assert_eq!((open.exact, open.request_exact), (end_exact && begin_exact, end_exact));
        assert!(!open.is_in_hole());
    }
    // The byte at 1,200 of either stream was delivered and not captured.
    let hole = |direction: Direction| {
        let mut it = connection();
        let half = &mut it.ends.halves[direction as usize];
        let highest = half.stream.highest();
        half.stream.see(&(highest + 500..highest + 600), at(2));
        let all = u32::try_from(highest).unwrap() + 601;
        half.stream.acknowledge(&Segment { ack: Some(SeqNumber(all)), ..NONE }, None);
        it.open.push(waiting(0));
        (it, highest)
    };
    for (behind, in_hole) in [(0, false), (1, true), (500, true), (501, false)] {
        let (mut it, highest) = hole(Direction::ToServer);
        let position = highest + behind;
        tell(&mut it, Event::RequestEnds { exchange: FIRST, position, exact: true });
        assert_eq!(it.open.front().unwrap().is_in_hole(), in_hole, "request {behind}");
    }
    for (behind, in_hole) in [(0, true), (499, true), (500, false)] {
        let (mut it, highest) = hole(Direction::ToClient);
        let position = highest + behind;
        tell(&mut it, Event::ResponseBegins { exchange: FIRST, position, exact: true });
        assert_eq!(it.open.front().unwrap().is_in_hole(), in_hole, "response {behind}");
    }
}

#[test]
fn when_a_first_message_ended_is_known_if_nothing_before_it_may_be_sent_again() {
    for (waits, sent, known) in [(false, true, true), (true, true, false), (false, false, false)] {
        let mut it = connection();
        it.open.push(answered(0));
        if sent {
            see(&mut it, Direction::ToClient, 2_001, b"xx");
        }
        if waits {
            it.unsettled[1].put_off(&HELD, true);
        }
        tell(&mut it, Event::FirstMessage { exchange: FIRST, position: 2_002 });
        let open = it.open.front().unwrap();
        assert_eq!(open.first_message.is_some(), known, "{waits} {sent}");
        assert_eq!(it.held_beside > 0, known);
    }
}

#[test]
fn the_setup_is_waited_for_by_the_first_exchange_and_a_packet_says_what_its_client_had_heard() {
    for (before, undecided) in [(0, false), (1, false), (0, true)] {
        let mut it = connection();
        it.exchanges = before;
        see(&mut it, Direction::ToServer, 1_001, b"GET");
        if undecided {
            // It was seen before the packet that decides it.
            it.note_undecided(Direction::ToServer, 1_000..1_003);
        }
        let (exchange, stream, position) = (FIRST, 0, 1_000);
        tell(&mut it, Event::RequestBegins { exchange, stream, position, exact: true });
        let open = it.open.front().unwrap();
        assert_eq!(it.exchanges, before + 1);
        let acked = it.ends.half(Direction::ToClient).stream.acked();
        assert_eq!(open.acks, (!undecided).then_some(acked), "{before} {undecided}");
        assert_eq!(open.first_packet, if undecided { 20 } else { 9 });
    }
    let mut spent = connection();
    spent.work.spend(usize::MAX);
    let (exchange, stream, position) = (FIRST, 0, 1_000);
    let mut results = Results::default();
    results.reserve = Default::default();
    let event = Event::RequestBegins { exchange, stream, position, exact: true };
    spent.handle_event(event, at(60), 9, &mut results);
    assert!(spent.open.is_empty(), "there is no time for it");
}

#[test]
fn a_response_that_ends_is_over_or_lingers_and_others_wait_behind_it() {
    let ended = |stream, exact, ends_now, position: u64| {
        let mut it = connection();
        it.ends_now = ends_now;
        let mut open = answered(0);
        open.stream = stream;
        it.open.push(open);
        see(&mut it, Direction::ToClient, 2_001, b"xx");
        let event = Event::ResponseEnds { exchange: FIRST, position, exact };
        let results = tell(&mut it, event);
        let found = &results.exchanges()[0];
        (it.earlier_end.count, found.exact, found.complete, found.bytes[1])
    };
    let [server, client] = [Party::Server, Party::Client].map(|it| Some((Some(it), false)));
    assert_eq!(ended(0, true, None, 2_002), (1, true, true, 2_002));
    assert_eq!(ended(3, true, None, 2_002).0, 0, "streams do not wait for each other");
    assert!(!ended(0, false, None, 2_002).1);
    // RFC 9112, section 6.3: a body without a length ends with the FIN.
    assert_eq!(ended(0, true, server, 2_002).0, 0);
    assert_eq!(ended(0, false, server, 2_002).0, 1);
    assert_eq!(ended(0, true, client, 2_002).0, 1);
    assert_eq!(ended(0, true, Some((Some(Party::Server), true)), 2_002).0, 1, "an RST");
}

#[test]
fn an_exchange_of_a_stream_that_is_reset_ends_with_it_where_all_of_it_was_captured() {
    let ended = |change: fn(&mut ObservedConnection)| {
        let mut it = connection();
        it.protocol = Some(Protocol::Http2);
        it.open.push(waiting(0));
        change(&mut it);
        let (by, code) = (Party::Server, Some(8));
        let end = crate::conversation::StreamEnd { by, code, is_unprocessed: false };
        let event = Event::Abandoned { exchange: FIRST, stream: Some(end) };
        tell(&mut it, event).exchanges()[0].ending.is_some()
    };
    assert!(ended(|_| ()));
    assert!(!ended(|it| it.ends.halves[0].packets = 0));
    assert!(!ended(|it| it.protocol = Some(Protocol::Tls)));
    let mut it = connection();
    it.open.push(waiting(0));
    it.exchanges = 1;
    let results = tell(&mut it, Event::Unjudged { exchange: FIRST });
    assert!(results.exchanges().is_empty() && it.exchanges == 0);
    it.exchanges = 1;
    tell(&mut it, Event::Unjudged { exchange: FIRST });
    assert_eq!(it.exchanges, 1, "it is none of its exchanges");
}
