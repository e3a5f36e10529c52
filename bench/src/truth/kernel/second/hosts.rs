//! What programs and their sockets do.

use std::time::Duration;

use ackwise_linux::emulator::Ways;
use serde_json::json;

use super::{near_or_far, some_bytes};
use crate::dice::Dice;
use crate::truth::kernel::families::{
    any_protocol, at_times, millis, one_of, pieces, repeat, size,
};
use crate::truth::kernel::paths::{Path, note};
use crate::truth::kernel::plan::{
    Congestion, Exchange, Front, Message, Plan, Protocol, Reading, Step,
};

/// Connections that are opened .1 to 3 s before there is a request for them, as browsers do, and that rest between
/// requests.
pub(super) fn opened_early(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 300.0], [0, 60]).lay(dice, plan);
    plan.opened_early = millis(dice.between(100, 3_000));
    note(plan, "opened_early_ms", json!(plan.opened_early.as_millis()));
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 50),
        client_think: at_times(dice, 2, 1_500),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 120_000.0)))
    };
    plan.connections = (0..2).map(|_| repeat(dice, 3, exchange)).collect();
}

/// Two mechanisms that look alike on one connection: a cork that the program forgets for its last segment, and think
/// about as long as Linux's timer for it.
pub(super) fn cork_or_think(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 300.0], [0, 40]).lay(dice, plan);
    plan.server.no_delay = dice.between(0, 1) == 0;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Tls]);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 6_000.0);
        let long = millis(dice.between(150, 400));
        let mut exchange = Exchange::simple(Message::whole(body));
        exchange.client_think = at_times(dice, 3, 80);
        match dice.between(0, 4) {
            0 => exchange.response.steps = vec![Step::Cork(true), Step::Rest, Step::Cork(false)],
            1 => exchange.response.steps = vec![Step::Cork(true), Step::Rest],
            2 => exchange.server_think = long,
            3 => exchange.response.steps = vec![Step::Head, Step::Pause(long), Step::Rest],
            _ => exchange.server_think = at_times(dice, 2, 120),
        }
        // A cork lasts until the program removes it.
        let removes = Step::Cork(false);
        exchange.response.steps.insert(0, removes);
        exchange
    };
    plan.connections = vec![repeat(dice, 10, exchange)];
}

/// Nagle's algorithm is on, and the second write comes a quarter of a round trip to three round trips after the first:
/// the program takes a part of the time, Nagle another. At the server, or at the client.
pub(super) fn late_second_write(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [10.0, 200.0], [1, 30]);
    path.lay(dice, plan);
    let trip = f64::from(2 * (path.delay[0] + path.delay[1]));
    let asks = dice.between(0, 2) == 0;
    plan.server.no_delay = asks;
    plan.client.no_delay = !asks;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Tls]);
    let exchange = |dice: &mut Dice| {
        let late = Step::Pause(Duration::from_secs_f64(trip * dice.scaled(0.25, 3.0) / 1e3));
        let steps = vec![Step::Head, late, Step::Rest];
        let written = Message { body: size(dice, 50.0, 4_000.0), steps };
        let other = Message::whole(size(dice, 100.0, 1_300.0));
        let [request, response] =
            if asks { [written, other] } else { [Message::whole(0), written] };
        let server_think = at_times(dice, 3, 40);
        Exchange {
            request,
            server_think,
            client_think: at_times(dice, 3, 60),
            ..Exchange::simple(response)
        }
    };
    plan.connections = vec![repeat(dice, 8, exchange)];
}

/// A server that takes one connection after the other, and whose queue has room for all: requests wait in it, are
/// acknowledged, and nothing is lost.
pub(super) fn accepts_late(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 40]).lay(dice, plan);
    plan.concurrent = true;
    plan.backlog = 128;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Tls, Protocol::Closes]);
    let connections = dice.between(4, 12) as usize;
    let exchange = Exchange {
        request: Message::whole(some_bytes(dice, 2, [300.0, 9_000.0])),
        server_think: millis(dice.between(5, 60)),
        ..Exchange::simple(Message::whole(size(dice, 200.0, 40_000.0)))
    };
    plan.connections = vec![vec![exchange]; connections];
}

