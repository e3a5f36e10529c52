//! The command line: reads the arguments, runs one command, prints at most one error.

mod cli;

use std::process::ExitCode;

use ackwise_report::printable;

fn main() -> ExitCode {
    match cli::run() {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            // It may quote a server, whose bytes must not drive the terminal.
            anstream::eprintln!("ackwise: {}", printable(&failure.to_string()));
            failure.exit_code()
        }
    }
}
