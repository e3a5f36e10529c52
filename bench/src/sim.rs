//! Measures speed and memory of the simulator.
//!
//! Ackwise, ns-2 and ns-3 do the same work in turn on one thread, measured in user time. The
//! scripts for ns-2 and ns-3 in `bench/sim` were written for this benchmark, for speed.
//! `docs/figures/sim-speed.md` lists what is the same in all three and what is not.

mod comparison;
mod memory;
mod ns2;
mod ns3;
mod ours;
mod policies;
mod report;
mod simulator;
mod work;

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;

use self::ns2::Ns2;
use self::ns3::Ns3;
use self::ours::{Ours, Tcp};
use self::simulator::Simulator;
use self::work::Work;
use super::machine::Load;
use super::{peak, program, warn_if_busy};
use xtask::{install, process};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "sim";

/// The question that it answers.
pub(super) const QUESTION: &str =
    "how fast is the simulator beside ns-2 and ns-3, and how much memory is a connection?";

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, or a run fails. Other simulators are skipped if not available.
pub(super) fn run(rounds: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    println!("{NAME}: {QUESTION}");
    let simulators = simulators()?;
    warn_if_busy("before the first round", Load::watch_briefly());
    let load = Load::start();
    for work in Work::ALL {
        let measured = comparison::compare(work, &simulators, rounds.unwrap_or(ROUNDS))?;
        report::print(work, &measured);
    }
    policies::report(&simulators_of_policies()?, rounds.unwrap_or(ROUNDS), Path::new(DIRECTORY))?;
    match install::provide_packages(peak::PACKAGES) {
        Ok(()) => memory::report(&ours(Tcp::Same)?, Path::new(DIRECTORY))?,
        Err(error) => println!("\nskipped the memory of a connection: {error:#}"),
    }
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    ensure!(!process::interrupted(), "interrupted");
    warn_if_busy("while it ran", others);
    Ok(ExitCode::SUCCESS)
}

/// Ackwise first, then the other available simulators.
fn simulators() -> anyhow::Result<Vec<Box<dyn Simulator>>> {
    let mut all: Vec<Box<dyn Simulator>> = vec![Box::new(ours(Tcp::Same)?)];
    match install::provide_packages(Ns2::PACKAGES) {
        Ok(()) => all.push(Box::new(Ns2)),
        Err(error) => println!("skipped ns-2: {error:#}"),
    }
    let ns3 = install::provide_packages(Ns3::PACKAGES).and_then(|()| Ns3::build(DIRECTORY.into()));
    match ns3 {
        Ok(simulator) => all.push(Box::new(simulator)),
        Err(error) => println!("skipped ns-3: {error:#}"),
    }
    Ok(all)
}

fn ours(tcp: Tcp) -> anyhow::Result<Ours> {
    Ok(Ours { program: program::build()?, tcp })
}

/// The program with the policies of `linux-6`, and without them.
fn simulators_of_policies() -> anyhow::Result<[Box<dyn Simulator>; 2]> {
    Ok([Box::new(ours(Tcp::Linux)?), Box::new(ours(Tcp::PlainLinux)?)])
}

/// Scripts for the other simulators, relative to the root of the repository.
const SCRIPTS: &str = "bench/sim";

/// Build directory of the programs for ns-3.
const DIRECTORY: &str = "target/bench-sim";

const ROUNDS: NonZeroUsize = const { NonZeroUsize::new(5).unwrap() };
