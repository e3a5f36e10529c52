//! `ackwise doctor`: which commands this machine allows, and what the others need.
//!
//! Each row is tried where trying changes nothing, and otherwise asked of the kernel.

use std::fmt::Write as _;

use ackwise_linux::{
    device, host_changes,
    namespace::enter_private_network,
    rights::{self, Capability},
};
use ackwise_net::TlsSettings;
use ackwise_text::format::{self, Format, to_json};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    outcome::{Failure, Outcome},
    output,
};

/// Show which commands work on this machine, and what the others need
///
/// Tests privileges and kernel features, and changes nothing. Commands that are not listed need nothing.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ackwise doctor
  sudo ackwise doctor --json | jq '.rows[] | select(.state == \"missing\")'

Exit codes:
  0  every feature of this build works
  1  a command needs something that is missing
  2  no report could be produced; standard error gives the reason";

/// What `ackwise doctor --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document {
    /// One for each group of commands that need the same.
    rows: Vec<Row>,
}

impl format::Document for Document {
    const FORMAT: Format = Format::first("ackwise-doctor");
    const ABOUT: &'static str = "What `ackwise doctor --json` prints.";
}

/// What some commands need.
#[derive(Debug, JsonSchema, Serialize)]
struct Row {
    /// The commands.
    commands: &'static str,
    /// Whether they work.
    state: State,
    /// What is missing; null if nothing is.
    missing: Option<String>,
    /// What to do about it; null if nothing is missing.
    remedy: Option<&'static str>,
}

/// Whether commands work.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// They do.
    Works,
    /// Something is missing.
    Missing,
    /// This program was built without them.
    NotBuilt,
}

impl Doctor {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }
}

/// Asks, and prints.
pub(crate) fn run(doctor: &Doctor) -> Result<Outcome, Failure> {
    let document = Document { rows: rows() };
    let is_missing = document.rows.iter().any(|row| row.state == State::Missing);
    let outcome = if is_missing { Outcome::Bad } else { Outcome::Good };
    match doctor.json {
        true => output::print(&to_json(&document), outcome),
        false => output::print(&document.text(), outcome),
    }
}

/// What is asked of the host comes first: afterwards, this process is in a namespace of its own.
fn rows() -> Vec<Row> {
    let mut rows = Vec::from(of_host());
    rows.extend(of_namespaces());
    rows
}

fn of_host() -> [Row; 6] {
    use Capability::{Bpf, NetAdmin, NetRaw, Perfmon, SysPtrace};
    let root = || match rights::is_root() {
        true => Ok(()),
        false => Err("effective user ID 0".to_owned()),
    };
    let programs = || match &host_changes::missing_programs()[..] {
        [] => Ok(()),
        names => Err(format!("the programs {}", names.join(" and "))),
    };
    let pace =
        cfg!(feature = "ebpf").then(|| lacking(&[Bpf, Perfmon, NetAdmin]).and_then(|()| has_btf()));
    [
        Row::new("check, load (https)", TlsSettings::check_system_roots())
            .or("install ca-certificates, set SSL_CERT_FILE, or use --ca-file"),
        Row::new("explain --interface", lacking(&[NetRaw]))
            .or("run as root, or let a group use a copy with cap_net_raw (SECURITY.md)"),
        Row::new("check URL, load (Ackwise's TCP)", has_tun().and_then(|()| lacking(&[NetAdmin])))
            .or("run as root, or use --stack kernel"),
        Row::new("check, load --allow-host-changes", root().and_then(|()| programs()))
            .or("run as root, with nftables and util-linux installed"),
        Row::new("tune --apply", root().and_then(|()| lacking(&[SysPtrace])))
            .or("run as root; in a container, with --cap-add SYS_PTRACE"),
        Row::built("tune --pace", pace)
            .or("build with --features ebpf; run as root on Linux 6.4 or later with BTF"),
    ]
}

fn of_namespaces() -> [Row; 2] {
    let private = enter_private_network().map_err(|error| error.to_string());
    let wire = private.clone().and_then(|()| has_tun());
    [
        Row::new("run, reproduce --on kernel; check --listen", private)
            .or("run as root, or allow user namespaces"),
        Row::new("check without URL; run, reproduce --on wire", wire)
            .or("run as root, or allow user namespaces; allow access to /dev/net/tun"),
    ]
}

fn has_tun() -> Result<(), String> {
    device::check_node().map_err(|error| error.to_string())
}

/// Says what is missing.
fn lacking(needed: &[Capability]) -> Result<(), String> {
    let missing = rights::lacking(needed).map_err(|error| error.to_string())?;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(missing.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ")),
    }
}

/// Whether the kernel describes its types, which eBPF programs are fitted to.
fn has_btf() -> Result<(), String> {
    const BTF: &str = "/sys/kernel/btf/vmlinux";
    std::fs::metadata(BTF).map(drop).map_err(|error| format!("{BTF}: {error}"))
}

impl Row {
    fn new(commands: &'static str, works: Result<(), String>) -> Self {
        let (state, missing) = match works {
            Ok(()) => (State::Works, None),
            Err(missing) => (State::Missing, Some(missing)),
        };
        Self { commands, state, missing, remedy: None }
    }

    /// The same; `None` is not part of this program.
    fn built(commands: &'static str, works: Option<Result<(), String>>) -> Self {
        let is_built = works.is_some();
        let row = Self::new(commands, works.unwrap_or_else(|| Err("not in this build".to_owned())));
        if is_built { row } else { Self { state: State::NotBuilt, ..row } }
    }

    /// With what to do if it does not work.
    fn or(mut self, remedy: &'static str) -> Self {
        self.remedy = self.missing.is_some().then_some(remedy);
        self
    }
}

impl Document {
    fn text(&self) -> String {
        let mut text = String::new();
        for Row { commands, state, missing, remedy } in &self.rows {
            let state = match state {
                State::Works => "works",
                State::Missing => "missing",
                State::NotBuilt => "not built",
            };
            let _ = writeln!(text, "{state:<9}  {commands}");
            for (what, line) in [("needs", missing.as_deref()), ("fix", *remedy)] {
                if let Some(line) = line {
                    let _ = writeln!(text, "           {what}: {line}");
                }
            }
        }
        text
    }
}
