//! What packets and messages tell a connection.

use super::*;
use crate::attribution::Rule;

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

#[test]
fn what_acknowledgements_show_of_a_response_that_lingers_is_of_the_servers_data() {
    for (direction, resolves) in [(Direction::ToServer, true), (Direction::ToClient, false)] {
        let mut it = connection();
        let data = Segment { seq: SeqNumber(2_001), ack: Some(SeqNumber(1_001)), len: 10, ..NONE };
        it.ends.handle_data(&data, Direction::ToClient, at(3), 3).unwrap();
        let sent = (departed(), at(0));
        it.lingering = Some(Box::new(Lingering::new(Box::new(answered(0)), 2_010, sent)));
        it.settle(&HELD, Direction::ToClient, false);
        let before = format!("{:?}", it.lingering);
        it.ends.halves[direction.opposite() as usize].again = Some(Resolution::Spurious);
        let seq = SeqNumber(if direction == Direction::ToServer { 1_001 } else { 2_011 });
        let segment = Segment { seq, ack: Some(SeqNumber(1_001)), ..NONE };
        let seen = Packet {
            number: 9,
            at: at(20),
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &segment,
            payload: &[],
        };
        it.judge(&seen, direction, &mut Results::default());
        assert_eq!(format!("{:?}", it.lingering) != before, resolves, "{direction:?}");
    }
}

#[test]
fn a_response_that_goes_on_behind_its_first_message_is_not_over_with_that() {
    for end in [2_002, 2_004] {
        let mut it = connection();
        it.open.push(answered(0));
        see(&mut it, Direction::ToClient, 2_001, b"xx");
        tell(&mut it, Event::FirstMessage { exchange: FIRST, position: 2_002 });
        see(&mut it, Direction::ToClient, 2_003, b"yy");
        let event = Event::ResponseEnds { exchange: FIRST, position: end, exact: true };
        let results = tell(&mut it, event);
        assert_eq!(results.exchanges()[0].bytes[1], end);
    }
}

/// The capture lacks frames, so that a window may have been used up, and opened since: what the server has heard of the
/// client opened it.
#[test]
fn an_unseen_window_matters_where_something_is_waited_for() {
    for (why, direction, open, rule, doubted) in [
        ("a response", Direction::ToClient, Some(answered(0)), Rule::WindowFull, true),
        ("no response yet", Direction::ToClient, Some(waiting(0)), Rule::WindowFull, false),
        ("no exchange", Direction::ToClient, None, Rule::WindowFull, false),
        ("a request", Direction::ToServer, Some(exchange(0)), Rule::WindowFull, true),
        ("a timer released it", Direction::ToClient, Some(answered(0)), Rule::Corked, false),
    ] {
        let mut it = connection();
        open.into_iter().for_each(|open| it.open.push(open));
        let control = &mut it.flow_control[direction as usize];
        control.lose(100, 6);
        let mut gap = HELD;
        gap.hold.rule = rule;
        it.blame_flow_control(&mut gap, direction, 101);
        assert_eq!(it.flow_control[direction as usize].is_doubtful(), doubted, "{why}");
    }
}

#[test]
fn credit_has_reached_its_sender_with_the_last_that_was_acknowledged() {
    let mut it = connection();
    it.ends.distances.sample(Direction::ToServer, Nanos::from_millis(20));
    it.ends.distances.sample(Direction::ToClient, Nanos::from_millis(10));
    let credit = |it: &ObservedConnection| it.credit_for(Direction::ToClient).map(|it| it.at);
    assert_eq!(credit(&it), None, "the client has sent nothing");
    see(&mut it, Direction::ToServer, 1_001, b"xx");
    assert_eq!(credit(&it), None, "it is on its way");
    let ack = Segment { ack: Some(SeqNumber(1_003)), ..NONE };
    it.ends.halves[0].stream.acknowledge(&ack, None);
    let sent = it.ends.half(Direction::ToServer).sender.last().unwrap().sent;
    assert_eq!(credit(&it), Some(sent + Nanos::from_millis(15)));
}

/// Nobody divides what comes before a database is ready: its first exchange begins with the request behind that.
#[test]
fn only_a_start_up_is_no_part_of_the_exchange_behind_it() {
    use crate::conversation::Tunnel;
    for (tunnel, forgets) in [(Tunnel::Startup, true), (Tunnel::WebSocket, false)] {
        let mut it = connection();
        let segment = Segment { flags: Flags::SYN, ..NONE };
        let syn = Packet {
            number: 1,
            at: at(0),
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &segment,
            payload: &[],
        };
        it.setup.handle_syn(Direction::ToServer, &syn, &it.ends.distances);
        let before = format!("{:?}", it.setup);
        tell(&mut it, Event::TunnelBegins { exchange: FIRST, tunnel });
        assert_eq!(format!("{:?}", it.setup) != before, forgets, "{tunnel:?}");
    }
}
