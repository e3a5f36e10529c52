//! The command line: reads the arguments, runs one command, prints at most one error.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            anstream::eprintln!("ackwise: {failure}");
            failure.exit_code()
        }
    }
}
