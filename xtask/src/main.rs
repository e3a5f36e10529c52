//! The project's own chores: `cargo xtask test`, `fuzz`, `mutants` and `bench`.
//!
//! Everything here can be run by hand too: each step prints the plain command that it runs, and
//! `CONTRIBUTING.md` lists them. What this crate adds is the order, the bounds, the installation of
//! what the tests need, and a summary that names every test that was skipped.

mod bench;
mod cli;
mod console;
mod fuzz;
mod mutants;
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
        Chore::Bench(arguments) => bench::run(&arguments),
    }
}
