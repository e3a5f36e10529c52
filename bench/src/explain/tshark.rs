//! tshark with the fields closest to Ackwise's output.
//!
//! Runs once on the beginning of one capture, because it takes about a hundred times as long.

use std::path::Path;
use std::process::Command;

use super::captures::Capture;
use super::comparison::Measured;
use crate::{child, verdict};
use xtask::install::{self, needs::Package};

const PACKAGES: &[Package] =
    &[Package { name: "tshark", purpose: "the other analyser to compare with", service: None }];

/// Measures tshark and prints the result, or the reason why it is not available.
///
/// # Errors
///
/// If tshark fails.
pub(super) fn report(capture: &Capture, ours: &Measured) -> anyhow::Result<()> {
    if let Err(error) = install::provide_packages(PACKAGES) {
        println!("skipped tshark: {error:#}");
        return Ok(());
    }
    let set_up = seconds(&capture.file, 1)?;
    let whole = seconds(&capture.file, PACKETS)?;
    // Excludes the time before the first packet, which is negligible for a whole capture.
    let speed = f64::from(PACKETS - 1) / (whole - set_up).max(f64::EPSILON);
    let times = ours.speed().median / speed;
    println!(
        "\ntshark -T fields, first {PACKETS} packets, once: {:.1} k packets / CPU s \
         ({whole:.2} s, of which {set_up:.2} s before the first packet)",
        speed / 1e3
    );
    println!("{} / tshark: {times:.0} for each packet", ours.name);
    println!("target: {TIMES} times tshark: {}", verdict(times >= TIMES));
    Ok(())
}

/// Processor time for the first `packets` packets.
fn seconds(file: &Path, packets: u32) -> anyhow::Result<f64> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-c", &packets.to_string(), "-T", "fields"]);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field])).arg("-r").arg(file);
    let run = child::run_unheard(&mut command)?;
    Ok((run.user + run.system).as_secs_f64())
}

const FIELDS: &[&str] =
    &["frame.number", "tcp.analysis.retransmission", "tcp.analysis.ack_rtt", "http.response.code"];

/// A fifth of the capture, which takes a quarter of a minute (our choice).
const PACKETS: u32 = 200_000;

/// Target: packets per second of processor time relative to tshark (our choice).
const TIMES: f64 = 100.0;
