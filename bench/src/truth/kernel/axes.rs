//! The second set of families: each varies what the first set holds fixed, and means no cause.
//!
//! It was drawn up from reports of wrong verdicts, without a look at the rules. All ranges are our choice, and
//! each family's comment has their reason. Logarithms are uniform, so that no size or time is typical.

use std::time::Duration;

use ackwise_linux::emulator::Ways;
use serde_json::json;

use super::families::{Family, any_protocol, at_times, millis, one_of, pieces, repeat, size};
use super::paths::{Path, note};
use super::plan::{Exchange, Message, Plan, Protocol, Reading, Stamps, Step};
use crate::dice::Dice;

/// All, in turn.
pub(super) const FAMILIES: &[Family] = &[
    ("requests-held", requests_held),
    ("both-ways-held", both_ways_held),
    ("accept-queue", accept_queue),
    ("late-reader", late_reader),
    ("late-small-reader", late_small_reader),
    ("slow-client", slow_client),
    ("closes", closes),
    ("long-think", long_think),
    ("acks-reordered", acks_reordered),
    ("window-kept-idle", window_kept_idle),
    ("microseconds", microseconds),
    ("no-timestamps", no_timestamps),
    ("one-host", one_host),
    ("far", far),
    ("fast", fast),
    ("two-interfaces", two_interfaces),
    ("initial-window", initial_window),
    ("paced-writes", paced_writes),
    ("paced-upload", paced_upload),
];

/// The path holds what the client sends, and nothing else. Holds of 10 to 200 ms: from a radio link's to what looks
/// like a program's work; a third of the requests meet one.
fn requests_held(dice: &mut Dice, plan: &mut Plan) {
    held(dice, plan, Ways::ToServer, [10.0, 200.0]);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 2, 80),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 8_000.0)))
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// The path holds everything, for longer than an exchange takes, so that a request and its response are both held.
fn both_ways_held(dice: &mut Dice, plan: &mut Plan) {
    let ways = *one_of(dice, &[Ways::Both, Ways::Both, Ways::ToClient]);
    held(dice, plan, ways, [20.0, 250.0]);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 2, 100),
        client_think: at_times(dice, 2, 40),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 20_000.0)))
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// The path of both: round trips of 2 to 70 ms, as within a country.
fn held(dice: &mut Dice, plan: &mut Plan, ways: Ways, spans: [f64; 2]) {
    let mut path = Path::draw(dice, [10.0, 300.0], [0, 30]);
    let mut at = 0;
    for _ in 0..HOLDS {
        at += dice.between(10, 150);
        let span = u32::try_from(size(dice, spans[0], spans[1])).unwrap_or_default();
        path.holds.push((at, at + span));
        at += span;
    }
    (path.ways, path.held_far) = (ways, dice.between(0, 1) == 0);
    path.lay(dice, plan);
    note(plan, "held_link", json!(if path.held_far { "server" } else { "client" }));
    plan.each_hold_counts = true;
    plan.protocol = any_protocol(dice);
}

/// More connections than the server's queue takes, each of which it serves for some time. Backlogs from 1 to what a
/// careless program asks for.
fn accept_queue(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 20]).lay(dice, plan);
    plan.concurrent = true;
    plan.backlog = *one_of(dice, &[1, 1, 2, 4]);
    note(plan, "backlog", json!(plan.backlog));
    let think = millis(dice.between(20, 120));
    // All the same: which of them the server takes first is not ours to say.
    let response = Message::whole(size(dice, 200.0, 20_000.0));
    let exchange = Exchange { server_think: think, ..Exchange::simple(response) };
    // Some more than find room: each waits for seconds, and weighs accordingly.
    let most = u32::try_from(plan.backlog).unwrap_or(1) + 4;
    plan.connections = vec![vec![exchange]; dice.between(most - 1, most) as usize];
}

