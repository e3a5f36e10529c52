//! Prints the comparison as a table, and whether Ackwise reaches its targets for speed and memory.

use super::captures::Capture;
use super::comparison::Measured;
use crate::verdict;

/// Prints the results; the first reader is Ackwise, the second is the reference.
pub(super) fn print(capture: &Capture, all: &[Measured]) {
    let Capture { kind, packets, bytes, .. } = capture;
    let megabytes = bytes / 1_000_000;
    println!("\n{}: {}", kind.name(), kind.description());
    println!("{packets} packets, {megabytes} MB\n");
    println!(
        "{:<16} {:>36} {:>7} {:>7} {:>8}",
        "", "k packets / CPU s [quartiles]", "CPU s", "wall s", "peak MB"
    );
    for measured in all {
        let speed = measured.speed();
        let [lower, median, upper] =
            [speed.lower, speed.median, speed.upper].map(|it| format!("{:.0}", it / 1e3));
        println!(
            "{:<16} {:>36} {:>7.2} {:>7.2} {:>8}",
            measured.name,
            format!("{median} [{lower}, {upper}]"),
            measured.cpu().median,
            measured.wall().median,
            measured.peak().div_ceil(1_000_000),
        );
    }
    println!();
    let Some((ours, others)) = all.split_first() else { return };
    for other in others {
        println!("{} / {}: {}", ours.name, other.name, ours.times(other));
    }
    if let Some(tcptrace) = others.first() {
        targets(ours, tcptrace);
    }
}

fn targets(ours: &Measured, tcptrace: &Measured) {
    let times = ours.times(tcptrace);
    let reached = verdict(times.median >= TIMES_TCPTRACE);
    println!("target: {TIMES_TCPTRACE} times {}: {reached}", tcptrace.name);
    println!("target: under 100 MB: {}", verdict(ours.peak() < MOST_MEMORY));
    if times.is_wide() {
        println!("warning: the rounds disagree; repeat with more --rounds, or on a quiet machine");
    }
}

/// Target: packets per second of processor time relative to tcptrace (our choice).
const TIMES_TCPTRACE: f64 = 1.5;

/// Target: maximum memory in bytes (our choice).
const MOST_MEMORY: u64 = 100_000_000;
