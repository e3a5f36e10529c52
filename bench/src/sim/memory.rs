//! Measures the memory of a live connection: a million concurrent ones compared with a thousand.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::ours::{Ours, SAME_TCP, measures, whole};
use crate::peak::Peak;
use crate::{child, verdict};

/// Measures and prints the result. GNU time writes its output to `directory`.
///
/// # Errors
///
/// If a run fails, or does not print its counts.
pub(super) fn report(ours: &Ours, directory: &Path) -> anyhow::Result<()> {
    println!("\nmillion: one million connections at once, both ends\n");
    let peak = Peak::new(directory)?;
    let few = Size::measure(ours, FEW, &peak)?;
    let many = Size::measure(ours, MANY, &peak)?;
    println!("{:>12} {:>10} {:>8}", "connections", "peak MB", "user s");
    for size in [few, many] {
        let (megabytes, user) = (size.bytes.div_ceil(1_000_000), size.user.as_secs_f64());
        println!("{:>12} {megabytes:>10} {user:>8.2}", size.connections);
    }
    let each = many.bytes.saturating_sub(few.bytes)
        / many.connections.saturating_sub(few.connections).max(1);
    println!("a live connection: {each} bytes (target {EACH}: {})", verdict(each <= EACH));
    let all = many.connections >= MANY && many.bytes < ALL;
    println!("one million of them: target under 4 GB: {}", verdict(all));
    Ok(())
}

#[derive(Clone, Copy, Debug)]
struct Size {
    /// Maximum number of live connections.
    connections: u64,
    /// Maximum resident set in bytes.
    bytes: u64,
    user: Duration,
}

impl Size {
    fn measure(ours: &Ours, connections: u64, peak: &Peak) -> anyhow::Result<Self> {
        let limit = format!("application.held.limit={connections}");
        let mut settings = vec![limit.as_str()];
        settings.extend(SAME_TCP);
        let run = child::run(
            &mut peak.watch(&ours.run("crates/lab/experiments/million.toml", &settings)),
        )?;
        let measures = measures(&run.output).context("ackwise run --json printed no row")?;
        let connections = measures.get("work.most_connections").and_then(whole);
        let connections = connections.context("no work.most_connections in the row")?;
        Ok(Self { connections, bytes: peak.bytes()?, user: run.user })
    }
}

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;

/// Target: maximum memory per live connection in bytes (our choice).
const EACH: u64 = 1_300;

/// Target: maximum memory of all connections in bytes (our choice).
const ALL: u64 = 4_000_000_000;
