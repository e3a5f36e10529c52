//! The path in the simulator: an experiment for `ackwise run`, and an observer of its run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ackwise_lab::experiment::Experiment;
use ackwise_link::Seed;
use ackwise_sim::observe::{Side, Sighting};
use ackwise_sim::{Observer, run as simulate};
use ackwise_tcp::Instant;
use anyhow::Context;

use super::flow::{End, Flow, OnWire};
use super::path::{Buffers, Control, Path, REQUEST, SEGMENT};

/// The path as an experiment, which `ackwise run` can repeat.
pub(super) fn experiment(path: &Path, nth: u64) -> String {
    let fates = path.fates(nth);
    let Path { rate, delay, queue, lateness, size, transfers, idle, .. } = path;
    let (preset, congestion) = match path.control {
        Control::Cubic => ("linux-6", String::new()),
        Control::Reno => ("linux-6", RENO.to_owned()),
        // The kernel draws the phase at random.
        Control::Bbr => ("linux-6-bbr", format!("bbr_phase = {}\n", 2 * nth % 7)),
    };
    let buffers = match path.buffers {
        Buffers::Stated => {
            let bytes = Buffers::STATED;
            format!("receive_buffer = \"{bytes} B\"\nsend_buffer = \"{bytes} B\"\n")
        }
        Buffers::Tuned => String::new(),
    };
    let mut back = String::new();
    if !fates.lost.is_empty() {
        let _ = write!(back, "loss = {{ nth = {:?} }}, ", fates.lost);
    }
    if !fates.late.is_empty() {
        let _ = write!(
            back,
            "reordering = {{ nth = {:?} }}, lateness = \"{lateness} us\", ",
            fates.late
        );
    }
    let back = back.strip_suffix(", ").map(|keys| format!("back = {{ {keys} }}\n"));
    let back = back.unwrap_or_default();
    format!(
        r#"title = "Path {number} of the comparison with the kernel"
duration = "{LONGEST} s"
[tcp]
preset = "{preset}"
{congestion}{buffers}[host]
client = {{}}
server = {{}}
[link.path]
ends = ["client", "server"]
rate = "{rate} kb/s"
delay = "{delay} us"
queue = "{queue} packets"
{back}[application.web]
kind = "web"
client = "client"
server = "server"
pages = {transfers}
request = "{REQUEST} B"
response_head = "0 B"
workload = {{ primary = "{size} B", inlines = [] }}
transfer = "persistent"
connections = "kept"
think = "{idle} ms"
behaviour = {{ think = "{SERVER_WAKES}" }}
prompt_acks = true
"#,
        number = path.number,
    )
}

/// Runs an experiment of one connection.
pub(super) fn run(toml: &str, seed: u64) -> anyhow::Result<Flow> {
    let experiment = Experiment::parse("path.toml", toml)?;
    let case = experiment.cases().first().context("the experiment has no case")?;
    let mut scenario = case.scenario.clone();
    scenario.seed = Seed(seed);
    let mut watcher = Watcher::default();
    simulate(&scenario, &mut watcher)?;
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

/// In seconds: longer than any transfer takes (our choice).
const LONGEST: u32 = 120;

/// HyStart belongs to CUBIC.
const RENO: &str = "congestion = \"linux-reno\"\nslow_start = \"until-loss\"\n";

/// What the kernel takes to wake the server's program (measured: 50 to 100 us): long enough that it
/// acknowledges the first request before the response.
const SERVER_WAKES: &str = "80 us";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_an_experiment_that_ends() {
        for number in 0..16 {
            let path = Path::draw(1, number);
            let toml = experiment(&path, 0);
            let outcome = run(&toml, 1).unwrap().outcome(path.work());
            let outcome = outcome.unwrap_or_else(|| panic!("{path}: not all arrived\n{toml}"));
            let least = f64::from(path.size) * 8.0 / f64::from(path.rate) / 1e3;
            assert!(outcome.time > least * f64::from(path.transfers), "{path}: {outcome:?}");
            assert_eq!(path.transfers > 1, outcome.burst > 0, "{path}: {outcome:?}");
        }
    }
}
