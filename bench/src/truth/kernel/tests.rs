//! The truth of records made by hand: a path of 10 ms each way without a rate, times in ms.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use super::journeys::{Hop, Journey, LinkWay};
use super::judge::{Span, judge};
use super::line::Diary;
use super::plan::{Front, Plan, Protocol};
use super::play::Played;
use super::view::Records;
use crate::witness::clock::Nanos;
use crate::witness::trace::{Event, State, What};

/// A connection that is recorded by hand. The request has 40 bytes, and arrives at 40 ms.
struct Script {
    plan: Plan,
    accepted: Nanos,
    behind: Vec<Nanos>,
    journeys: Vec<Journey>,
    events: Vec<Event>,
    client: Diary,
    server: Diary,
}

const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40_000);
const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 80);
const WAY: Nanos = 10 * MS;
const MS: Nanos = 1_000_000;

impl Script {
    fn new() -> Self {
        let (client, server) = (Diary::default(), Diary::default());
        let mut plan = Plan::ideal("by hand", 1);
        (plan.links[0].to_server.delay, plan.links[0].to_client.delay) =
            (Duration::from_nanos(WAY), Duration::from_nanos(WAY));
        let (journeys, events) = (Vec::new(), Vec::new());
        let behind = Vec::new();
        let mut script = Self { plan, accepted: 0, behind, journeys, events, client, server };
        script.packet(true, 0, (0, 0), 0).syn = true;
        script.packet(false, 10, (0, 0), 0).syn = true;
        script.packet(true, 30, (1, 41), 1);
        script.client.written.push((30 * MS, 40));
        script.client.messages.push((0, 40));
        script.packet(false, 40, (1, 1), 41);
        // A window of ten segments.
        script.probe(20).probe(900)
    }

    /// One that arrives. Numbers count from the SYN.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn packet(&mut self, to_server: bool, at: u64, seq: (u32, u32), ack: u32) -> &mut Journey {
        let (from, to) = if to_server { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let sent = at * MS;
        let place = LinkWay { near: true, to_server };
        let delivered = Some(sent + WAY);
        let hop = Hop { place, offered: sent, begins: sent, ends: sent, delivered, lateness: 0 };
        self.journeys.push(Journey {
            from,
            to,
            seq: seq.0,
            ack,
            syn: false,
            fin: false,
            window: 60_000,
            scale: 0,
            len: seq.1 - seq.0,
            sent,
            hops: vec![hop],
            arrived: delivered,
            lost: None,
        });
        self.journeys.last_mut().expect("it was pushed")
    }

    fn lost(mut self, at: u64, seq: (u32, u32)) -> Self {
        let packet = self.packet(false, at, seq, 41);
        (packet.lost, packet.arrived) = (Some(packet.sent), None);
        packet.hops.clear();
        self
    }

    fn data(mut self, at: u64, seq: (u32, u32)) -> Self {
        self.packet(false, at, seq, 41);
        self
    }

    fn ack(mut self, at: u64, ack: u32, window: u16) -> Self {
        self.packet(true, at, (41, 41), ack).window = window;
        self
    }

    fn write(mut self, at: u64, total: u64) -> Self {
        self.server.written.push((at * MS, total));
        self
    }

    fn probe(mut self, at: u64) -> Self {
        let what = What::Probe { snd_cwnd: 10, ssthresh: u32::MAX };
        self.events.push(Event { at: at * MS, local: SERVER, what });
        self
    }

    fn state(mut self, at: u64, state: State) -> Self {
        self.events.push(Event { at: at * MS, local: SERVER, what: What::State(state) });
        self
    }

    /// What the response of this size waited for: causes, from and until.
    fn response(self, size: u64) -> Vec<(String, u64, u64)> {
        self.waits(size).into_iter().filter(|it| it.1 >= 40).collect()
    }

    /// The same of the setup and the request, too.
    fn waits(mut self, size: u64) -> Vec<(String, u64, u64)> {
        self.server.messages.push((0, size));
        self.spans()
    }

    /// The same, once the messages are known.
    fn spans(mut self) -> Vec<(String, u64, u64)> {
        self.journeys.sort_by_key(|it| it.sent);
        self.events.sort_by_key(|it| it.at);
        let records = Records { journeys: &self.journeys, events: &self.events, plan: &self.plan };
        let played = Played {
            client_address: CLIENT,
            server_address: SERVER,
            client: self.client,
            server: self.server,
            accepted: self.accepted,
            behind: self.behind,
        };
        let spans: Vec<Span> = judge(records, &played);
        let line = |it: Span| {
            let names: Vec<&str> = it.reasons.iter().map(|reason| reason.name()).collect();
            (names.join(" "), it.from / MS, it.until / MS)
        };
        spans.into_iter().map(line).collect()
    }
}

