//! What a live connection costs in memory: one million of them at once, against a thousand.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use super::child;
use super::ours::{Ours, SAME_TCP, measures, whole};
use crate::install::needs::Package;

pub(super) const PACKAGES: &[Package] =
    &[Package { name: "time", purpose: "the peak memory of one program", service: None }];

/// Measures and prints it. `directory` is for what GNU time writes.
///
/// # Errors
///
/// If a run failed, or did not say what it did.
pub(super) fn report(ours: &Ours, directory: &Path) -> anyhow::Result<()> {
    println!("\nmillion: one million connections at once, both ends\n");
    let few = Peak::measure(ours, FEW, directory)?;
    let many = Peak::measure(ours, MANY, directory)?;
    println!("{:>12} {:>10} {:>8}", "connections", "peak MB", "user s");
    for peak in [few, many] {
        let (megabytes, user) = (peak.octets.div_ceil(1_000_000), peak.user.as_secs_f64());
        println!("{:>12} {megabytes:>10} {user:>8.2}", peak.connections);
    }
    let each = many.octets.saturating_sub(few.octets)
        / many.connections.saturating_sub(few.connections).max(1);
    let verdict = |reached| if reached { "reached" } else { "MISSED" };
    println!("a live connection: {each} octets (target 2048: {})", verdict(each <= EACH));
    let all = many.connections >= MANY && many.octets < ALL;
    println!("one million of them: target under 4 GB: {}", verdict(all));
    Ok(())
}

#[derive(Clone, Copy, Debug)]
struct Peak {
    /// The most that were alive at once.
    connections: u64,
    /// The largest resident set.
    octets: u64,
    user: Duration,
}

impl Peak {
    fn measure(ours: &Ours, connections: u64, directory: &Path) -> anyhow::Result<Self> {
        let limit = format!("application.held.limit={connections}");
        let mut settings = vec![limit.as_str()];
        settings.extend(SAME_TCP);
        let inner = ours.run("experiments/million.toml", &settings);
        fs::create_dir_all(directory)?;
        let file = directory.join("peak");
        let mut command = Command::new("/usr/bin/time");
        command.args(["--format", "%M", "--output"]).arg(&file);
        command.arg(inner.get_program()).args(inner.get_args());
        let run = child::run(&mut command)?;
        let kilobytes: u64 = fs::read_to_string(&file)?.trim().parse()?;
        let measures = measures(&run.output).context("ackwise run --json printed no row")?;
        let connections = measures.get("work.most_connections").and_then(whole);
        let connections = connections.context("no work.most_connections in the row")?;
        Ok(Self { connections, octets: 1024 * kilobytes, user: run.user })
    }
}

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;

/// The most that a live connection may take, in octets.
const EACH: u64 = 2_048;

/// The most that all of them may take, in octets.
const ALL: u64 = 4_000_000_000;
