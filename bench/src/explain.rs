//! Measures speed and memory of `ackwise explain`.
//!
//! Ackwise and tcptrace read the same three captures in turn; tshark, which takes about a hundred
//! times as long, reads the beginning of one. The captures are recorded here, from wrk and nginx
//! over a veth pair. `docs/figures/explain-speed.md` discusses the fairness of the comparison.

pub(super) mod captures;
mod comparison;
mod decryption;
mod reader;
mod report;
mod sealed;
mod tshark;

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;

use self::captures::Kind;
use self::reader::Reader;
use super::machine::Load;
use super::peak::Peak;
use super::{peak, program, warn_if_busy};
use xtask::{install, process};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "explain";

/// The question that it answers.
pub(super) const QUESTION: &str =
    "how fast are captures explained beside tcptrace and tshark, and in how much memory?";

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, a capture cannot be created, or a run fails.
pub(super) fn run(rounds: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    println!("{NAME}: {QUESTION}");
    for packages in [peak::PACKAGES, captures::PACKAGES, reader::PACKAGES] {
        install::provide_packages(packages)?;
    }
    let program = program::build()?;
    let readers = [
        Reader::Ackwise(program.clone()),
        Reader::Tcptrace,
        Reader::TcptraceLong,
        Reader::AckwiseAlone(program.clone()),
    ];
    let directory = Path::new(DIRECTORY);
    let captures = captures::provide(directory)?;
    let peak = Peak::new(directory)?;
    warn_if_busy("before the first round", Load::watch_briefly());
    let load = Load::start();
    for capture in &captures {
        let measured = comparison::compare(capture, &readers, &peak, rounds.unwrap_or(ROUNDS))?;
        report::print(capture, &measured);
        if let (Kind::Cut, Some(ours)) = (capture.kind, measured.first()) {
            tshark::report(capture, ours)?;
        }
    }
    decryption::report(&program, directory, &peak, rounds.unwrap_or(ROUNDS))?;
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    ensure!(!process::interrupted(), "interrupted");
    warn_if_busy("while it ran", others);
    println!("\nthe captures stay in {DIRECTORY} for the next time; `cargo clean` removes them");
    Ok(ExitCode::SUCCESS)
}

/// Directory of the captures, relative to the root of the repository.
const DIRECTORY: &str = "target/bench/explain";

const ROUNDS: NonZeroUsize = const { NonZeroUsize::new(5).unwrap() };
