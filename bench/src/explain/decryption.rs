//! What `--keys` adds: processor time for each record and each KB, and memory for each open connection.
//!
//! The same captures are read with and without the secrets. Records of two sizes give both terms. tshark does the same once.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::sealed::{Sealed, Traffic};
use crate::peak::Peak;
use crate::{child, verdict};
use ackwise_units::statistics::Spread;

/// Measures and prints it.
///
/// # Errors
///
/// If a capture cannot be made, or a program fails.
pub(super) fn report(
    program: &Path,
    directory: &Path,
    peak: &Peak,
    rounds: NonZeroUsize,
) -> anyhow::Result<()> {
    println!(
        "\ndecryption (--keys): TLS 1.3, AES-128-GCM, one thread, above the same capture without keys"
    );
    let [small, large] = [SMALL, LARGE].map(|it| Sealed::make(it, directory));
    let sizes = [small?, large?];
    let ours = |sealed: &Sealed, keys: Keys| seconds(&mut ackwise(program, sealed, keys));
    let mut terms = Vec::new();
    for _ in 0..rounds.get() {
        terms.push(Terms::measure(&sizes, ours)?);
    }
    let record = Spread::of(terms.iter().map(|it| it.record));
    let kilobyte = Spread::of(terms.iter().map(|it| it.kilobyte));
    println!("ackwise: {record} us / record, {kilobyte} us / KB of CPU time [quartiles]");
    println!("target: {MOST_RECORD} us / record: {}", verdict(record.median <= MOST_RECORD));
    println!("target: {MOST_KILOBYTE} us / KB: {}", verdict(kilobyte.median <= MOST_KILOBYTE));
    match Terms::measure(&sizes, |sealed, keys| seconds(&mut tshark(sealed, keys))) {
        Ok(Terms { record, kilobyte }) => {
            println!("tshark, once: {record:.3} us / record, {kilobyte:.3} us / KB of CPU time");
        }
        Err(error) => println!("skipped tshark: {error:#}"),
    }
    memory(program, directory, peak)?;
    for sealed in &sizes {
        remove(sealed)?;
    }
    Ok(())
}

/// Memory of connections between records, from two numbers of them.
fn memory(program: &Path, directory: &Path, peak: &Peak) -> anyhow::Result<()> {
    let [few, many] = [FEW, MANY].map(|it| Sealed::make(it, directory));
    let idle = [few?, many?];
    let each = |keys: Keys| -> anyhow::Result<f64> {
        let mut bytes = [0.0; 2];
        for (sealed, bytes) in idle.iter().zip(&mut bytes) {
            child::run_unheard(&mut peak.watch(&ackwise(program, sealed, keys)))?;
            *bytes = float(peak.bytes()?);
        }
        Ok((bytes[1] - bytes[0]) / f64::from(MANY.connections - FEW.connections))
    };
    let [without, with] = [each(Keys::Without)?, each(Keys::With)?];
    println!(
        "memory of an open connection: {:.2} KB without keys, {:.2} KB with, secrets and report included",
        without / 1e3,
        with / 1e3
    );
    let reached = verdict(with - without <= MOST_MEMORY);
    println!("target: {:.0} KB more with keys: {reached}", MOST_MEMORY / 1e3);
    idle.iter().try_for_each(remove)
}

/// Microseconds above the same without keys.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Terms {
    record: f64,
    kilobyte: f64,
}

impl Terms {
    fn measure(
        sizes: &[Sealed; 2],
        seconds: impl Fn(&Sealed, Keys) -> anyhow::Result<Duration>,
    ) -> anyhow::Result<Self> {
        let mut micros = [0.0; 2];
        for (sealed, micros) in sizes.iter().zip(&mut micros) {
            let without = seconds(sealed, Keys::Without)?.as_secs_f64();
            *micros = (seconds(sealed, Keys::With)?.as_secs_f64() - without) * 1e6;
        }
        Ok(Self::of(sizes.each_ref().map(|it| it.traffic), micros))
    }

    /// Solves `micros = records * record + kilobytes * kilobyte` for both sizes.
    fn of(sizes: [Traffic; 2], micros: [f64; 2]) -> Self {
        let records = sizes.map(|it| f64::from(it.connections) * f64::from(it.records));
        let each = [micros[0] / records[0], micros[1] / records[1]];
        let [small, large] = sizes.map(|it| f64::from(it.bytes) / 1e3);
        let kilobyte = (each[1] - each[0]) / (large - small);
        Self { record: each[0] - kilobyte * small, kilobyte }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Keys {
    With,
    Without,
}

fn ackwise(program: &Path, sealed: &Sealed, keys: Keys) -> Command {
    let mut command = Command::new(program);
    command.args(["explain", "--threads", "1"]);
    if keys == Keys::With {
        command.arg("--keys").arg(&sealed.keys);
    }
    command.arg(&sealed.capture);
    command
}

fn tshark(sealed: &Sealed, keys: Keys) -> Command {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-e", "frame.number", "-e", "http.response.code"]);
    if keys == Keys::With {
        command.arg("-o").arg(format!("tls.keylog_file:{}", sealed.keys.display()));
    }
    command.arg("-r").arg(&sealed.capture);
    command
}

fn seconds(command: &mut Command) -> anyhow::Result<Duration> {
    let run = child::run_unheard(command)?;
    Ok(run.user + run.system)
}

fn remove(sealed: &Sealed) -> anyhow::Result<()> {
    fs::remove_file(&sealed.capture)?;
    Ok(fs::remove_file(&sealed.keys)?)
}

#[expect(clippy::cast_precision_loss, reason = "memory is below 2^53 bytes")]
const fn float(bytes: u64) -> f64 {
    bytes as f64
}

/// As many records as take a second. Our choice.
const SMALL: Traffic = Traffic { name: "tls-small", connections: 100, records: 4_000, bytes: 100 };
/// Records as large as TLS has them.
const LARGE: Traffic = Traffic { name: "tls-large", connections: 100, records: 150, bytes: 16_384 };
/// Connections with one exchange, none of which ends. Our choice.
const FEW: Traffic = Traffic { name: "tls-few", connections: 1_000, records: 1, bytes: 1_000 };
const MANY: Traffic = Traffic { name: "tls-many", connections: 9_000, ..FEW };

/// Targets: CPU time in microseconds for each record, and for each KB of content (our choice).
const MOST_RECORD: f64 = 0.3;
const MOST_KILOBYTE: f64 = 1.0;

/// Target: bytes that an open connection takes more with keys (our choice).
const MOST_MEMORY: f64 = 2_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_terms_come_of_two_sizes() {
        let sizes = [SMALL, LARGE];
        let micros = sizes.map(|it| {
            let records = f64::from(it.connections * it.records);
            records * (0.25 + f64::from(it.bytes) / 1e3 * 0.75)
        });
        let Terms { record, kilobyte } = Terms::of(sizes, micros);
        assert!((record - 0.25).abs() < 1e-9 && (kilobyte - 0.75).abs() < 1e-9);
    }
}
