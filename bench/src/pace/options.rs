//! The command line of `cargo xtask bench pace`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use lexopt::prelude::*;

/// Its name in `cargo xtask bench NAME`.
pub(crate) const NAME: &str = "pace";

/// The question that it answers.
pub(crate) const QUESTION: &str =
    "what does restart by rate save on nginx after 2 s idle, beside the kernel's own restart?";

/// The lines of `bench --help`.
pub(crate) const HELP: &str = "\
cargo xtask bench pace [--rounds N] [--ackwise FILE]
    Measure `ackwise tune --pace` on nginx over the link emulator (80 ms, 20 Mb/s, queue of 60 kB): 5
    rounds by default, 16 minutes. FILE is used instead of a new build. Needs root.
";

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(super) rounds: NonZeroUsize,
    pub(super) ackwise: Option<PathBuf>,
}

/// Parses everything after `cargo xtask bench pace`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut settings = Settings { rounds: ROUNDS, ackwise: None };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("rounds") => settings.rounds = parser.value()?.parse()?,
            Long("ackwise") => settings.ackwise = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(settings))
}

/// Our choice: 25 responses for each row.
const ROUNDS: NonZeroUsize = NonZeroUsize::new(5).expect("5 is not 0");
