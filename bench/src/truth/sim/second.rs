//! The last set of families in the simulator, drawn up as `kernel::second` was: mechanisms and combinations that the
//! other sets do not have. All ranges without a source are our choice.

use super::draw::{Drawn, Provoke, bbr, delay, page, ratio, round};
use crate::dice::Dice;

/// By name, in turn.
pub(super) const FAMILIES: &[(&str, Provoke)] = &[
    ("slow-uplink", slow_uplink),
    ("acks-lost", acks_lost),
    ("bursts-lost", bursts_lost),
    ("duplicated", duplicated),
    ("idle-windows", idle_windows),
    ("bbr-anywhere", bbr_anywhere),
    ("late-second-write", late_second_write),
    ("parallel", parallel),
    ("rate-changes", rate_changes),
    ("small-buffers", small_buffers),
];

/// Requests of some size over an uplink that is 4 to 20 times as slow as the downlink, as ADSL's (ITU-T G.992.5).
fn slow_uplink(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 500.0, 200_000.0);
    let down = dice.scaled(2_000.0, 40_000.0);
    let up = (down / dice.scaled(4.0, 20.0)).round();
    drawn.set("link.path.rate", format!("\"{up} kb/s\""));
    drawn.set("link.path.back.rate", format!("\"{} kb/s\"", down.round()));
    drawn.set("application.web.request", format!("\"{} B\"", dice.scaled(200.0, 30_000.0).round()));
    think(drawn, dice);
}

/// Only what the client sends is lost.
fn acks_lost(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 500.0, 150_000.0);
    drawn.set("link.path.loss", format!("\"{} %\"", ratio(dice.scaled(2.0, 30.0))));
    drawn.set("link.path.back.loss", "\"0 %\"");
}

/// Losses of the server's packets in bursts of 1 to 5 in the mean (Gilbert 1960).
fn bursts_lost(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 2_000.0, 100_000.0);
    // Of all packets, and how many are lost in a row in the mean.
    let losses = [dice.scaled(0.005, 0.06), dice.scaled(1.0, 5.0)];
    let numbers = dice.gilbert(losses, PACKETS);
    drawn.set("link.path.back.loss", format!("{{ nth = {numbers:?} }}"));
    think(drawn, dice);
}

/// Packets of both directions come twice.
fn duplicated(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 300.0, 80_000.0);
    drawn.set("link.path.duplication", format!("\"{} %\"", ratio(dice.scaled(1.0, 50.0))));
    think(drawn, dice);
}

/// Initial windows of 1 to 40, and idle times from below a retransmission timeout to some of them.
fn idle_windows(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 10_000.0, 400_000.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(20_000.0, 500_000.0).round()));
    drawn.set("host.server.tcp.initial_window", dice.between(1, 40));
    let restart = ["keep", "decay", "since-send"][dice.between(0, 2) as usize];
    match restart {
        "keep" => drawn.keep_window_over_idle(),
        _ => drawn.set("host.server.tcp.idle_restart", format!("\"{restart}\"")),
    }
    drawn.set("application.web.think", "{ uniform = { from = \"100 ms\", to = \"1500 ms\" } }");
}

/// From 1 Mb/s to 1 Gb/s, and from round trips below a millisecond to 400 ms.
fn bbr_anywhere(drawn: &mut Drawn, dice: &mut Dice) {
    delay(drawn, dice, 0.2, 200.0);
    let rate = dice.scaled(1_000.0, 1_000_000.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", rate.round()));
    // Not more than the link takes in a second.
    page(drawn, dice, 5_000.0, (rate * 1e3 / 8.0).clamp(60e3, 1.5e6));
    drawn.set("link.path.queue", format!("\"{} packets\"", dice.scaled(4.0, 2_000.0).round()));
    bbr(drawn, dice);
}

/// Nagle's algorithm is on, and the second write comes a quarter of a round trip to three round trips after the first.
fn late_second_write(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 50.0, 4_000.0);
    delay(drawn, dice, 1.0, 40.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(10_000.0, 200_000.0).round()));
    let hold = ["nagle", "minshall"][dice.between(0, 1) as usize];
    drawn.set("host.server.tcp.hold", format!("\"{hold}\""));
    drawn.set("application.web.behaviour.nagle", "\"on\"");
    drawn.set("application.web.response_head", format!("\"{} B\"", dice.between(80, 600)));
    drawn.set("application.web.behaviour.head_flush", "\"apart\"");
    let pause = round(2.0 * drawn.delay_ms * dice.scaled(0.25, 3.0));
    drawn.set("application.web.behaviour.think_after_head", format!("\"{pause} ms\""));
}

/// The images of a page over two to six connections at a time, which share a slow link.
fn parallel(drawn: &mut Drawn, dice: &mut Dice) {
    let sizes: Vec<String> = (0..dice.between(3, 10))
        .map(|_| format!("\"{} B\"", dice.scaled(500.0, 100_000.0).round()))
        .collect();
    let workload = format!("{{ primary = \"5 KB\", inlines = [{}] }}", sizes.join(", "));
    drawn.set("application.web.workload", workload);
    let connections = dice.between(2, 6);
    drawn.set(
        "application.web.transfer",
        format!("{{ parallel = {{ connections = {connections} }} }}"),
    );
    drawn.set("application.web.connections", "\"per-document\"");
    drawn.set("application.web.pages", 3);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", dice.scaled(1_000.0, 20_000.0).round()));
    drawn.set("link.path.queue", format!("\"{} packets\"", dice.between(15, 150)));
}

/// From some time on, the link is two to ten times as fast or as slow.
fn rate_changes(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 20_000.0, 400_000.0);
    let rate = dice.scaled(3_000.0, 30_000.0);
    let factor = dice.scaled(2.0, 10.0);
    let later = if dice.between(0, 1) == 0 { rate * factor } else { rate / factor };
    drawn.set("link.path.rate", format!("\"{} kb/s\"", rate.round()));
    let (at, later) = (dice.between(300, 3_000), later.round());
    drawn.set("link.path.rate_change", format!("{{ at = \"{at} ms\", rate = \"{later} kb/s\" }}"));
    think(drawn, dice);
}

/// Both buffers are near what the path holds.
fn small_buffers(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 30_000.0, 500_000.0);
    delay(drawn, dice, 3.0, 80.0);
    let rate = dice.scaled(5_000.0, 100_000.0);
    drawn.set("link.path.rate", format!("\"{} kb/s\"", rate.round()));
    // Bits per millisecond are kb/s.
    let holds = (rate * 2.0 * drawn.delay_ms / 8.0).clamp(12e3, 200e3);
    for key in ["host.server.tcp.send_buffer", "host.client.tcp.receive_buffer"] {
        let buffer = (holds * dice.scaled(0.3, 1.5)).round();
        drawn.set(key, format!("\"{buffer} B\""));
    }
}

/// Of the server, before half of the pages: up to what a cork's timer takes, and beyond.
fn think(drawn: &mut Drawn, dice: &mut Dice) {
    let think = round(dice.scaled(5.0, 400.0));
    if dice.between(0, 1) == 0 {
        drawn.set("application.web.behaviour.think", format!("\"{think} ms\""));
    }
}

/// More than any run has.
const PACKETS: u64 = 5_000;
