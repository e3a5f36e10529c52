//! The captures: created once, and kept while they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use xtask::install::needs::Package;
use xtask::process::{self, End, Output};

pub(crate) const PACKAGES: &[Package] = &[
    Package { name: "nginx", purpose: "the server that is captured", service: Some("nginx") },
    Package { name: "wrk", purpose: "the client that is captured", service: None },
    Package { name: "iproute2", purpose: "namespaces, a veth pair", service: None },
    Package { name: "ethtool", purpose: "offloads off", service: None },
    Package { name: "tcpdump", purpose: "captures", service: None },
    Package { name: "wireshark-common", purpose: "cuts and counts captures", service: None },
];

/// The contents of a capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Responses of 20,000 bytes, 100 per connection, with whole packets.
    Full,
    /// The same packets, truncated to 128 bytes.
    Cut,
    /// One connection per response of 300 bytes, with whole packets.
    Short,
    /// Responses of 300 bytes, 100 per connection, with whole packets.
    Kept,
}

/// An existing capture.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(super) kind: Kind,
    pub(crate) file: PathBuf,
    pub(super) packets: u64,
    /// File size in bytes.
    pub(super) bytes: u64,
}

impl Kind {
    /// Those that are explained beside other programs, in the order in which one is made from the other.
    const ALL: [Self; 3] = [Self::Full, Self::Cut, Self::Short];

    /// File name without extension.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Cut => "cut",
            Self::Short => "short",
            Self::Kept => "kept",
        }
    }

    /// Description for the output.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Full => "50,000 responses of 20,000 bytes, 100 on each connection",
            Self::Cut => "the same packets, 128 bytes of each",
            Self::Short => "130,000 connections with a response of 300 bytes each",
            Self::Kept => "1,000,000 responses of 300 bytes, 100 on each connection",
        }
    }

    /// Minimum number of packets in a complete capture: full segments of 1448 bytes without ACKs;
    /// eight packets per connection; a request and a response.
    const fn fewest_packets(self) -> u64 {
        match self {
            Self::Full | Self::Cut => 700_000,
            Self::Short => 8 * 130_000,
            Self::Kept => 2 * 1_000_000,
        }
    }

    /// Writes the capture into `file`, in `directory`.
    fn make(self, file: &Path, directory: &Path) -> anyhow::Result<()> {
        match self {
            Self::Full => record(file, "full", "50000"),
            Self::Cut => cut(file, &directory.join("full.pcap")),
            Self::Short => record(file, "short", "130000"),
            Self::Kept => record(file, "kept", "1000000"),
        }
    }
}

/// The captures in `directory`; missing or incomplete ones are created.
///
/// # Errors
///
/// If one cannot be created.
pub(super) fn provide(directory: &Path) -> anyhow::Result<Vec<Capture>> {
    fs::create_dir_all(directory)?;
    Kind::ALL.into_iter().map(|kind| provide_one(kind, directory)).collect()
}

/// The capture in `directory`; created if it is missing or incomplete.
///
/// # Errors
///
/// If it cannot be created.
pub(crate) fn provide_one(kind: Kind, directory: &Path) -> anyhow::Result<Capture> {
    let file = directory.join(kind.name()).with_extension("pcap");
    if let Ok(capture) = look_at(kind, &file) {
        return Ok(capture);
    }
    println!("capturing {}: {}", file.display(), kind.description());
    let unfinished = file.with_extension("unfinished");
    let made = kind.make(&unfinished, directory).and_then(|()| Ok(fs::rename(&unfinished, &file)?));
    if made.is_err() {
        // Absent if it was never started.
        let _ = fs::remove_file(&unfinished);
    }
    made?;
    look_at(kind, &file)
}

/// Counts the packets of a capture, and rejects one that is truncated.
fn look_at(kind: Kind, file: &Path) -> anyhow::Result<Capture> {
    let bytes = fs::metadata(file)?.len();
    let mut packets = None;
    let mut take = |line: &str| packets = line.rsplit('\t').next().and_then(|it| it.parse().ok());
    let mut count = Command::new("capinfos");
    count.args(["-T", "-r", "-M", "-c"]).arg(file);
    let end = process::run(&mut count, Output::Take(&mut take), TOOL_LIMIT)?;
    ensure!(end == End::Succeeded, "capinfos {}: {end:?}", file.display());
    let packets = packets.context("capinfos counted nothing")?;
    let fewest = kind.fewest_packets();
    ensure!(packets >= fewest, "{} has {packets} packets, not {fewest}", file.display());
    Ok(Capture { kind, file: file.to_owned(), packets, bytes })
}

/// Runs wrk against nginx for `responses` responses. Repeated if tcpdump missed packets, which
/// happens when other processes use the processors.
fn record(file: &Path, what: &str, responses: &str) -> anyhow::Result<()> {
    for _ in 0..MOST_ATTEMPTS {
        let mut script = Command::new("unshare");
        script.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", SCRIPT]);
        script.arg(file).args([what, responses]);
        match process::run(&mut script, Output::Inherit, RECORD_LIMIT)? {
            End::Succeeded => return Ok(()),
            End::Failed(status) if status.code() == Some(PACKETS_MISSED) => {}
            end => anyhow::bail!("{SCRIPT}, which has to be run as root: {end:?}"),
        }
    }
    anyhow::bail!("packets were missed {MOST_ATTEMPTS} times: wait until the machine is quiet")
}

fn cut(file: &Path, whole: &Path) -> anyhow::Result<()> {
    let mut cut = Command::new("editcap");
    cut.args(["-F", "nsecpcap", "-s", "128"]).args([whole, file]);
    let end = process::run(&mut cut, Output::Inherit, TOOL_LIMIT)?;
    ensure!(end == End::Succeeded, "editcap: {end:?}");
    Ok(())
}

const SCRIPT: &str = "bench/explain/capture.sh";

/// The script's exit code for an incomplete capture.
const PACKETS_MISSED: i32 = 3;

const MOST_ATTEMPTS: usize = 3;

/// Time limit (our choice): it takes half a minute on an idle machine.
const RECORD_LIMIT: Duration = Duration::from_secs(400);

const TOOL_LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_says_with_the_same_number_that_packets_were_missed() {
        let script = include_str!("../../explain/capture.sh");
        assert!(script.contains(&format!("exit {PACKETS_MISSED}\n")));
    }

    #[test]
    fn what_is_no_capture_is_not_kept() {
        let nothing = look_at(Kind::Short, Path::new("no/such/capture.pcap"));
        assert!(nothing.is_err(), "{nothing:?}");
    }
}