/// A full accept queue, and connections that are used again once they are served: only their first exchange waits for
/// it. A request is one segment: where the kernel answered with a SYN cookie, it refuses a second one (`cookie_v4_check`
/// reads the first sequence number of the data).
pub(super) fn queued_and_kept(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 30]).lay(dice, plan);
    plan.concurrent = true;
    plan.backlog = *one_of(dice, &[0, 1, 2, 3, 5]);
    note(plan, "backlog", json!(plan.backlog));
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Unknown]);
    let exchanges = repeat(dice, 2, |dice| Exchange {
        request: Message::whole(some_bytes(dice, 2, [100.0, 1_300.0])),
        server_think: millis(dice.between(5, 60)),
        client_think: at_times(dice, 2, 40),
        ..Exchange::simple(Message::whole(size(dice, 200.0, 20_000.0)))
    });
    let most = u32::try_from(plan.backlog).unwrap_or_default() + 5;
    plan.connections = vec![exchanges; dice.between(most - 2, most) as usize];
}

/// A client that is busy with something else when a response comes, for 2 to 150 ms: as short as a tail loss probe, or
/// as long as some delayed ACKs.
pub(super) fn busy_client(dice: &mut Dice, plan: &mut Plan) {
    near_or_far(dice, [20.0, 1_000.0], 20).lay(dice, plan);
    // Our HTTP/2 reads at once.
    let protocols = [Protocol::Http1, Protocol::Http1, Protocol::Tls, Protocol::Unknown];
    plan.protocol = *one_of(dice, &protocols);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 120_000.0);
        let steps = if dice.between(0, 1) == 0 { vec![Step::Rest] } else { pieces(dice) };
        let late = Duration::from_secs_f64(dice.scaled(2.0, 150.0) / 1e3);
        let reading = Reading { late, ..Reading::FAST };
        Exchange {
            reading,
            server_think: at_times(dice, 3, 60),
            client_think: at_times(dice, 3, 60),
            ..Exchange::simple(Message { body, steps })
        }
    };
    plan.connections = vec![repeat(dice, 10, exchange)];
}

/// A program that reads what there is and then does something else for .1 to 1.2 s, until the window is closed and
/// probed: the client's, or the server's that takes an upload.
pub(super) fn stops_reading(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 300.0], [0, 30]).lay(dice, plan);
    let buffer = size(dice, 10_000.0, 100_000.0);
    let uploads = dice.between(0, 2) == 0;
    let host = if uploads { &mut plan.server } else { &mut plan.client };
    host.receive_buffer = Some(buffer);
    note(plan, "receive_buffer", json!(buffer));
    note(plan, "uploads", json!(uploads));
    let exchange = |dice: &mut Dice| {
        let reading = Reading {
            chunk: 2 * buffer,
            pause: Duration::from_secs_f64(dice.scaled(0.1, 1.2)),
            ..Reading::FAST
        };
        let large = Message::whole(buffer * 2 + size(dice, 1_000.0, 30_000.0));
        let small = Message::whole(size(dice, 100.0, 2_000.0));
        let server_think = at_times(dice, 3, 60);
        match uploads {
            true => Exchange {
                request: large,
                request_reading: reading,
                server_think,
                ..Exchange::simple(small)
            },
            false => Exchange { reading, server_think, ..Exchange::simple(large) },
        }
    };
    plan.connections = vec![repeat(dice, 2, exchange)];
}

