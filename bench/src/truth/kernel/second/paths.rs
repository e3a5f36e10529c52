//! What the path does.

use std::num::NonZeroU32;
use std::time::Duration;

use ackwise_link::{Faults, Limit, Pick, Queue};
use ackwise_linux::emulator::{Hold, Ways};
use serde_json::json;

use super::{near_or_far, some_bytes};
use crate::dice::Dice;
use crate::truth::kernel::families::{any_protocol, at_times, one_of, pieces, repeat, size};
use crate::truth::kernel::paths::{Path, note, random, rate_of};
use crate::truth::kernel::plan::{Congestion, Cross, Exchange, Message, Plan, Stamps, Step};

/// Another connection's upload fills an uplink that is 4 to 20 times as slow as the downlink, as ADSL's (ITU-T G.992.5)
/// and cable's are, so that requests and ACKs wait behind it, and responses do not. Its queue holds 50 to 400 ms:
/// Dischinger et al. (2007) measured more.
pub(super) fn busy_uplink(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [4.0, 40.0], [2, 30]);
    path.lay(dice, plan);
    let slower = dice.scaled(4.0, 20.0);
    for link in &mut plan.links {
        let rate = link.to_server.rate.map_or(0, |it| it.get());
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = rate as f64 / slower;
        link.to_server.rate = rate_of(rate / 1e6);
        link.to_server.queue = queue_of(rate / 1e6, dice.scaled(50.0, 400.0));
    }
    note(plan, "uplink_slower", json!(slower));
    cross(dice, plan, path.rate / slower, true);
    plan.each_hold_counts = true;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 3, [300.0, 6_000.0])),
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 2, 100),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 30_000.0)))
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// Another connection's download keeps a queue of 40 to 200 ms all the time, as a backup or a film does where nobody
/// manages queues: to one who measures round trips, it is distance.
pub(super) fn standing_queue(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [3.0, 30.0], [1, 15]);
    path.lay(dice, plan);
    let held = dice.scaled(40.0, 200.0);
    for link in &mut plan.links {
        link.to_client.queue = queue_of(path.rate, held);
    }
    note(plan, "queue_ms", json!(held));
    cross(dice, plan, path.rate, false);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 80),
        client_think: at_times(dice, 2, 100),
        ..Exchange::simple(Message::whole(size(dice, 200.0, 40_000.0)))
    };
    plan.connections = vec![repeat(dice, 10, exchange)];
}

/// Several downloads at a time over one slow link, as a browser's, with 20 to 200 ms of queue.
pub(super) fn shared_link(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [2.0, 20.0], [2, 40]);
    path.lay(dice, plan);
    let held = dice.scaled(20.0, 200.0);
    for link in &mut plan.links {
        link.to_client.queue = queue_of(path.rate, held);
    }
    note(plan, "queue_ms", json!(held));
    (plan.concurrent, plan.served_at_once) = (true, true);
    // Browsers open six (Chromium, Firefox).
    let connections = dice.between(2, 6);
    // All together take the link one to three seconds.
    let whole = path.rate * 1e6 / 8.0 / f64::from(connections);
    let exchanges = repeat(dice, 2, |dice| Exchange {
        server_think: at_times(dice, 3, 60),
        ..Exchange::simple(Message::whole(size(dice, 0.5 * whole, 1.5 * whole)))
    });
    plan.connections = vec![exchanges; connections as usize];
}