fn spans(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    expected.iter().map(|(name, from, until)| ((*name).to_owned(), *from, *until)).collect()
}

#[test]
fn a_small_segment_waits_for_a_round_trip_and_for_the_delay_of_its_ack() {
    let script = Script::new()
        .write(45, 100)
        .data(45, (1, 101))
        .write(46, 300)
        .ack(95, 101, 60_000)
        .data(105, (101, 301))
        .ack(115, 301, 60_000);
    let expected = [
        ("server-think", 40, 45),
        ("application-limited", 45, 46),
        ("nagle-rtt", 46, 55),
        ("nagle-delayed-ack", 55, 95),
        ("nagle-rtt", 95, 105),
        ("propagation", 105, 115),
    ];
    assert_eq!(script.response(300), spans(&expected));
}

#[test]
fn a_delayed_ack_of_what_came_after_the_small_segment_does_not_matter() {
    let script = Script::new()
        .write(45, 100)
        .data(45, (1, 101))
        .write(46, 1_900)
        .data(46, (101, 1_561))
        .ack(56, 101, 60_000)
        .data(66, (1_561, 1_901))
        .ack(95, 1_901, 60_000);
    let expected = [
        ("server-think", 40, 45),
        ("application-limited", 45, 46),
        ("nagle-rtt", 46, 66),
        ("propagation", 66, 76),
    ];
    assert_eq!(script.response(1_900), spans(&expected));
}

#[test]
fn without_nagle_the_same_packets_have_another_truth() {
    let mut script = Script::new()
        .write(45, 100)
        .data(45, (1, 101))
        .ack(95, 101, 60_000)
        .write(105, 300)
        .data(105, (101, 301))
        .ack(115, 301, 60_000);
    script.server.no_delay = true;
    let expected =
        [("server-think", 40, 45), ("application-limited", 45, 105), ("propagation", 105, 115)];
    assert_eq!(script.response(300), spans(&expected));
}

#[test]
fn a_cork_holds_until_a_timer_or_the_program_releases_it() {
    for (uncorked, name) in
        [(None, "cork-timer"), (Some(246), "application-limited cork-timer server-think")]
    {
        let mut script = Script::new().write(45, 100).data(246, (1, 101)).ack(256, 101, 60_000);
        script.server.cork = vec![(44 * MS, true)];
        script.server.cork.extend(uncorked.map(|at| (at * MS, false)));
        let expected = [("server-think", 40, 45), (name, 45, 246), ("propagation", 246, 256)];
        assert_eq!(script.response(100), spans(&expected));
    }
}

#[test]
fn a_loss_is_named_for_what_repaired_it() {
    let table = [
        (State::Loss, "retransmission-timeout", "retransmission-timeout propagation"),
        (State::Open, "retransmission-timeout", "retransmission-timeout propagation"),
        (State::Recovery, "loss-recovery", "loss-recovery propagation"),
    ];
    for (state, lost, again) in table {
        let script = Script::new()
            .write(45, 100)
            .lost(45, (1, 101))
            .state(260, state)
            .data(260, (1, 101))
            .ack(270, 101, 60_000);
        let expected = [("server-think", 40, 45), (lost, 45, 260), (again, 260, 270)];
        assert_eq!(script.response(100), spans(&expected), "{state:?}");
    }
}

#[test]
fn what_else_was_lost_before_a_timeout_is_released_by_acks() {
    let script = Script::new()
        .write(45, 2_896)
        .lost(45, (1, 1_449))
        .lost(45, (1_449, 2_897))
        .state(260, State::Loss)
        .data(260, (1, 1_449))
        .ack(270, 1_449, 60_000)
        .data(280, (1_449, 2_897))
        .ack(290, 2_897, 60_000);
    let expected = [
        ("server-think", 40, 45),
        ("retransmission-timeout", 45, 260),
        ("retransmission-timeout propagation", 260, 270),
        ("loss-recovery retransmission-timeout", 270, 280),
        ("loss-recovery retransmission-timeout propagation", 280, 290),
    ];
    assert_eq!(script.response(2_896), spans(&expected));
}