/// An upload that the server begins to read late, as one that asks elsewhere who the client is. Bodies of up to
/// half a megabyte: some fit into the first window, some into no buffer.
fn late_reader(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 25]).lay(dice, plan);
    if dice.between(0, 2) == 0 {
        let buffer = size(dice, 20e3, 100e3);
        plan.server.receive_buffer = Some(buffer);
        note(plan, "receive_buffer", json!(buffer));
    }
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Tls]);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(size(dice, 10e3, 500e3)),
        request_reading: Reading { late: at_times(dice, 1, 160), ..Reading::FAST },
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 2, 60),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 2_000.0)))
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// A near client with small writes before a server that is busy for as long as a tail loss probe takes, or some times
/// as long.
fn late_small_reader(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::of(dice.scaled(50.0, 300.0), [dice.between(0, 1), dice.between(0, 2)]);
    path.lay(dice, plan);
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Unknown]);
    let exchange = |dice: &mut Dice| {
        let piece = || Step::Bytes(400);
        Exchange {
            request: Message {
                body: size(dice, 300.0, 6_000.0),
                steps: vec![Step::Head, piece(), piece(), Step::Rest],
            },
            request_reading: Reading { late: at_times(dice, 1, 60), ..Reading::FAST },
            client_think: at_times(dice, 2, 60),
            ..Exchange::simple(Message::whole(size(dice, 100.0, 2_000.0)))
        }
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// A client that takes a little again and again, as one that writes to a slow disk or decodes what it reads.
fn slow_client(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 30]).lay(dice, plan);
    let buffer = size(dice, 8_000.0, 120_000.0);
    plan.client.receive_buffer = Some(buffer);
    note(plan, "receive_buffer", json!(buffer));
    let exchange = |dice: &mut Dice| {
        let (chunk, rounds) = (size(dice, 2_000.0, 16_000.0), size(dice, 8.0, 40.0));
        let late = at_times(dice, 2, 80);
        let reading = Reading { late, chunk, pause: millis(dice.between(5, 50)) };
        Exchange { reading, ..Exchange::simple(Message::whole(buffer + chunk * rounds)) }
    };
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Responses without a length. Half of the servers close at once, the others when they have done something else.
fn closes(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 300.0], [0, 40]).lay(dice, plan);
    plan.protocol = Protocol::Closes;
    plan.server.no_delay = dice.between(0, 1) == 0;
    let connections = dice.between(4, 8);
    plan.connections = (0..connections)
        .map(|_| {
            let body = size(dice, 100.0, 60_000.0);
            let steps = if dice.between(0, 1) == 0 { vec![Step::Rest] } else { pieces(dice) };
            vec![Exchange {
                server_think: at_times(dice, 2, 100),
                closes_after: at_times(dice, 2, 300),
                ..Exchange::simple(Message { body, steps })
            }]
        })
        .collect();
}

/// Programs that take as long as a cork's timer, more or less, before a small response.
fn long_think(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 300.0], [0, 60]).lay(dice, plan);
    plan.server.no_delay = dice.between(0, 1) == 0;
    plan.protocol = any_protocol(dice);
    // A program that always takes the same time, or one that does not.
    let usual = dice.between(150, 400);
    let same = dice.between(0, 2) == 0;
    let exchange = |dice: &mut Dice| {
        let think = if same { usual } else { dice.between(150, 400) };
        Exchange {
            server_think: millis(think),
            client_think: at_times(dice, 3, 60),
            ..Exchange::simple(Message::whole(size(dice, 50.0, 1_300.0)))
        }
    };
    plan.connections = vec![repeat(dice, 8, exchange)];
}

/// Uploads whose pure ACKs overtake each other by up to 2 ms, as behind a load balancer that sprays packets.
fn acks_reordered(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [10.0, 200.0], [1, 25]);
    path.reordered = Some((dice.scaled(0.05, 0.5), dice.between(200, 1_900)));
    path.lay(dice, plan);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(size(dice, 20e3, 300e3)),
        server_think: at_times(dice, 1, 120),
        client_think: at_times(dice, 2, 60),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 1_000.0)))
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// `tcp_slow_start_after_idle=0`: nothing is cut after idle times, so the first flight is as large as the last.
fn window_kept_idle(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [50.0, 300.0], [5, 50]).lay(dice, plan);
    plan.kernel.keeps_idle_window = true;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let client_think = millis(dice.between(300, 1_200));
        Exchange { client_think, ..Exchange::simple(Message::whole(size(dice, 40e3, 400e3))) }
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// A clock of microseconds in the timestamps.
fn microseconds(dice: &mut Dice, plan: &mut Plan) {
    plan.kernel.stamps = Stamps::Microseconds;
    various(dice, plan);
}

/// No timestamps.
fn no_timestamps(dice: &mut Dice, plan: &mut Plan) {
    plan.kernel.stamps = Stamps::Without;
    various(dice, plan);
}