/// Packets of each direction are held for themselves, in order, for exponential times after exponential times, as where
/// a radio link is scheduled: 5 to 60 ms in the mean.
pub(super) fn jitter(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 200.0], [1, 25]).lay(dice, plan);
    let means = [dice.scaled(20.0, 150.0), dice.scaled(5.0, 60.0)];
    note(plan, "jitter_means_ms", json!(means));
    let mut holds = Vec::new();
    for ways in [Ways::ToServer, Ways::ToClient] {
        let mut at = 0.0;
        while at < RUN_MS {
            let from = at + dice.exponential(means[0]);
            // Four means are exceeded by one in fifty: without them, a run might last for minutes.
            at = from + dice.exponential(means[1]).min(4.0 * means[1]);
            let [from, until] = [from, at].map(|it| Duration::from_secs_f64(it / 1e3));
            holds.push(Hold { from, until, ways });
        }
    }
    plan.links[usize::from(dice.between(0, 1) == 0)].holds = holds;
    plan.each_hold_counts = true;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 4, [300.0, 20_000.0])),
        server_think: at_times(dice, 3, 100),
        client_think: at_times(dice, 2, 60),
        ..Exchange::simple(Message::whole(size(dice, 100.0, 50_000.0)))
    };
    plan.connections = vec![repeat(dice, 12, exchange)];
}

/// Losses in bursts of 1 to 5 packets in the mean, of both directions for themselves (the model of Gilbert, 1960): the
/// head of a response with its tail behind it, or a whole flight.
pub(super) fn bursts_lost(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 200.0], [1, 40]).lay(dice, plan);
    plan.congestion = *one_of(dice, &Congestion::ALL);
    let (share, burst) = (dice.scaled(0.005, 0.06), dice.scaled(1.0, 5.0));
    note(plan, "bursts_lost", json!([share, burst]));
    let mut lost = || Pick::Nth(dice.gilbert([share, burst], RUN_PACKETS));
    plan.links[0].to_server.faults.loss = lost();
    plan.links[0].to_client.faults.loss = lost();
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 4, [1_000.0, 30_000.0])),
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 2, 300),
        ..Exchange::simple(Message::whole(size(dice, 500.0, 60_000.0)))
    };
    plan.connections = vec![repeat(dice, 8, exchange)];
}

/// Only what the client sends is lost: ACKs, and some requests.
pub(super) fn acks_lost(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [5.0, 200.0], [1, 40]).lay(dice, plan);
    let share = dice.scaled(0.02, 0.3);
    note(plan, "acks_lost", json!(share));
    plan.links[0].to_server.faults.loss = random(share);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 3, 60),
        ..Exchange::simple(Message::whole(size(dice, 500.0, 150_000.0)))
    };
    plan.connections = vec![repeat(dice, 8, exchange)];
}

/// Some data, of either direction, comes 1 to 30 ms late and is overtaken, as where a flow takes two routes: nothing is
/// lost, whatever is sent again.
pub(super) fn data_reordered(dice: &mut Dice, plan: &mut Plan) {
    Path::draw(dice, [10.0, 300.0], [1, 40]).lay(dice, plan);
    let (share, lateness) = (dice.scaled(0.005, 0.15), dice.scaled(1.0, 30.0));
    note(plan, "reordered", json!([share, lateness]));
    let faults = Faults {
        reordering: random(share),
        lateness: Duration::from_secs_f64(lateness / 1e3),
        ..Faults::NONE
    };
    let link = &mut plan.links[0];
    (link.to_server.faults, link.to_client.faults) = (faults.clone(), faults);
    plan.each_hold_counts = true;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 3, [10e3, 150e3])),
        server_think: at_times(dice, 3, 60),
        client_think: at_times(dice, 3, 60),
        ..Exchange::simple(Message::whole(size(dice, 1_000.0, 200e3)))
    };
    plan.connections = vec![repeat(dice, 6, exchange)];
}

/// Packets come twice, as from a switch that mirrors or a radio link that repeats: D-SACKs, and no loss.
pub(super) fn duplicated(dice: &mut Dice, plan: &mut Plan) {
    near_or_far(dice, [5.0, 200.0], 40).lay(dice, plan);
    let shares = [dice.scaled(0.01, 0.5), dice.scaled(0.01, 0.5)];
    note(plan, "duplicated", json!(shares));
    let link = &mut plan.links[0];
    link.to_server.faults.duplication = random(shares[0]);
    link.to_client.faults.duplication = random(shares[1]);
    plan.server.no_delay = dice.between(0, 2) > 0;
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| {
        let body = size(dice, 100.0, 80_000.0);
        let steps = if dice.between(0, 1) == 0 { vec![Step::Rest] } else { pieces(dice) };
        Exchange {
            server_think: at_times(dice, 3, 120),
            client_think: at_times(dice, 3, 120),
            ..Exchange::simple(Message { body, steps })
        }
    };
    plan.connections = vec![repeat(dice, 8, exchange)];
}

