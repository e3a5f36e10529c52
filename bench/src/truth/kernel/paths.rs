//! The path of a run: drawn, then laid as two links.

use std::num::NonZeroU32;
use std::time::Duration;

use ackwise_link::{Faults, Limit, LinkConfig, Pick, Probability, Queue, Rate};
use ackwise_linux::emulator::{Hold, Ways};
use serde_json::{Value, json};

use super::plan::Plan;
use crate::dice::Dice;

/// A path between client and server.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Of the slower link, in Mb/s.
    pub(super) rate: f64,
    /// One way, of each link, in ms.
    pub(super) delay: [u32; 2],
    /// Packets in each queue.
    pub(super) queue: u32,
    /// Of each packet, in each direction of the link at the client.
    pub(super) loss: f64,
    /// Short holds again and again.
    pub(super) jitter: bool,
    /// From and until, in ms after the links were laid.
    pub(super) holds: Vec<(u32, u32)>,
    /// The directions that are held.
    pub(super) ways: Ways,
    /// The link at the server holds instead of the one at the client.
    pub(super) held_far: bool,
    /// Of each packet to the client, and by how many microseconds it comes late.
    pub(super) reordered: Option<(f64, u32)>,
}

impl Path {
    /// Draws the rate, and the delay of one link; the other's is some milliseconds.
    pub(super) fn draw(dice: &mut Dice, rate: [f64; 2], delay: [u32; 2]) -> Self {
        let rate = dice.scaled(rate[0], rate[1]);
        let mut delay = [dice.between(delay[0], delay[1]), dice.between(1, 5)];
        if dice.between(0, 1) == 0 {
            delay.reverse();
        }
        Self { rate, delay, queue: 500, ..Self::of(rate, delay) }
    }

    /// Without queues that matter, and without faults.
    pub(super) const fn of(rate: f64, delay: [u32; 2]) -> Self {
        Self {
            rate,
            delay,
            queue: 500,
            loss: 0.0,
            jitter: false,
            holds: Vec::new(),
            ways: Ways::Both,
            held_far: false,
            reordered: None,
        }
    }

    /// Makes links of it. The bottleneck may be either.
    pub(super) fn lay(&self, dice: &mut Dice, plan: &mut Plan) {
        let mut rates = [self.rate, self.rate * FASTER];
        if dice.between(0, 1) == 0 {
            rates.reverse();
        }
        for ((link, rate), delay) in plan.links.iter_mut().zip(rates).zip(self.delay) {
            let rate = rate_of(rate);
            let queue = NonZeroU32::new(self.queue).unwrap_or(NonZeroU32::MIN);
            let delay = Duration::from_millis(delay.into());
            let queue = Queue::DropTail(Limit::Packets(queue));
            let config = LinkConfig { rate, delay, queue, ..LinkConfig::IDEAL };
            (link.to_server, link.to_client) = (config.clone(), config);
        }
        let near = &mut plan.links[0];
        if self.loss > 0.0 {
            let faults = Faults { loss: random(self.loss), ..Faults::NONE };
            (near.to_server.faults, near.to_client.faults) = (faults.clone(), faults);
        }
        let hold = |&(from, until): &(u32, u32)| {
            let [from, until] = [from, until].map(|at| Duration::from_millis(at.into()));
            Hold { from, until, ways: self.ways }
        };
        let holds = self.holds.iter().map(hold).collect();
        near.holds = if self.jitter { jitter(dice) } else { Vec::new() };
        if !self.jitter {
            plan.links[usize::from(self.held_far)].holds = holds;
        }
        if let Some((share, micros)) = self.reordered {
            let faults = &mut plan.links[0].to_client.faults;
            faults.reordering = random(share);
            faults.lateness = Duration::from_micros(micros.into());
            note(plan, "reordered", json!([share, micros]));
        }
        let Self { rate, delay, queue, loss, jitter, .. } = self;
        let numbers = [
            ("rate_mbit", json!(rate)),
            ("delay_ms", json!(delay)),
            ("bottleneck", json!(if rates[0] < rates[1] { "client" } else { "server" })),
            ("queue", json!(queue)),
            ("loss", json!(loss)),
            ("jitter", json!(jitter)),
        ];
        numbers.into_iter().for_each(|(name, value)| note(plan, name, value));
    }
}

/// In Mb/s.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
pub(super) fn rate_of(megabits: f64) -> Option<Rate> {
    Rate::bits_per_second((megabits * 1e6) as u64)
}

/// A share of all packets, by chance.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
pub(super) fn random(share: f64) -> Pick {
    Probability::per_million((share * 1e6) as u32).map_or(Pick::Never, Pick::Random)
}

/// Holds of some milliseconds, as a radio link has them.
fn jitter(dice: &mut Dice) -> Vec<Hold> {
    let (mut at, mut holds) = (0, Vec::new());
    while at < JITTERS_FOR {
        let from = Duration::from_millis(u64::from(at + dice.between(5, 50)));
        let span = Duration::from_micros(u64::from(dice.between(200, 5_000)));
        holds.push(Hold { from, until: from + span, ways: Ways::Both });
        at += 60;
    }
    holds
}

/// Adds to `case.json`.
pub(super) fn note(plan: &mut Plan, name: &str, value: Value) {
    plan.parameters.insert(name.to_owned(), value);
}

/// The faster link, against the slower one (our choice).
const FASTER: f64 = 4.0;
/// In ms: longer than any run.
const JITTERS_FOR: u32 = 60_000;
