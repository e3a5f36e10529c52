//! Measures what the policies of `linux-6` cost: the same work with them (HyStart, PRR, RACK-TLP, undo, F-RTO, tuned
//! buffers) and without them.
//!
//! User time varies between rounds, so its ratio is taken for each round and has a spread. Instructions hardly vary, and
//! decide whether the target is reached; they are counted in a shorter run by Valgrind, because virtual machines often
//! have no hardware counter. Both are divided by the packet-hops, because other policies send other packets.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::comparison;
use super::simulator::{Simulator, Watch};
use super::work::{Seconds, Work};
use crate::{child, verdict};
use xtask::install::{self, needs::Package};

/// Measures and prints the result: `simulators` are the program with and without the policies. Valgrind writes its
/// counts to `directory`.
///
/// # Errors
///
/// If a run fails, or does not print its counts.
pub(super) fn report(
    simulators: &[Box<dyn Simulator>; 2],
    rounds: NonZeroUsize,
    directory: &Path,
) -> anyhow::Result<()> {
    println!("\npolicies: linux-6 with its policies, and without those that no other preset has\n");
    let valgrind = install::provide_packages(PACKAGES);
    if let Err(error) = &valgrind {
        println!("skipped instructions: {error:#}");
    }
    println!(
        "{:<12} {:>38} {:>30}",
        "", "time a packet-hop [quartiles]", "instructions a packet-hop"
    );
    for work in Work::ALL {
        let measured = comparison::compare(work, simulators, rounds)?;
        let [with, without] = &measured[..] else { continue };
        let time = without.hops_per_second_beside(with);
        let counted = match &valgrind {
            Err(_) => "-".to_owned(),
            Ok(()) => {
                let [with, without] =
                    [0, 1].map(|which| instructions(work, simulators[which].as_ref(), directory));
                let (with, without) = (with?, without?);
                let ratio = with / without;
                let reached = verdict(ratio <= MOST);
                format!("{with:.0} / {without:.0} = {ratio:.3} (target {MOST}: {reached})")
            }
        };
        println!("{:<12} {time:>38} {counted:>30}", work.name());
    }
    Ok(())
}

/// Instructions for each packet-hop of a run that is shorter than the work.
fn instructions(work: Work, simulator: &dyn Simulator, directory: &Path) -> anyhow::Result<f64> {
    fs::create_dir_all(directory)?;
    let log = directory.join("instructions");
    let inner = simulator.command(work, SHORT, Watch::Count);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(format!("--log-file={}", log.display()));
    command.arg(inner.get_program()).args(inner.get_args());
    let run = child::run(&mut command)?;
    let text = fs::read_to_string(&log)?;
    let count = collected(&text).with_context(|| format!("Valgrind printed no count: {text}"))?;
    let counts = simulator.counts(work, &run.output).context("no counts")?;
    ensure!(counts.packet_hops > 0, "no packets were carried");
    #[expect(clippy::cast_precision_loss, reason = "counts of one run are below 2^53")]
    let each = count as f64 / counts.packet_hops as f64;
    Ok(each)
}

/// The count in a line like `==17== Collected : 488328075`.
fn collected(log: &str) -> Option<u64> {
    let rest = log.lines().find_map(|line| line.split_once("Collected :"))?.1;
    rest.trim().parse().ok()
}

const PACKAGES: &[Package] =
    &[Package { name: "valgrind", purpose: "the instructions of one program", service: None }];

/// Target: instructions with the policies, relative to those without (our choice).
const MOST: f64 = 1.3;

/// Virtual time in which instructions are counted (our choice): a minute under Valgrind.
const SHORT: Seconds = Seconds(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_in_the_last_lines_of_the_log() {
        let log = "==17== Callgrind\n==17== Events    : Ir\n==17== Collected : 488328075\n==17==\n";
        assert_eq!(collected(log), Some(488_328_075));
        assert_eq!(collected("==17== Events    : Ir\n"), None);
    }
}
