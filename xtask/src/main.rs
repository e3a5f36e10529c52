//! The project's development commands: `cargo xtask test`, `fuzz`, `mutants`, `ratchet`, `book`, `bench`, `dist` and `release`.
//!
//! Everything here can also be run by hand: each step prints the plain command that it runs, and
//! `CONTRIBUTING.md` lists them. This crate adds the order, the limits, the installation of
//! dependencies, and a summary that names every skipped test.

mod bench;
mod book;
mod cli;
mod console;
mod dist;
mod fuzz;
mod mutants;
mod sizes;
mod test;

use std::env;
use std::process::ExitCode;

use xtask::process;

use crate::cli::Chore;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let chore = cli::parse(env::args_os().skip(1))?;
    process::stop_children_on_signal()?;
    xtask::enter_repository()?;
    match chore {
        Chore::Help => {
            print!("{}", cli::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Chore::Test(options) => test::run(&options),
        Chore::Fuzz(options) => fuzz::search(&options),
        Chore::Mutants(options) => mutants::run(&options),
        Chore::Ratchet { update: true } => sizes::update(),
        Chore::Ratchet { update: false } => sizes::check(),
        Chore::Book => book::run(),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Dist(wanted) => dist::run(wanted),
    }
}
