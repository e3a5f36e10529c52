//! The path as an experiment, which both worlds play.

use std::fmt::Write as _;

use ackwise_lab::experiment::Experiment;
use ackwise_link::Seed;
use ackwise_sim::Scenario;
use anyhow::Context;

use super::path::{Buffers, Control, Path, REQUEST};

/// An experiment file for `ackwise run`.
pub(super) fn toml(path: &Path, nth: u64) -> String {
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

/// The only case of an experiment, with some of its values set anew.
pub(super) fn scenario(toml: &str, settings: &[&str], seed: u64) -> anyhow::Result<Scenario> {
    let experiment = Experiment::parse("path.toml", toml)?;
    let experiment = experiment.with_all_set(settings.iter().copied())?;
    let case = experiment.cases().first().context("the experiment has no case")?;
    Ok(Scenario { seed: Seed(seed), ..case.scenario.clone() })
}

/// In seconds: longer than any transfer takes (our choice).
const LONGEST: u32 = 120;

/// HyStart belongs to CUBIC.
const RENO: &str = "congestion = \"linux-reno\"\nslow_start = \"until-loss\"\n";

/// What the kernel takes to wake the server's program (measured: 50 to 100 us): long enough that it
/// acknowledges the first request before the response.
const SERVER_WAKES: &str = "80 us";