/// Initial windows of 1 to 40, with which idle times from below a retransmission timeout to some of them cut the window
/// to something else each time, or with `tcp_slow_start_after_idle=0` to nothing.
pub(super) fn idle_windows(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [20.0, 500.0], [5, 80]).lay(dice, plan);
    plan.initial_window = Some(dice.between(1, 40));
    note(plan, "initial_window", json!(plan.initial_window));
    plan.kernel.keeps_idle_window = dice.between(0, 1) == 0;
    note(plan, "keeps_idle_window", json!(plan.kernel.keeps_idle_window));
    plan.congestion = *one_of(dice, &[Congestion::Cubic, Congestion::Cubic, Congestion::Reno]);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 4, 100),
        client_think: Duration::from_secs_f64(dice.scaled(0.1, 1.5)),
        ..Exchange::simple(Message::whole(size(dice, 10e3, 400e3)))
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// Chunks that a program writes as it makes them, from none to one in two round trips; the last one, which is empty,
/// has a write of its own, as with Node's `end`.
pub(super) fn chunked(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [5.0, 300.0], [1, 40]);
    path.lay(dice, plan);
    plan.protocol = Protocol::Chunked;
    plan.server.no_delay = dice.between(0, 1) == 0;
    let trip = f64::from(2 * (path.delay[0] + path.delay[1]));
    let exchange = |dice: &mut Dice| {
        let (chunk, times) = (size(dice, 100.0, 9_000.0), size(dice, 1.0, 12.0));
        let pause = Step::Pause(Duration::from_secs_f64(trip * dice.scaled(0.1, 2.0) / 1e3));
        let mut steps = if dice.between(0, 1) == 0 { vec![Step::Head] } else { Vec::new() };
        let paused = dice.between(0, 1) == 0;
        for _ in 0..times {
            steps.push(Step::Bytes(chunk));
            steps.extend(paused.then_some(pause));
        }
        steps.push(Step::Rest);
        Exchange {
            server_think: at_times(dice, 2, 150),
            client_think: at_times(dice, 3, 60),
            ..Exchange::simple(Message { body: chunk * times, steps })
        }
    };
    plan.connections = vec![repeat(dice, 6, exchange)];
}

/// Uploads whose client asks for leave (`Expect: 100-continue`, as curl from 1 MiB on, and some libraries always). The
/// server gives it at once, after a while as one that looks up who the client is, or never, as one that does not know
/// it: then the client goes on after a second.
pub(super) fn expects(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 200.0], [1, 60]).lay(dice, plan);
    plan.protocol = Protocol::Expects;
    let exchange = |dice: &mut Dice| Exchange {
        request: Message {
            body: size(dice, 500.0, 150_000.0),
            steps: vec![Step::Head, Step::AwaitContinue, Step::Rest],
        },
        continues_after: (dice.between(0, 3) > 0).then(|| at_times(dice, 2, 300)),
        server_think: at_times(dice, 2, 100),
        client_think: at_times(dice, 2, 100),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 2_000.0)))
    };
    plan.connections = vec![repeat(dice, 5, exchange)];
}

/// Python's asyncio serves: head and body in two writes without Nagle, a loop that writes what its socket did not take,
/// and think times of which many are near a cork's timer. One in three is on the client's own host.
pub(super) fn asyncio(dice: &mut Dice, plan: &mut Plan) {
    near_or_far(dice, [2.0, 300.0], 60).lay(dice, plan);
    plan.asyncio = true;
    plan.one_host = dice.between(0, 2) == 0;
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Http1, Protocol::Chunked]);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 300_000.0);
        let pause = || Step::Pause(millis(30));
        let steps = match dice.between(0, 2) {
            0 => vec![Step::Rest],
            1 => vec![Step::Head, Step::Rest],
            _ => vec![Step::Head, Step::Bytes(body / 2), pause(), Step::Rest],
        };
        Exchange {
            request: Message::whole(some_bytes(dice, 4, [300.0, 60_000.0])),
            server_think: at_times(dice, 2, 320),
            client_think: at_times(dice, 3, 200),
            ..Exchange::simple(Message { body, steps })
        }
    };
    plan.connections = (0..2).map(|_| repeat(dice, 5, exchange)).collect();
}

