//! What is drawn: families of runs, each meant to show a cause often.
//!
//! All ranges are our choice: wide enough that no number of a family is typical of its cause, and short
//! enough that a run takes a few seconds.

use std::time::Duration;

use ackwise_link::Seed;
use serde_json::json;

use super::paths::{Path, note};
use super::plan::{Congestion, Cross, Exchange, Http2, Message, Plan, Protocol, Reading, Step};
use crate::dice::Dice;

/// A name, and how its runs are drawn.
pub(super) type Family = (&'static str, fn(&mut Dice, &mut Plan));

/// All, in turn. Those come more than once in a round whose causes hardly occur elsewhere: 650 runs give
/// each cause at least 30 cases.
pub(super) const FAMILIES: &[Family] = &[
    ("nagle", nagle),
    ("short-initial-segment", short_initial_segment),
    ("cork", cork),
    ("receive-window", receive_window),
    ("send-buffer", send_buffer),
    ("h2-flow-control", h2_flow_control),
    ("pipelining", pipelining),
    ("loss", loss),
    ("tail-loss", tail_loss),
    ("queueing", queueing),
    ("path-stall", path_stall),
    ("bbr", bbr),
    ("idle-restart", idle_restart),
    ("think", think),
    ("silly-window", silly_window),
    ("nagle-upload", nagle_upload),
    ("short-initial-segment", short_initial_segment),
    ("cork", cork),
    ("slow-reader", slow_reader),
    ("send-buffer", send_buffer),
    ("h2-flow-control", h2_flow_control),
    ("pipelining", pipelining),
    ("loss", loss),
    ("tail-loss", tail_loss),
    ("queueing", queueing),
    ("path-stall", path_stall),
    ("bbr", bbr),
    ("slow-start", slow_start),
    ("transmission", transmission),
    ("upload", upload),
    ("silly-window", silly_window),
    ("short-initial-segment", short_initial_segment),
    ("mix", mix),
];

/// Draws a run. The same seed and number give the same run.
pub(super) fn draw(families: &[Family], seed: u64, number: u64) -> Plan {
    let turn = usize::try_from(number).unwrap_or_default() % families.len();
    let (family, shape) = families[turn];
    let mut dice = Dice::new(seed).of(family, number);
    let mut plan = Plan::ideal(family, seed);
    let faults = Seed(seed).named(&format!("{family} {number}"));
    plan.links.iter_mut().for_each(|link| link.seed = faults);
    plan.congestion = *one_of(&mut dice, &[Congestion::Cubic, Congestion::Reno]);
    shape(&mut dice, &mut plan);
    let exchanges: usize = plan.connections.iter().map(Vec::len).sum();
    let facts = [
        ("congestion", json!(plan.congestion.name())),
        ("protocol", json!(plan.protocol.name())),
        ("connections", json!(plan.connections.len())),
        ("exchanges", json!(exchanges)),
    ];
    facts.into_iter().for_each(|(name, value)| note(&mut plan, name, value));
    plan
}

/// The server writes a response in pieces, with Nagle's algorithm on. A client that asks again at once
/// delays its ACKs.
fn nagle(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 100.0], [1, 25]).lay(dice, plan);
    plan.server.no_delay = false;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 6_000.0);
        let message = Message { body, steps: pieces(dice) };
        let client_think = at_times(dice, 4, 60);
        Exchange { client_think, server_think: at_times(dice, 3, 20), ..Exchange::simple(message) }
    };
    plan.connections = vec![repeat(dice, 10, exchange)];
}

/// The client does.
fn nagle_upload(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 100.0], [1, 25]).lay(dice, plan);
    plan.client.no_delay = false;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Unknown]);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 6_000.0);
        let request = Message { body, steps: pieces(dice) };
        let response = Message::whole(size(dice, 100.0, 3_000.0));
        Exchange { request, server_think: at_times(dice, 3, 20), ..Exchange::simple(response) }
    };
    plan.connections = vec![repeat(dice, 10, exchange)];
}