#[test]
fn a_closed_window_counts_until_an_ack_opens_it() {
    let mut script = Script::new();
    script.journeys.iter_mut().for_each(|it| it.window = 1_448);
    let script = script
        .write(45, 3_000)
        .data(45, (1, 1_449))
        .ack(56, 1_449, 0)
        .ack(156, 1_449, 60_000)
        .data(166, (1_449, 2_897))
        .data(166, (2_897, 3_001))
        .ack(176, 3_001, 60_000);
    let expected =
        [("server-think", 40, 45), ("receive-window", 45, 166), ("propagation", 166, 176)];
    assert_eq!(script.response(3_000), spans(&expected));
}

#[test]
fn a_window_with_too_little_room_is_silly_once_all_is_acknowledged() {
    let mut script = Script::new();
    script.journeys.iter_mut().for_each(|it| it.window = 2_896);
    let script = script
        .write(45, 3_000)
        .data(45, (1, 1_449))
        .data(45, (1_449, 1_849))
        .ack(56, 1_849, 1_100)
        // The persist timer.
        .data(276, (1_849, 2_949))
        .ack(286, 2_949, 1_100)
        .data(296, (2_949, 3_001))
        .ack(306, 3_001, 1_100);
    let expected = [
        ("server-think", 40, 45),
        ("receive-window", 45, 66),
        ("silly-window", 66, 276),
        ("receive-window", 276, 296),
        ("propagation", 296, 306),
    ];
    assert_eq!(script.response(3_000), spans(&expected));
}

#[test]
fn a_full_send_buffer_and_flow_control_are_told_by_the_program() {
    for (blocked, name) in [(true, "send-buffer"), (false, "h2-flow-control")] {
        let mut script = Script::new()
            .write(45, 1_448)
            .data(45, (1, 1_449))
            .ack(55, 1_449, 60_000)
            .write(65, 2_896)
            .data(65, (1_449, 2_897))
            .ack(75, 2_897, 60_000);
        let span = (45 * MS, 65 * MS);
        let diary = &mut script.server;
        let spans_of = if blocked { &mut diary.blocked } else { &mut diary.flow_controlled };
        spans_of.push(span);
        let expected = [("server-think", 40, 45), (name, 45, 65), ("propagation", 65, 75)];
        assert_eq!(script.response(2_896), spans(&expected));
    }
}

#[test]
fn a_path_that_holds_what_it_has_stalls() {
    let mut script = Script::new().write(45, 100).ack(250, 101, 60_000);
    let packet = script.packet(false, 45, (1, 101), 41);
    packet.hops[0].delivered = Some(250 * MS);
    packet.arrived = Some(250 * MS);
    let expected = [("server-think", 40, 45), ("propagation", 45, 55), ("path-stall", 55, 250)];
    assert_eq!(script.response(100), spans(&expected));
}

#[test]
fn what_a_full_accept_queue_dropped_had_arrived_and_waits_for_the_server() {
    // The server drops the first SYN, answers the second, and accepts late.
    let mut script = Script::new().write(1_100, 100).data(1_100, (1, 101)).ack(1_110, 101, 60_000);
    script.plan.concurrent = true;
    script.accepted = 1_090 * MS;
    for packet in &mut script.journeys {
        let later = if packet.syn && packet.from == CLIENT { 0 } else { 1_000 * MS };
        packet.sent += if packet.sent < 1_000 * MS { later } else { 0 };
        packet.arrived = Some(packet.sent + WAY);
        (packet.hops[0].offered, packet.hops[0].begins, packet.hops[0].ends) =
            (packet.sent, packet.sent, packet.sent);
        packet.hops[0].delivered = packet.arrived;
    }
    script.client.written[0].0 += 1_000 * MS;
    script.packet(true, 1_000, (0, 0), 0).syn = true;
    let expected = [
        ("handshake", 0, 10),
        ("server-think", 10, 1_010),
        ("handshake", 1_010, 1_020),
        ("propagation", 1_030, 1_040),
        ("server-think", 1_040, 1_090),
        ("server-think", 1_090, 1_100),
        ("propagation", 1_100, 1_110),
    ];
    assert_eq!(script.waits(100), spans(&expected));
}

#[test]
fn a_request_that_a_full_accept_queue_dropped_waits_for_the_server_to_accept() {
    // The request arrives at 40 and, again, at 270 ms; the server accepts at 290 and writes at 300 ms.
    for (acknowledged, expected) in [
        // Only the second copy is acknowledged: the server had no room for the connection before.
        (270, &[("server-think", 40, 290), ("server-think", 290, 300)][..]),
        // The first one is: the connection was in the queue, and the ACK is on its way too long.
        (40, &[("server-think", 40, 300)]),
    ] {
        let mut script = Script::new().write(300, 100).data(300, (1, 101)).ack(310, 101, 60_000);
        script.plan.concurrent = true;
        script.accepted = 290 * MS;
        // The handshake's last ACK was dropped as well.
        script.packet(true, 20, (1, 1), 1);
        let ack = script.journeys.iter_mut().find(|it| it.sent == 40 * MS).unwrap();
        ack.sent = acknowledged * MS;
        script.packet(true, 260, (1, 41), 1);
        let mut all = vec![("handshake", 0, 20), ("propagation", 30, 40)];
        all.extend(expected);
        all.push(("propagation", 300, 310));
        assert_eq!(script.waits(100), spans(&all), "{acknowledged}");
    }
}

