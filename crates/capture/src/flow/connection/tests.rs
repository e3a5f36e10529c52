//! What a connection says of itself, by what is known of it: each condition once not met.

mod packets;

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
    let mut it =
        ObservedConnection { protocol: Some(Protocol::Http1), ..ObservedConnection::default() };
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

/// The end that relies on the other answers what comes late with an RST, so that the connection does not end in order.
#[test]
fn time_wait_that_both_agreed_on_is_held_once_both_have_closed() {
    use ackwise_tcp::TimeWaitHolder::{Mine, Yours};
    let (to_server, to_client) = (Direction::ToServer, Direction::ToClient);
    let held = |agreed: bool, closed: &[Direction]| {
        let mut it = connection();
        it.closed_first = Some(Party::Server);
        for (direction, holder) in [(to_server, Mine), (to_client, Yours)] {
            for flags in [Flags::SYN, Flags::FIN] {
                let segment = Segment { flags, time_wait_holder: Some(holder), ..NONE };
                if agreed {
                    it.closing.handle_segment(&segment, direction);
                }
            }
        }
        for &direction in closed {
            let seq = SeqNumber(if direction == to_server { 1_001 } else { 2_001 });
            let fin = Segment { seq, flags: Flags::FIN, ..NONE };
            it.ends.handle_fin(&fin, direction, 5, at(5));
        }
        it.holds_time_wait(false)
    };
    let negotiated = Some((Party::Client, TimeWaitRule::Negotiated));
    assert_eq!(held(true, &[to_server, to_client]), negotiated);
    assert_eq!(held(true, &[to_client]), None, "the client has not closed");
    assert_eq!(held(false, &[to_server, to_client]), None, "as it stands, nobody knows");
}

/// What the client sends again and again, and nobody acknowledges, is of the last request that the server has not heard.
#[test]
fn a_request_was_sent_again_in_vain_if_it_is_what_the_server_has_not_heard() {
    let sent_again = |times: usize, mut open: OpenExchange, request| {
        let mut it = connection();
        it.ends_now = Some((None, false));
        for number in 0..times {
            let data = Segment { seq: SeqNumber(1_001), ack: Some(SeqNumber(1)), len: 10, ..NONE };
            it.ends.handle_data(&data, Direction::ToServer, at(300 * (1 + number as u64)), 5);
        }
        open.request = request;
        it.ending(&open).unwrap().sent_again
    };
    let mut asking = exchange(0);
    asking.head = head("PUT", "/", Some(90));
    assert_eq!(sent_again(3, waiting(0), [1_000, 1_010]), Some(at(600)));
    assert_eq!(sent_again(2, waiting(0), [1_000, 1_010]), None, "it may have been one loss");
    assert_eq!(sent_again(3, waiting(0), [900, 1_000]), None, "all of it was heard");
    assert_eq!(sent_again(3, asking, [900, 900]), Some(at(600)), "it has not ended");
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
#[expect(clippy::too_many_lines, reason = "a table")]
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
    type Ended = Option<(Outcome, Option<crate::outcome::CloseOrder>)>;
    let rows: &[(&str, Change, Ended)] = &[
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