/// The congestion window is one segment, and a short one comes first. An exchange right before makes the
/// client delay its ACKs, and an idle time closes the window again.
fn short_initial_segment(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 100.0], [1, 12]).lay(dice, plan);
    plan.initial_window = Some(1);
    let (mut exchanges, rounds) = (vec![Exchange::simple(Message::whole(200))], 4);
    for _ in 0..rounds {
        let idle = millis(dice.between(330, 600));
        // Two segments at once, so that no timer acknowledges them and ends the client's habit.
        let before = Exchange::simple(Message::whole(size(dice, 1_600.0, 2_700.0)));
        exchanges.push(Exchange { client_think: idle, ..before });
        let body = size(dice, 4_000.0, 40_000.0);
        exchanges.push(Exchange::simple(Message { body, steps: vec![Step::Head, Step::Rest] }));
    }
    plan.connections = vec![exchanges];
}

/// A cork that is never removed, or late.
fn cork(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 100.0], [1, 20]).lay(dice, plan);
    plan.server.no_delay = dice.between(0, 1) == 0;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Unknown]);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 500.0, 20_000.0);
        let steps = match dice.between(0, 3) {
            0 => {
                let late = millis(dice.between(20, 120));
                vec![Step::Cork(true), Step::Rest, Step::Pause(late), Step::Cork(false)]
            }
            _ => vec![Step::Cork(true), Step::Rest],
        };
        Exchange::simple(Message { body, steps })
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// The client's buffer is smaller than the path.
fn receive_window(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 100.0], [10, 50]).lay(dice, plan);
    let buffer = size(dice, 4_000.0, 40_000.0);
    plan.client.receive_buffer = Some(buffer);
    note(plan, "receive_buffer", json!(buffer));
    plan.protocol = any_protocol(dice);
    let exchange =
        |dice: &mut Dice| Exchange::simple(Message::whole(size(dice, 5.0, 12.0) * buffer));
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// The client reads slowly.
fn slow_reader(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 100.0], [2, 20]).lay(dice, plan);
    let buffer = size(dice, 6_000.0, 60_000.0);
    plan.client.receive_buffer = Some(buffer);
    note(plan, "receive_buffer", json!(buffer));
    let exchange = |dice: &mut Dice| {
        let chunk = size(dice, 0.1 * buffer as f64, buffer as f64);
        let reading = Reading { chunk, pause: millis(dice.between(10, 120)), ..Reading::FAST };
        let response = Message::whole(3 * buffer + size(dice, 1.0, 4_000.0));
        Exchange { reading, ..Exchange::simple(response) }
    };
    plan.connections = vec![repeat(dice, 1, exchange)];
}

/// The client has room for less than a segment, as a printer or a sensor may: what is left of a response waits for
/// the persist timer. Small responses use up the window that was offered before, one packet at a time, so
/// that none finds a full buffer.
fn silly_window(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 50.0], [2, 30]).lay(dice, plan);
    let (before, later) = (size(dice, 4_000.0, 9_000.0), size(dice, 1_152.0, 1_500.0));
    plan.client.receive_buffer = Some(before);
    plan.client.receive_buffer_later = Some(later);
    note(plan, "receive_buffer", json!(before));
    note(plan, "receive_buffer_later", json!(later));
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Unknown]);
    let exchange = |dice: &mut Dice, [least, most]: [f64; 2]| Exchange {
        client_think: at_times(dice, 4, 40),
        ..Exchange::simple(Message::whole(size(dice, least, most)))
    };
    let mut exchanges = repeat(dice, 14, |dice| exchange(dice, [600.0, 1_000.0]));
    exchanges.extend(repeat(dice, 3, |dice| exchange(dice, [2_000.0, 6_000.0])));
    plan.connections = vec![exchanges];
}

/// The server's buffer is smaller than the path.
fn send_buffer(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 100.0], [10, 50]).lay(dice, plan);
    let buffer = size(dice, 4_000.0, 30_000.0);
    plan.server.send_buffer = Some(buffer);
    note(plan, "send_buffer", json!(buffer));
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 10.0, 20.0) * buffer;
        Exchange::simple(Message { body, steps: blocks(dice, body) })
    };
    plan.connections = vec![repeat(dice, 1, exchange)];
}

