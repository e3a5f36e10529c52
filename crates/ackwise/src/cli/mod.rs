//! The commands, one file each. A new one is a file here and a variant of [`Command`].
//!
//! Nothing here measures or judges: a command turns arguments into a call of the library and its
//! answer into text and an exit code.

mod check;
mod colour;
mod duration;
mod explain;
mod interrupt;
mod load;
mod merge;
mod outcome;
mod output;
mod progress;
mod record;
mod reproduce;
mod rows;
mod run;

use clap::{Parser, Subcommand};

use outcome::{Failure, Outcome};

/// Find, reproduce and remove the time that HTTP and TCP waste on each other
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    Explain(explain::Explain),
    Load(load::LoadArguments),
    Run(run::Run),
    Merge(merge::Merge),
    Reproduce(reproduce::Reproduce),
}

/// Does what the command line asks for.
pub(crate) fn run() -> Result<Outcome, Failure> {
    match Cli::parse().command {
        Command::Check(check) => check::run(check),
        Command::Explain(explain) => explain::run(&explain),
        Command::Load(load) => load::run(&load),
        Command::Run(run) => run::run(&run),
        Command::Merge(merge) => merge::run(&merge),
        Command::Reproduce(reproduce) => reproduce::run(reproduce),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
