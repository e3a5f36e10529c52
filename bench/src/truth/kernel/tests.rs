//! The truth of records made by hand: a path of 10 ms each way without a rate, times in ms.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use super::journeys::{Hop, Journey, Place};
use super::judge::{Span, judge};
use super::line::Diary;
use super::plan::Plan;
use super::play::Played;
use super::view::Records;
use crate::witness::clock::Nanos;
use crate::witness::trace::{Event, State, What};

/// A connection that is recorded by hand. The request has 40 bytes, and arrives at 40 ms.
struct Script {
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
        let mut script = Self { journeys: Vec::new(), events: Vec::new(), client, server };
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
    fn packet(&mut self, to_server: bool, at: u64, seq: (u32, u32), ack: u32) -> &mut Journey {
        let (from, to) = if to_server { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let sent = at * MS;
        let place = Place { near: true, to_server };
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
    fn response(mut self, size: u64) -> Vec<(String, u64, u64)> {
        self.server.messages.push((0, size));
        self.journeys.sort_by_key(|it| it.sent);
        self.events.sort_by_key(|it| it.at);
        let mut plan = Plan::ideal("by hand", 1);
        (plan.links[0].to_server.delay, plan.links[0].to_client.delay) =
            (Duration::from_nanos(WAY), Duration::from_nanos(WAY));
        let records = Records { journeys: &self.journeys, events: &self.events, plan: &plan };
        let played = Played {
            client_address: CLIENT,
            server_address: SERVER,
            client: self.client,
            server: self.server,
            accepted: 0,
        };
        let spans: Vec<Span> = judge(records, &played);
        let of_response = spans.into_iter().filter(|it| it.from >= 40 * MS);
        let line = |it: Span| {
            let names: Vec<&str> = it.reasons.iter().map(|reason| reason.name()).collect();
            (names.join(" "), it.from / MS, it.until / MS)
        };
        of_response.map(line).collect()
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
