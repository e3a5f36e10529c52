//! The program `ackwise`.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    ackwise::run(env::args_os()).into()
}