fn h2_flow_control(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 100.0], [5, 50]).lay(dice, plan);
    let window = dice.between(6_000, 65_535);
    plan.protocol = Protocol::Http2(Http2::with_window(window));
    note(plan, "stream_window", json!(window));
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 4.0, 8.0) * window as usize;
        Exchange { client_think: at_times(dice, 4, 200), ..Exchange::simple(Message::whole(body)) }
    };
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Large responses, and idle times that cut the window.
fn idle_restart(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [50.0, 100.0], [10, 40]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let client_think = millis(dice.between(350, 900));
        Exchange { client_think, ..Exchange::simple(Message::whole(size(dice, 80e3, 250e3))) }
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// Several requests at once; the server answers one after the other.
fn pipelining(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 50.0], [5, 40]).lay(dice, plan);
    plan.pipelined = true;
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 1, 80),
        ..Exchange::simple(Message::whole(size(dice, 500.0, 60_000.0)))
    };
    plan.connections = (0..2).map(|_| repeat(dice, 4, exchange)).collect();
}

/// Random losses in both directions.
fn loss(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [10.0, 100.0], [5, 40]);
    path.loss = dice.scaled(0.005, 0.04);
    path.lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange::simple(Message::whole(size(dice, 100e3, 400e3)));
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Short responses and many losses: nothing follows that tells of them.
fn tail_loss(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [10.0, 100.0], [5, 40]);
    path.loss = dice.scaled(0.05, 0.15);
    path.lay(dice, plan);
    let exchange = |dice: &mut Dice| Exchange::simple(Message::whole(size(dice, 200.0, 6_000.0)));
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// New connections over a long and fast path.
fn slow_start(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [50.0, 100.0], [15, 60]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    plan.initial_window = *one_of(dice, &[None, None, Some(2), Some(4)]);
    note(plan, "initial_window", json!(plan.initial_window));
    let exchange = |dice: &mut Dice| Exchange::simple(Message::whole(size(dice, 30e3, 250e3)));
    plan.connections = (0..3).map(|_| repeat(dice, 1, exchange)).collect();
}

/// A slow link.
fn transmission(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [1.0, 10.0], [2, 30]);
    path.queue = dice.between(30, 200);
    path.lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let bytes = path.rate * 1e6 / 8.0;
    let exchange =
        |dice: &mut Dice| Exchange::simple(Message::whole(size(dice, 0.2 * bytes, 1.0 * bytes)));
    plan.connections = vec![repeat(dice, 2, exchange)];
}

fn upload(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [2.0, 40.0], [5, 40]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let request = Message::whole(size(dice, 40e3, 400e3));
        let server_think = at_times(dice, 2, 80);
        Exchange { request, server_think, ..Exchange::simple(Message::whole(300)) }
    };
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Small responses behind the bursts of another connection.
fn queueing(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [2.0, 10.0], [2, 20]);
    path.queue = dice.between(60, 200);
    path.lay(dice, plan);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    let burst = (path.rate * 1e6 / 8.0 * (0.05 + 0.1 * dice.unit())) as usize;
    plan.cross = Some(Cross { to_server: false, burst, pause: millis(dice.between(20, 150)) });
    note(plan, "burst", json!(burst));
    let exchange = |dice: &mut Dice| Exchange {
        client_think: at_times(dice, 1, 90),
        ..Exchange::simple(Message::whole(size(dice, 200.0, 12_000.0)))
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// Programs that take their time: before a response, within it, and within a request.
fn think(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 100.0], [1, 40]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let paused = |dice: &mut Dice| {
            let first = size(dice, 200.0, 5_000.0);
            vec![Step::Bytes(first), Step::Pause(millis(dice.between(10, 200))), Step::Rest]
        };
        let body = size(dice, 6_000.0, 60_000.0);
        let mut exchange = Exchange::simple(Message::whole(body));
        exchange.server_think = at_times(dice, 1, 250);
        if dice.between(0, 2) == 0 {
            exchange.response.steps = paused(dice);
        }
        if dice.between(0, 2) == 0 {
            exchange.request = Message { body: 8_000, steps: paused(dice) };
        }
        Exchange { client_think: at_times(dice, 2, 100), ..exchange }
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// The path delivers nothing for some round trips.
fn path_stall(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [5.0, 50.0], [5, 25]);
    let trip = 2 * (path.delay[0] + path.delay[1]);
    let mut at = 0;
    for _ in 0..20 {
        at += dice.between(150, 500);
        let span = trip * dice.between(3, 8);
        path.holds.push((at, at + span));
        at += span;
    }
    path.lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        client_think: at_times(dice, 2, 40),
        ..Exchange::simple(Message::whole(size(dice, 20e3, 200e3)))
    };
    plan.connections = vec![repeat(dice, 6, exchange)];
}