#[test]
fn a_response_without_a_length_ends_with_the_fin() {
    for (closed, waits) in [(45, None), (85, Some(("application-limited server-think", 55, 85)))] {
        let mut script = Script::new().write(45, 100).data(45, (1, 101)).ack(55, 101, 60_000);
        script.plan.protocol = Protocol::Closes;
        script.server.closed = Some(closed * MS);
        script.packet(false, closed + 1, (101, 101), 41).fin = true;
        let first = [("server-think", 40, 45), ("propagation", 45, 55)];
        let last = [("propagation", closed.max(55), closed + 11)];
        let expected: Vec<_> = first.into_iter().chain(waits).chain(last).collect();
        let mut joined: Vec<(&str, u64, u64)> = Vec::new();
        for it in expected {
            match joined.last_mut() {
                Some(before) if before.0 == it.0 && before.2 == it.1 => before.2 = it.2,
                _ => joined.push(it),
            }
        }
        assert_eq!(script.response(100), spans(&joined));
    }
}

#[test]
fn a_hold_of_less_than_two_round_trips_counts_if_the_family_means_it() {
    for (counts, name) in [(false, "propagation"), (true, "queueing path-stall")] {
        let mut script = Script::new().write(45, 100);
        script.plan.each_hold_counts = counts;
        let held = script.packet(false, 45, (1, 101), 41);
        (held.arrived, held.hops[0].delivered) = (Some(75 * MS), Some(75 * MS));
        let mut expected = vec![("server-think", 40, 45), ("propagation", 45, 55)];
        match counts {
            true => expected.push((name, 55, 75)),
            false => expected[1].2 = 75,
        }
        assert_eq!(script.response(100), spans(&expected));
    }
}

#[test]
fn an_ack_that_a_program_which_does_not_read_delays_is_that_programs() {
    for away in [false, true] {
        let mut script = Script::new().write(45, 12_000);
        // The window of ten segments is full, and the client's ACK comes 40 ms late.
        let mut from = 1;
        for _ in 0..10 {
            script.packet(false, 45, (from, from + 1_000), 41);
            from += 1_000;
        }
        let mut script =
            script.ack(95, 10_001, 60_000).data(105, (10_001, 11_001)).data(105, (11_001, 12_001));
        script.server.no_delay = true;
        script.client.away.extend(away.then_some((50 * MS, 95 * MS)));
        let waits = script.response(12_000);
        let late = waits.iter().find(|it| it.1 == 55).expect("it is divided there");
        assert_eq!(late.0.starts_with("receive-window"), away, "{waits:?}");
    }
}

#[test]
fn a_client_that_waits_for_leave_waits_for_the_path_and_for_the_server() {
    for (gives, expected) in [
        // The head arrives at 40 ms; the server gives leave at 70 ms.
        (
            true,
            &[
                ("propagation application-limited", 30, 40),
                ("server-think application-limited", 40, 70),
                ("propagation application-limited", 70, 80),
                ("propagation", 80, 90),
            ][..],
        ),
        // It never does.
        (
            false,
            &[
                ("propagation application-limited", 30, 40),
                ("server-think application-limited", 40, 80),
                ("propagation", 80, 90),
            ],
        ),
    ] {
        let mut script = Script::new();
        script.client.written.push((80 * MS, 140));
        script.client.messages = vec![(0, 140)];
        script.client.awaited.push((30 * MS, 80 * MS));
        script.packet(true, 80, (41, 141), 1);
        let leave: u32 = if gives { 25 } else { 0 };
        if gives {
            script = script.write(70, 25).data(70, (1, 26));
        }
        let total = u64::from(leave) + 100;
        script.server.messages.push((leave.into(), total));
        script.packet(false, 95, (1 + leave, 101 + leave), 141);
        let mut all = vec![("handshake", 0, 20)];
        all.extend(expected);
        all.extend([("server-think", 90, 95), ("propagation", 95, 105)]);
        assert_eq!(script.write(95, total).spans(), spans(&all), "{gives}");
    }
}

