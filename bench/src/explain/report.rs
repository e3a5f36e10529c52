//! Prints the comparison as a table, and whether Ackwise reaches its targets for speed and memory.

use super::captures::{Capture, Kind};
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
        let (cpu, wall) = (ours.times(other), ours.wall_ratio(other));
        println!("{} / {}: by CPU time {cpu}, by wall time {wall}", ours.name, other.name);
    }
    if let Some(tcptrace) = others.first() {
        targets(*kind, ours, tcptrace);
    }
}

fn targets(kind: Kind, ours: &Measured, tcptrace: &Measured) {
    let (cpu, wall) = (ours.times(tcptrace), ours.wall_ratio(tcptrace));
    let (least_cpu, least_wall) = least(kind);
    for (what, times, least) in [("CPU", &cpu, least_cpu), ("wall", &wall, least_wall)] {
        let reached = verdict(times.median >= least);
        println!("target by {what} time: {least} times {}: {reached}", tcptrace.name);
    }
    println!("target: under 100 MB: {}", verdict(ours.peak() < MOST_MEMORY));
    if cpu.is_wide() || wall.is_wide() {
        println!("warning: the rounds disagree; repeat with more --rounds, or on a quiet machine");
    }
}

/// Targets: speed by processor time and by wall time on two processors, relative to tcptrace (our
/// choice).
const fn least(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::Full | Kind::Short | Kind::Kept => (1.5, 3.0),
        Kind::Cut => (0.94, 1.6),
    }
}

/// Target: maximum memory in bytes (our choice).
const MOST_MEMORY: u64 = 100_000_000;