/// nginx or HAProxy on the server's host, and behind it a program that thinks, often about as long as a cork's timer.
pub(super) fn proxied(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 300.0], [0, 60]).lay(dice, plan);
    plan.front = Some(*one_of(dice, &[Front::Nginx, Front::Haproxy]));
    note(plan, "front", json!(format!("{:?}", plan.front)));
    plan.protocol = Protocol::Proxied;
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 3, [300.0, 60_000.0])),
        server_think: at_times(dice, 2, 400),
        client_think: at_times(dice, 3, 300),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 60_000.0)))
    };
    plan.connections = (0..2).map(|_| repeat(dice, 5, exchange)).collect();
}

/// Two dozen small exchanges, of which two differ: in what the server does, what the client sends, or what the path
/// does. What a connection has shown before says nothing about them.
pub(super) fn one_of_many(dice: &mut Dice, plan: &mut Plan) {
    let mut path = near_or_far(dice, [10.0, 300.0], 40);
    if dice.between(0, 2) == 0 {
        let at = dice.between(200, 800);
        path.holds = vec![(at, at + dice.between(30, 300))];
        path.ways = *one_of(dice, &[Ways::ToServer, Ways::ToClient, Ways::Both]);
        plan.each_hold_counts = true;
    }
    path.lay(dice, plan);
    plan.server.no_delay = dice.between(0, 1) == 0;
    plan.protocol = any_protocol(dice);
    let usual = Exchange::simple(Message::whole(size(dice, 100.0, 1_300.0)));
    let mut exchanges = vec![usual; 24];
    for _ in 0..2 {
        let place = dice.between(8, 23) as usize;
        let it = &mut exchanges[place];
        match dice.between(0, 5) {
            0 => it.server_think = millis(dice.between(20, 500)),
            1 => it.response = Message::whole(size(dice, 50e3, 400e3)),
            2 => it.request = Message { body: size(dice, 100.0, 30_000.0), steps: pieces(dice) },
            3 => it.response = Message { body: size(dice, 100.0, 3_000.0), steps: pieces(dice) },
            4 => it.reading.late = millis(dice.between(20, 200)),
            _ => exchanges[place - 1].client_think = millis(dice.between(300, 1_500)),
        }
    }
    plan.connections = vec![exchanges];
}

/// Both ends have buffers near what the path holds, so that now one limits and now the other.
pub(super) fn small_buffers(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [5.0, 100.0], [3, 60]);
    path.lay(dice, plan);
    let trip = f64::from(2 * (path.delay[0] + path.delay[1]));
    let holds = (path.rate * 1e3 / 8.0 * trip).clamp(12e3, 200e3);
    let buffer = |dice: &mut Dice| size(dice, 0.3 * holds, 1.5 * holds);
    plan.server.send_buffer = Some(buffer(dice));
    plan.client.receive_buffer = Some(buffer(dice));
    note(plan, "buffers", json!([plan.server.send_buffer, plan.client.receive_buffer]));
    plan.congestion = *one_of(dice, &Congestion::ALL);
    plan.protocol = *one_of(dice, &[Protocol::Http1, Protocol::Tls, Protocol::Chunked]);
    let exchange = |dice: &mut Dice| {
        let block = *one_of(dice, &[4_096, 16_384, 65_536]);
        let times = size(dice, 2.0, 8.0 * holds / 4_096.0) * 4_096 / block + 1;
        let steps = [vec![Step::Bytes(block); times], vec![Step::Rest]].concat();
        Exchange {
            server_think: at_times(dice, 3, 60),
            client_think: at_times(dice, 3, 60),
            ..Exchange::simple(Message { body: block * times + 100, steps })
        }
    };
    plan.connections = vec![repeat(dice, 3, exchange)];
}