#[test]
fn a_tls_handshake_waits_for_a_server_that_accepts_late_and_not_for_a_client_without_a_request() {
    let mut script = Script::new();
    script.plan.protocol = Protocol::Tls;
    script.accepted = 100 * MS;
    // Hello of the client, of the server, and the end of the handshake; the request comes at 500 ms.
    script.client.written = vec![(30 * MS, 40), (121 * MS, 100), (500 * MS, 140)];
    script.client.messages = vec![(100, 140)];
    script.packet(true, 121, (41, 101), 501);
    script.packet(true, 500, (101, 141), 501);
    script = script.write(110, 500).data(110, (1, 501)).write(515, 600).data(515, (501, 601));
    script.server.messages.push((500, 600));
    let expected = [
        ("handshake", 0, 20),
        ("propagation", 500, 510),
        ("server-think", 510, 515),
        ("propagation", 515, 525),
        ("tls-handshake", 20, 40),
        ("tls-handshake server-think", 40, 100),
        ("tls-handshake", 100, 110),
        ("tls-handshake", 110, 120),
        ("tls-handshake", 120, 121),
    ];
    assert_eq!(script.spans(), spans(&expected));
}

#[test]
fn a_timer_ends_what_waits_for_an_ack_that_is_lost() {
    for lost in [true, false] {
        // The window of ten segments is full, and the ACK of all of them does not arrive, or is late.
        let mut script = Script::new().write(45, 11_000).state(255, State::Loss);
        script.server.no_delay = true;
        for number in 0..10 {
            script.packet(false, 45, (1 + 1_000 * number, 1_001 + 1_000 * number), 41);
        }
        let ack = script.packet(true, 55, (41, 41), 10_001);
        (ack.lost, ack.arrived) = match lost {
            true => (Some(56 * MS), None),
            false => (None, Some(265 * MS)),
        };
        let script = script
            .data(255, (1, 1_001))
            .ack(265, 10_001, 60_000)
            .data(275, (10_001, 11_001))
            .ack(285, 11_001, 60_000);
        let waits = script.response(11_000);
        let named = |at: u64| waits.iter().find(|it| (it.1..it.2).contains(&at)).unwrap().0.clone();
        assert_eq!(named(100).starts_with("retransmission-timeout"), lost, "{waits:?}");
        // Until the ACK is sent, the same time would be spent without a loss.
        assert!(!named(50).contains("retransmission-timeout"), "{waits:?}");
    }
}

#[test]
fn behind_a_proxy_the_program_tells_how_long_the_server_thinks() {
    // The program writes at 90 ms; the proxy sends a part at 95 and the rest at 200 ms, and nobody knows why.
    let mut script = Script::new()
        .data(95, (1, 101))
        .ack(105, 101, 60_000)
        .data(200, (101, 201))
        .ack(210, 201, 60_000);
    script.plan.front = Some(Front::Nginx);
    script.behind.push(90 * MS);
    script.client.lengths.push(200);
    let expected = [
        ("handshake", 0, 20),
        ("propagation", 30, 40),
        ("server-think", 40, 90),
        ("propagation", 200, 210),
    ];
    assert_eq!(script.spans(), spans(&expected));
}

#[test]
fn an_ack_behind_another_connections_packet_waits_in_a_queue_if_the_family_means_it() {
    for counts in [true, false] {
        let mut script = Script::new().write(45, 100).data(45, (1, 101)).write(46, 300);
        script.plan.each_hold_counts = counts;
        // The ACK leaves at 55 ms, and the link is busy with something else until 75 ms.
        let other = script.packet(true, 50, (0, 1_448), 0);
        other.from.set_port(CLIENT.port() + 1);
        other.hops[0].ends = 75 * MS;
        let ack = script.packet(true, 55, (41, 41), 101);
        (ack.hops[0].begins, ack.hops[0].ends) = (75 * MS, 75 * MS);
        (ack.hops[0].delivered, ack.arrived) = (Some(85 * MS), Some(85 * MS));
        let script = script.data(85, (101, 301)).ack(95, 301, 60_000);
        let mut expected = vec![("server-think", 40, 45), ("application-limited", 45, 46)];
        match counts {
            true => expected.extend([
                ("nagle-rtt", 46, 55),
                ("nagle-rtt path-stall queueing", 55, 75),
                ("nagle-rtt", 75, 85),
            ]),
            false => expected.push(("nagle-rtt", 46, 85)),
        }
        expected.push(("propagation", 85, 95));
        assert_eq!(script.response(300), spans(&expected), "{counts}");
    }
}
