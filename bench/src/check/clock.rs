//! Does `check` say of a server what a client's own clock says?
//!
//! Each target of `bench/programs.toml` runs in a network namespace under each congestion control. A script that
//! shares no code with us (`bench/programs/clock.py`) times responses with delayed and with immediate ACKs; `check`
//! gives its verdicts on the same server. Both are repeated where they differ.

mod judge;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use ackwise_linux::Namespace;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use xtask::process::{self, End, Output};

use self::judge::{Clock, Equal, compare};
use self::targets::{Folders, Protocol, Target};
use super::{DIRECTORY, NAME};
use crate::{program, verdict};

/// Whether there is a target called `name`.
pub(super) fn has(name: &str) -> bool {
    targets::all().is_ok_and(|all| all.iter().any(|it| it.name == name))
}

/// Compares the named targets, or all, and prints a line for each.
///
/// # Errors
///
/// If namespaces, routes or the program are not available.
pub(super) fn run(names: &[String], ackwise: Option<&Path>) -> anyhow::Result<ExitCode> {
    let ackwise = ackwise.map_or_else(program::build, |it| Ok(it.to_owned()))?;
    let place = Folders::new()?;
    println!(
        "{NAME}: verdicts of `check` beside a client's clock (held: of 32 responses, with delayed and with quick ACKs)\n"
    );
    let (mut counts, mut missing) = ([0_usize; 3], Vec::new());
    for congestion in CONGESTION {
        let host = namespace(congestion)?;
        for target in
            targets::all()?.iter().filter(|it| names.is_empty() || names.contains(&it.name))
        {
            ensure!(!process::interrupted(), "interrupted");
            let Some(version) = place.version(target)? else {
                missing.push(format!("{} ({})", target.name, target.package));
                continue;
            };
            for protocol in &target.protocols {
                let one = One {
                    ackwise: &ackwise,
                    place: &place,
                    host: &host,
                    target,
                    protocol: *protocol,
                    congestion,
                };
                let (line, equal) =
                    one.line().unwrap_or_else(|error| (format!("{error:#}"), Equal::Differs));
                counts[equal as usize] += 1;
                println!("{:<34} {protocol:<4} {congestion:<5} {version:<24} {line}", target.name);
            }
        }
    }
    let [equal, differ, undecided] = counts;
    missing.sort_unstable();
    missing.dedup();
    println!(
        "\n{equal} equal, {differ} differ, {undecided} that the clock does not decide; missing: {missing:?}"
    );
    let all = differ == 0 && equal > 0;
    println!("{}", verdict(all));
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A namespace whose connections over loopback have this congestion control, and segments as on a path.
fn namespace(congestion: &str) -> anyhow::Result<Namespace> {
    let host = Namespace::create()?;
    let route = |destination: &str| {
        format!(
            "route replace local {destination} dev lo table local proto kernel scope host src 127.0.0.1 congctl {congestion}"
        )
    };
    for line in ["link set lo mtu 1500".to_owned(), route("127.0.0.0/8"), route("127.0.0.1")] {
        let status = host.run(|| Command::new("ip").args(line.split(' ')).status())?;
        ensure!(status.context("cannot start ip")?.success(), "ip {line} failed");
    }
    Ok(host)
}

/// One protocol of one target under one congestion control.
struct One<'a> {
    ackwise: &'a Path,
    place: &'a Folders,
    host: &'a Namespace,
    target: &'a Target,
    protocol: Protocol,
    congestion: &'static str,
}

impl One<'_> {
    /// What both say, after as many attempts as they need to agree.
    fn line(&self) -> anyhow::Result<(String, Equal)> {
        let running = self.place.start(self.target, self.host)?;
        let url = self.target.url(running.port);
        let mut attempt = 1;
        loop {
            let clock: Clock = serde_json::from_str(&self.clock(&url)?)?;
            let card: Value = serde_json::from_str(&self.check(&url)?)?;
            let compared = compare(&clock, &card);
            if compared.equal != Equal::Differs || attempt == ATTEMPTS {
                let again =
                    if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                return Ok((format!("{compared}{again}"), compared.equal));
            }
            attempt += 1;
        }
    }

    fn clock(&self, url: &str) -> anyhow::Result<String> {
        let mut command = Command::new("python3");
        command.arg(targets::SOURCES.to_owned() + "/clock.py").arg(self.protocol.to_string());
        command.arg(if self.protocol == Protocol::Grpc {
            format!("{url}{METHOD}")
        } else {
            url.to_owned()
        });
        self.output(command, "clock")
    }

    fn check(&self, url: &str) -> anyhow::Result<String> {
        let mut command = Command::new(self.ackwise);
        command.args(["check", "--json", "--stack", "kernel", "--insecure", "--only", CHECKS]);
        match self.protocol {
            Protocol::H1 => command.args(["--http", "1.1"]),
            Protocol::H2 => command.args(["--http", "2"]),
            Protocol::Grpc => command.arg(format!("--grpc=/{METHOD}")),
        };
        command.arg(url);
        self.output(command, "check")
    }

    /// What `command` prints in the namespace, also kept in a file.
    fn output(&self, mut command: Command, name: &str) -> anyhow::Result<String> {
        let mut text = String::new();
        let mut take = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        let _inside = self.host.enter()?;
        let end = process::run(&mut command, Output::Take(&mut take), LIMIT)?;
        let directory = PathBuf::from(DIRECTORY).join("clock");
        fs::create_dir_all(&directory)?;
        let file =
            format!("{}-{}-{}-{name}.json", self.target.name, self.protocol, self.congestion);
        fs::write(directory.join(file), &text)?;
        match end {
            End::Succeeded => Ok(text),
            // Of `check`, 1 is a failed check; an error of either has no card.
            End::Failed(_) if !text.is_empty() => Ok(text),
            end => bail!("{name}: {end:?}"),
        }
    }
}

const CONGESTION: [&str; 2] = ["bbr", "cubic"];
const CHECKS: &str = "nagle-delayed-ack,first-byte,response-pause";
const METHOD: &str = "grpc.health.v1.Health/Check";

/// Times that a target is asked, if the answers differ (our choice: other work on the machine delays both).
const ATTEMPTS: usize = 3;

/// Of the script or of `check`: our choice.
const LIMIT: Duration = Duration::from_secs(60);