fn bbr(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [5.0, 50.0], [5, 40]);
    path.loss = if dice.between(0, 3) == 0 { 0.005 } else { 0.0 };
    path.lay(dice, plan);
    plan.congestion = Congestion::Bbr;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 2, 80),
        ..Exchange::simple(Message::whole(size(dice, 30e3, 400e3)))
    };
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Something of everything.
fn mix(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [2.0, 100.0], [1, 50]);
    path.jitter = dice.between(0, 1) == 0;
    path.loss = if dice.between(0, 1) == 0 { dice.scaled(0.001, 0.02) } else { 0.0 };
    path.lay(dice, plan);
    plan.congestion = *one_of(dice, &Congestion::ALL);
    plan.protocol = any_protocol(dice);
    plan.client.no_delay = dice.between(0, 1) == 0;
    plan.server.no_delay = dice.between(0, 1) == 0;
    if dice.between(0, 2) == 0 {
        plan.server.send_buffer = Some(size(dice, 10e3, 60e3));
    }
    if dice.between(0, 2) == 0 {
        plan.client.receive_buffer = Some(size(dice, 20e3, 100e3));
    }
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 200.0, 60e3);
        let response = Message { body, steps: pieces(dice) };
        let mut exchange = Exchange::simple(response);
        if dice.between(0, 3) == 0 {
            exchange.request = Message { body: size(dice, 100.0, 8e3), steps: pieces(dice) };
        }
        exchange.server_think = at_times(dice, 1, 60);
        exchange.client_think = at_times(dice, 2, 300);
        exchange
    };
    plan.connections = (0..2).map(|_| repeat(dice, 4, exchange)).collect();
}

pub(super) fn any_protocol(dice: &mut Dice) -> Protocol {
    let protocols = [
        Protocol::Http1,
        Protocol::Http1,
        Protocol::Http1,
        Protocol::Tls,
        Protocol::Tls,
        Protocol::Http2(Http2::ROOMY),
        Protocol::Unknown,
    ];
    *one_of(dice, &protocols)
}

/// Two writes or more where one would do.
pub(super) fn pieces(dice: &mut Dice) -> Vec<Step> {
    match dice.between(0, 3) {
        0 | 1 => vec![Step::Head, Step::Rest],
        2 => vec![Step::Bytes(size(dice, 300.0, 4_500.0)), Step::Rest],
        _ => {
            let piece = || Step::Bytes(700);
            vec![Step::Head, piece(), piece(), Step::Rest]
        }
    }
}

/// Blocks of a size that programs use, or all at once.
fn blocks(dice: &mut Dice, body: usize) -> Vec<Step> {
    let block = *one_of(dice, &[4_096, 8_192, 16_384, usize::MAX]);
    let whole = vec![Step::Bytes(block); body / block];
    [whole, vec![Step::Rest]].concat()
}

/// A duration of at most `most` milliseconds in one of `one_in` cases, and none in the others.
pub(super) fn at_times(dice: &mut Dice, one_in: u32, most: u32) -> Duration {
    let span = dice.between(most / 8, most);
    if dice.between(1, one_in) == 1 { millis(span) } else { Duration::ZERO }
}

pub(super) fn repeat(
    dice: &mut Dice,
    times: usize,
    exchange: impl Fn(&mut Dice) -> Exchange,
) -> Vec<Exchange> {
    (0..times).map(|_| exchange(dice)).collect()
}

pub(super) fn one_of<'a, T>(dice: &mut Dice, choices: &'a [T]) -> &'a T {
    let last = u32::try_from(choices.len() - 1).expect("there are few");
    &choices[dice.between(0, last) as usize]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
pub(super) fn size(dice: &mut Dice, least: f64, most: f64) -> usize {
    dice.scaled(least, most) as usize
}

pub(super) fn millis(span: u32) -> Duration {
    Duration::from_millis(span.into())
}
