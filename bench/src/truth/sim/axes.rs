//! The second set of families in the simulator: as far as it goes, what the kernel's has. All ranges are those of
//! `kernel::axes`, and our choice.

use super::draw::{Drawn, Provoke, delay, page, ratio, round};
use crate::dice::Dice;

/// By name, in turn.
pub(super) const FAMILIES: &[(&str, Provoke)] = &[
    ("long-think", long_think),
    ("far", far),
    ("fast", fast),
    ("initial-window", initial_window),
    ("window-kept-idle", window_kept_idle),
    ("reordered", reordered),
    ("paced-writes", paced_writes),
    ("slow-client", slow_client),
    ("no-timestamps", no_timestamps),
];

/// As long as a cork's timer, more or less, before a small response.
fn long_think(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 50.0, 1_300.0);
    let think = round(dice.scaled(150.0, 400.0));
    drawn.set("application.web.behaviour.think", format!("\"{think} ms\""));
}

fn far(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 200.0, 200_000.0);
    delay(drawn, dice, 50.0, 200.0);
}

fn fast(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 10_000.0, 1_500_000.0);
    delay(drawn, dice, 0.2, 25.0);
    let rate = dice.scaled(200_000.0, 1_000_000.0).round();
    drawn.set("link.path.rate", format!("\"{rate} kb/s\""));
}

fn initial_window(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 1_500.0, 250_000.0);
    let windows = [1, 2, 3, 4, 6, 16, 20, 32, 64];
    drawn.set("host.server.tcp.initial_window", windows[dice.between(0, 8) as usize]);
    drawn.set("application.web.connections", "\"per-document\"");
}

fn window_kept_idle(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 40_000.0, 400_000.0);
    quick(drawn, dice);
    drawn.set("application.web.think", "{ uniform = { from = \"300 ms\", to = \"2 s\" } }");
    drawn.keep_window_over_idle();
}

/// Data and ACKs overtake each other by up to 2 ms.
fn reordered(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 20_000.0, 300_000.0);
    quick(drawn, dice);
    drawn.set("link.path.reordering", format!("\"{} %\"", ratio(dice.scaled(1.0, 20.0))));
    drawn.set("link.path.lateness", format!("\"{} ms\"", round(dice.scaled(0.2, 2.0))));
}

/// Writes from an eighth of a round trip to two round trips apart.
fn paced_writes(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 5_000.0, 60_000.0);
    delay(drawn, dice, 3.0, 40.0);
    let pause = round(2.0 * drawn.delay_ms * dice.scaled(0.125, 2.0));
    drawn.set("application.web.behaviour.think_between_writes", format!("\"{pause} ms\""));
    let write = dice.scaled(200.0, 6_000.0).round();
    drawn.set("application.web.behaviour.write_size", format!("\"{write} B\""));
}

fn slow_client(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 50_000.0, 300_000.0);
    quick(drawn, dice);
    let buffer = dice.scaled(8_000.0, 120_000.0).round();
    drawn.set("host.client.tcp.receive_buffer", format!("\"{buffer} B\""));
    let size = dice.scaled(2_000.0, 16_000.0).round();
    drawn.set("application.web.reads.slowly.size", format!("\"{size} B\""));
    let pause = round(dice.scaled(5.0, 50.0));
    drawn.set("application.web.reads.slowly.pause", format!("\"{pause} ms\""));
}

/// A rate at which a link is not what most time goes to.
fn quick(drawn: &mut Drawn, dice: &mut Dice) {
    let rate = dice.scaled(20_000.0, 300_000.0).round();
    drawn.set("link.path.rate", format!("\"{rate} kb/s\""));
}

fn no_timestamps(drawn: &mut Drawn, dice: &mut Dice) {
    page(drawn, dice, 300.0, 200_000.0);
    drawn.set("host.client.tcp.timestamps", false);
    drawn.set("host.server.tcp.timestamps", false);
}