/// Losses, packets that overtake each other and held ones, where timestamps are in microseconds or there are none.
pub(super) fn clocks_and_faults(dice: &mut Dice, plan: &mut Plan) {
    let mut path = Path::draw(dice, [5.0, 200.0], [1, 50]);
    path.jitter = dice.between(0, 2) == 0;
    path.lay(dice, plan);
    plan.kernel.stamps = *one_of(dice, &[Stamps::Microseconds, Stamps::Without]);
    note(plan, "timestamps", json!(format!("{:?}", plan.kernel.stamps)));
    let link = &mut plan.links[0];
    link.to_client.faults = Faults {
        loss: if dice.between(0, 1) == 0 { random(dice.scaled(0.003, 0.03)) } else { Pick::Never },
        reordering: if dice.between(0, 1) == 0 { random(0.02) } else { Pick::Never },
        lateness: Duration::from_secs_f64(dice.scaled(0.2, 5.0) / 1e3),
        ..Faults::NONE
    };
    plan.congestion = *one_of(dice, &Congestion::ALL);
    plan.protocol = any_protocol(dice);
    let exchange = |dice: &mut Dice| Exchange {
        request: Message::whole(some_bytes(dice, 4, [1_000.0, 60_000.0])),
        server_think: at_times(dice, 2, 150),
        client_think: at_times(dice, 3, 400),
        ..Exchange::simple(Message::whole(size(dice, 300.0, 120_000.0)))
    };
    plan.connections = vec![repeat(dice, 7, exchange)];
}

/// BBR from 1 Mb/s to 1 Gb/s and from round trips below a millisecond to 400 ms, with a queue of a tenth of the path to
/// three times as much.
pub(super) fn bbr_anywhere(dice: &mut Dice, plan: &mut Plan) {
    let path = Path::draw(dice, [1.0, 1_000.0], [0, 195]);
    path.lay(dice, plan);
    let trip = f64::from(2 * (path.delay[0] + path.delay[1])).max(5.0);
    for link in &mut plan.links {
        link.to_client.queue = queue_of(path.rate, trip * dice.scaled(0.1, 3.0));
    }
    plan.congestion = Congestion::Bbr;
    plan.protocol = any_protocol(dice);
    // Not more than the link takes in a second, so that a run ends.
    let most = (path.rate * 1e6 / 8.0).clamp(60e3, 1.5e6);
    let exchange = |dice: &mut Dice| Exchange {
        server_think: at_times(dice, 3, 100),
        client_think: at_times(dice, 3, 400),
        ..Exchange::simple(Message::whole(size(dice, 5e3, most)))
    };
    plan.connections = vec![repeat(dice, 4, exchange)];
}

/// Another connection that keeps a link of this rate, in Mb/s, busy all the time.
#[expect(clippy::fn_params_excessive_bools, reason = "a field of the plan")]
fn cross(dice: &mut Dice, plan: &mut Plan, rate: f64, to_server: bool) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    let burst = (rate * 1e6 / 8.0 * dice.scaled(0.2, 1.0)) as usize;
    plan.cross = Some(Cross { to_server, burst, pause: Duration::ZERO });
    note(plan, "cross_to_server", json!(to_server));
}

/// A queue of full packets that takes so long at this rate, in Mb/s; four at least, as any has.
fn queue_of(rate: f64, held_ms: f64) -> Queue {
    const PACKET_KBIT: f64 = 12.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
    let packets = (rate * held_ms / PACKET_KBIT) as u32;
    Queue::DropTail(Limit::Packets(NonZeroU32::new(packets.max(4)).expect("at least four")))
}

/// Longer than any run.
const RUN_MS: f64 = 60_000.0;
/// More than any run with losses has.
const RUN_PACKETS: u64 = 20_000;
