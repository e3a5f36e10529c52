//! The path in the simulator: an observer of the experiment's run.

use std::collections::BTreeMap;

use ackwise_sim::observe::{Side, Sighting};
use ackwise_sim::{Observer, run as simulate};
use ackwise_tcp::Instant;

use super::experiment;
use super::flow::{End, Flow, OnWire};
use super::path::SEGMENT;

/// Runs an experiment of one connection.
pub(super) fn run(toml: &str, seed: u64) -> anyhow::Result<Flow> {
    let mut watcher = Watcher::default();
    simulate(&experiment::scenario(toml, &[], seed)?, &mut watcher)?;
    watcher.flow.windows = watcher.windows.into_iter().collect();
    Ok(watcher.flow)
}

#[derive(Default)]
struct Watcher {
    flow: Flow,
    windows: BTreeMap<u64, u32>,
}

impl Watcher {
    fn on_wire(sighting: &Sighting<'_>) -> OnWire {
        let segment = &sighting.transmit.segment;
        OnWire {
            from: match sighting.from {
                Side::Client => End::Client,
                Side::Server => End::Server,
            },
            syn: segment.flags.syn,
            seq: segment.seq.0,
            ack: segment.ack.map_or(0, |ack| ack.0),
            len: segment.len,
        }
    }
}

impl Observer for Watcher {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let packet = Self::on_wire(sighting);
        self.flow.note(&packet);
        self.flow.sent.push(self.flow.packet(&packet, now.as_nanos()));
        if sighting.from == Side::Server {
            let window = f64::from(sighting.congestion_window) / SEGMENT;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a window has 32 bits"
            )]
            self.windows.insert(now.as_nanos(), window.floor() as u32);
        }
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.flow.arrived.push(self.flow.packet(&Self::on_wire(sighting), now.as_nanos()));
    }

    fn on_dropped(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.flow.dropped.push(self.flow.packet(&Self::on_wire(sighting), now.as_nanos()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::Path;
    use super::*;

    #[test]
    fn every_path_is_an_experiment_that_ends() {
        for number in 0..16 {
            let path = Path::draw(1, number);
            let toml = experiment::toml(&path, 0);
            let outcome = run(&toml, 1).unwrap().outcome(path.work());
            let outcome = outcome.unwrap_or_else(|| panic!("{path}: not all arrived\n{toml}"));
            let least = f64::from(path.size) * 8.0 / f64::from(path.rate) / 1e3;
            assert!(outcome.time > least * f64::from(path.transfers), "{path}: {outcome:?}");
            assert_eq!(path.transfers > 1, outcome.burst > 0, "{path}: {outcome:?}");
        }
    }
}
