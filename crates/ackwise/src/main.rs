//! The command line: reads the arguments, runs one command, prints at most one error.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
