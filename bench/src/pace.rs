//! Restart after idle by rate, `ackwise tune --pace`, beside what the kernel does.
//!
//! Heidemann 1997, section 2.4, over the link emulator: nginx sends 200 kB, the connection is idle for 2 s, and
//! so on. Each run has a connection of its own; its first response grows the window and does not count.

mod exchange;
mod options;
mod report;

use std::process::ExitCode;

use anyhow::ensure;

pub(super) use self::options::{HELP, NAME, QUESTION, Settings, parse};
use self::report::Cell;
use crate::machine::Load;
use crate::{program, warn_if_busy};
use xtask::install::{self, needs::Package};
use xtask::process;

const PACKAGES: &[Package] =
    &[Package { name: "nginx", purpose: "the server that is tuned", service: Some("nginx") }];

/// What restarts a connection after idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Restart {
    /// The kernel, with the initial window (`net.ipv4.tcp_slow_start_after_idle=1`, its default).
    Kernel,
    /// Nothing: the window is sent at once (`=0`).
    None,
    /// `ackwise tune --pace`, with the sysctl's default.
    Paced,
    /// The server: the built-in one with `serve --pace` instead of nginx, with the sysctl at 0.
    Program,
}

/// What happens to the path while the connection is idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Path {
    /// Nothing.
    Same,
    /// Its rate halves before the last response, which alone counts.
    Halved,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) path: Path,
    pub(crate) control: &'static str,
    pub(crate) restart: Restart,
}

const fn case(path: Path, control: &'static str, restart: Restart) -> Case {
    Case { path, control, restart }
}

const CASES: [Case; 15] = [
    case(Path::Same, "cubic", Restart::Kernel),
    case(Path::Same, "cubic", Restart::Paced),
    case(Path::Same, "cubic", Restart::None),
    case(Path::Same, "cubic", Restart::Program),
    case(Path::Same, "reno", Restart::Kernel),
    case(Path::Same, "reno", Restart::Paced),
    case(Path::Same, "reno", Restart::None),
    case(Path::Same, "reno", Restart::Program),
    case(Path::Same, "bbr", Restart::Kernel),
    case(Path::Halved, "cubic", Restart::Kernel),
    case(Path::Halved, "cubic", Restart::Paced),
    case(Path::Halved, "cubic", Restart::None),
    case(Path::Halved, "reno", Restart::Kernel),
    case(Path::Halved, "reno", Restart::Paced),
    case(Path::Halved, "reno", Restart::None),
];

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, nginx does not start, or a run fails.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    println!("{NAME}: {QUESTION}");
    install::provide_packages(PACKAGES)?;
    let ackwise = match &settings.ackwise {
        Some(path) => path.clone(),
        None => program::build_with(&["ebpf"])?,
    };
    warn_if_busy("before the first run", Load::watch_briefly());
    let load = Load::start();
    let mut cells: Vec<_> = CASES.iter().map(|case| Cell::new(*case)).collect();
    // In turn, so that a disturbance hits all of them.
    for _ in 0..settings.rounds.get() {
        for cell in &mut cells {
            ensure!(!process::interrupted(), "interrupted");
            cell.add(exchange::run(&ackwise, cell.case)?);
        }
    }
    report::print(&cells);
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    warn_if_busy("while it ran (nginx included)", others);
    Ok(ExitCode::SUCCESS)
}
