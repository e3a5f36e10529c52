//! Prints the comparison as a table, and whether Ackwise reaches its targets for speed.

use super::comparison::Measured;
use super::work::Work;
use crate::verdict;
use ackwise_units::statistics::Spread;

/// Prints the results; the first simulator is Ackwise.
pub(super) fn print(work: Work, all: &[Measured]) {
    println!("\n{}: {}\n", work.name(), work.description());
    let speed = format!("{} / user s [quartiles]", work.unit());
    println!(
        "{:<8} {:>9} {:>12} {:>12} {:>7} {:>9} {speed:>36}",
        "", "virtual s", "packet-hops", "connections", "user s", "set-up s"
    );
    for measured in all {
        let connections =
            measured.counts.connections.map_or_else(|| "-".to_owned(), |n| n.to_string());
        println!(
            "{:<8} {:>9} {:>12} {connections:>12} {:>7.2} {:>9.2} {:>36}",
            measured.name,
            measured.seconds.to_string(),
            measured.counts.packet_hops,
            measured.whole().median,
            measured.set_up().median,
            in_thousands(measured.speed()),
        );
    }
    println!();
    let Some((ours, others)) = all.split_first() else { return };
    for other in others {
        println!(
            "{} / {}: {}, {} without what is done before the first packet",
            ours.name,
            other.name,
            ours.times(other),
            ours.times_when_set_up(other),
        );
    }
    targets(work, ours, others.iter().find(|other| other.seconds == ours.seconds));
}

/// Prints the targets. `same` has also done all of the work.
fn targets(work: Work, ours: &Measured, same: Option<&Measured>) {
    let target = work.target();
    if let Some(speed) = target.per_second {
        let reached = verdict(ours.speed().median >= speed);
        println!("target: {speed:.0} {} / user s: {reached}", work.unit());
    }
    let Some(same) = same else { return };
    let reached = verdict(ours.times(same).median >= target.times_ns2);
    println!("target: {} times {}: {reached}", target.times_ns2, same.name);
    let difference = difference(ours.counts.packet_hops, same.counts.packet_hops);
    let reached = verdict(difference <= MOST_DIFFERENT);
    println!("packet-hops differ by {:.2} % (target 2 %: {reached})", 100.0 * difference);
    if ours.times(same).is_wide() {
        println!("warning: the rounds disagree; repeat with more --rounds, or on a quiet machine");
    }
}

/// Difference between `ours` and `other` as a share of `other`.
fn difference(ours: u64, other: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of one run are below 2^53")]
    let (difference, other) = (ours.abs_diff(other) as f64, other.max(1) as f64);
    difference / other
}

/// Thousands, without insignificant digits.
fn in_thousands(speed: Spread) -> String {
    let Spread { lower, median, upper } = speed;
    format!("{:.1} k [{:.1} k, {:.1} k]", median / 1e3, lower / 1e3, upper / 1e3)
}

/// Maximum share by which the same work may differ (our choice).
const MOST_DIFFERENT: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_share_of_the_other() {
        assert!((difference(98, 100) - 0.02).abs() < 1e-12);
        assert!((difference(102, 100) - 0.02).abs() < 1e-12);
    }
}
