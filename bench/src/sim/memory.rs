//! Measures the memory of a live connection: a million concurrent ones compared with a thousand, with the TCP of
//! the other simulators and with the presets of Linux.

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
    println!(
        "{:<12} {:>12} {:>10} {:>8} {:>12}",
        "tcp", "connections", "peak MB", "user s", "bytes each"
    );
    for tcp in TCPS {
        let few = Size::measure(ours, tcp, FEW, &peak)?;
        let many = Size::measure(ours, tcp, MANY, &peak)?;
        let each = many.bytes.saturating_sub(few.bytes)
            / many.connections.saturating_sub(few.connections).max(1);
        for (size, each) in [(few, String::new()), (many, each.to_string())] {
            let (megabytes, user) = (size.bytes.div_ceil(1_000_000), size.user.as_secs_f64());
            println!(
                "{:<12} {:>12} {megabytes:>10} {user:>8.2} {each:>12}",
                tcp.name, size.connections
            );
        }
        if let Some(target) = tcp.each {
            println!("target: {target} bytes each: {}", verdict(each <= target));
        }
        if let Some(target) = tcp.all {
            let reached = verdict(many.connections >= MANY && many.bytes <= target);
            println!("target: one million of them in {} MB: {reached}", target / 1_000_000);
        }
    }
    Ok(())
}

/// The TCP of both ends, and the targets for its memory in bytes.
#[derive(Clone, Copy, Debug)]
struct Tcp {
    name: &'static str,
    settings: &'static [&'static str],
    /// Of one live connection.
    each: Option<u64>,
    /// Of all connections.
    all: Option<u64>,
}

/// The targets are our choice.
const TCPS: [Tcp; 3] = [
    Tcp { name: "as ns-2", settings: &SAME_TCP, each: Some(1_300), all: Some(4_000_000_000) },
    Tcp {
        name: "linux-6",
        settings: &["tcp.preset=\"linux-6\""],
        each: None,
        all: Some(1_700_000_000),
    },
    Tcp { name: "linux-6-bbr", settings: &["tcp.preset=\"linux-6-bbr\""], each: None, all: None },
];

#[derive(Clone, Copy, Debug)]
struct Size {
    /// Maximum number of live connections.
    connections: u64,
    /// Maximum resident set in bytes.
    bytes: u64,
    user: Duration,
}

impl Size {
    fn measure(ours: &Ours, tcp: Tcp, connections: u64, peak: &Peak) -> anyhow::Result<Self> {
        let limit = format!("application.held.limit={connections}");
        let mut settings = vec![limit.as_str()];
        settings.extend(tcp.settings);
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