/// Client and server on one host.
fn one_host(dice: &mut Dice, plan: &mut Plan) {
    plan.one_host = true;
    various(dice, plan);
    if let Protocol::Http2(_) = plan.protocol {
        plan.protocol = Protocol::Http1;
    }
}

/// A second interface is seen, once.
fn two_interfaces(dice: &mut Dice, plan: &mut Plan) {
    plan.all_interfaces = true;
    various(dice, plan);
}

/// Small and large responses, think times and idle times over an ordinary path: what differs is how it is captured or
/// set up.
fn various(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 200.0], [0, 30]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    plan.server.no_delay = dice.between(0, 2) > 0;
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 150e3);
        let steps = if dice.between(0, 1) == 0 { vec![Step::Rest] } else { pieces(dice) };
        let mut exchange = Exchange::simple(Message { body, steps });
        if dice.between(0, 3) == 0 {
            exchange.request = Message::whole(size(dice, 100.0, 60e3));
        }
        exchange.server_think = at_times(dice, 2, 120);
        exchange.client_think = at_times(dice, 3, 400);
        exchange
    };
    plan.connections = (0..2).map(|_| repeat(dice, 5, exchange)).collect();
}

/// Round trips of 100 to 400 ms: another continent, or a satellite.
fn far(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 200.0], [49, 195]).lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let mut exchange = Exchange::simple(Message::whole(size(dice, 200.0, 200e3)));
        if dice.between(0, 3) == 0 {
            exchange.request = Message::whole(size(dice, 1e3, 60e3));
        }
        exchange.server_think = at_times(dice, 2, 300);
        exchange.client_think = at_times(dice, 3, 500);
        exchange
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// 200 Mb/s to 1 Gb/s.
fn fast(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [200.0, 1_000.0], [0, 20]);
    path.queue = dice.between(100, 2_000);
    path.lay(dice, plan);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 40),
        client_think: at_times(dice, 3, 40),
        ..Exchange::simple(Message::whole(size(dice, 10e3, 1.5e6)))
    };
    plan.connections = vec![repeat(dice, 6, exchange)];
}

/// From what a sender of 1999 had to what a content network has.
fn initial_window(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [2, 60]).lay(dice, plan);
    plan.initial_window = Some(*one_of(dice, &[1, 2, 3, 4, 6, 16, 20, 32, 64]));
    note(plan, "initial_window", json!(plan.initial_window));
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 3, 400),
        ..Exchange::simple(Message::whole(size(dice, 1_500.0, 250e3)))
    };
    plan.connections = (0..3).map(|_| repeat(dice, 2, exchange)).collect();
}

/// A program that writes a little again and again, as often as ACKs come or nearly so.
fn paced_writes(dice: &mut Dice, plan: &mut Plan) {
    let trip = paced(dice, plan);
    plan.server.no_delay = dice.between(0, 2) > 0;
    let exchange = |dice: &mut Dice| Exchange {
        client_think: at_times(dice, 3, 60),
        ..Exchange::simple(drip(dice, trip))
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// The client does.
fn paced_upload(dice: &mut Dice, plan: &mut Plan) {
    let trip = paced(dice, plan);
    plan.client.no_delay = dice.between(0, 2) > 0;
    let exchange = |dice: &mut Dice| Exchange {
        request: drip(dice, trip),
        server_think: at_times(dice, 3, 60),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 2_000.0)))
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// A round trip of 6 to 80 ms, in ms.
fn paced(dice: &mut Dice, plan: &mut Plan) -> f64 {
    let path = Path::draw(dice, [20.0, 300.0], [2, 35]);
    path.lay(dice, plan);
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Tls]);
    f64::from(2 * (path.delay[0] + path.delay[1]))
}

/// Writes from an eighth of a round trip to two round trips apart.
fn drip(dice: &mut Dice, trip: f64) -> Message {
    let (piece, times) = (size(dice, 200.0, 6_000.0), size(dice, 4.0, 30.0));
    let apart = Duration::from_secs_f64(trip * dice.scaled(0.125, 2.0) / 1e3);
    let steps = [Step::Bytes(piece), Step::Pause(apart)].repeat(times);
    Message { body: piece * times + 100, steps: [steps, vec![Step::Rest]].concat() }
}

/// They last for longer than any run takes, whose beginning on a busy machine is late.
const HOLDS: u32 = 400;
