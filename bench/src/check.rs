//! `cargo xtask bench check`: are the verdicts of `ackwise check` right when every core is busy, and does `--rtt`
//! give those of a real path?

mod clock;
mod patterns;
mod programs;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ackwise_check::{Distance, Rate};
use anyhow::{anyhow, bail, ensure};
use lexopt::prelude::*;

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "check";

/// The question that it answers.
pub(super) const QUESTION: &str = "\
do the verdicts of `check --quick` hold when every core is busy? \
(--programs: are those of --rtt those of a path? --clock: are they those of a client's clock?)";

/// The lines of `bench --help`.
pub(super) const HELP: &str = "\
cargo xtask bench check [--rounds N]
    Check servers with named patterns of writes while every core is busy, and count the verdicts: N
    runs of each (20 by default). Wrong cards are kept in target/bench/check. Exit: 0 as expected, 1 not.
cargo xtask bench check --programs [--program NAME]... [--rtt MS] [--rate RATE]
    Check real programs with --rtt (80 ms by default) and --link-rate (20Mb/s), and over the link emulator
    with the same path, and compare the verdicts. Needs root. Exit: 0 all equal, 1 not.
cargo xtask bench check --clock [--program NAME]... [--ackwise FILE]
    Check the servers of bench/programs.toml under BBR and CUBIC, and compare the verdicts on stalls with a
    client's clock. Needs root. Exit: 0 all equal, 1 not.
";

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Settings {
    /// Verdicts about patterns of writes.
    Patterns { rounds: Option<NonZeroUsize> },
    /// Verdicts about programs over a path; all programs, if none is named.
    Programs { names: Vec<String>, path: Distance },
    /// Verdicts beside a client's clock; all targets, if none is named.
    Clock { names: Vec<String>, ackwise: Option<PathBuf> },
}

/// Parses everything after `cargo xtask bench check`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown, or does not fit the others.
pub(super) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut rounds, mut question, mut names) = (None, Question::Patterns, Vec::new());
    let (mut rtt, mut rate, mut ackwise) = (None, None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("rounds") => rounds = Some(parser.value()?.parse::<NonZeroUsize>()?),
            Long("programs") => question = Question::Programs,
            Long("ackwise") => ackwise = Some(PathBuf::from(parser.value()?)),
            Long("clock") => question = Question::Clock,
            Long("program") => names.push(parser.value()?.string()?),
            Long("rtt") => rtt = Some(parser.value()?.parse::<u16>()?),
            Long("rate") => {
                let rate_given = parser.value()?.string()?;
                rate =
                    Some(ackwise_units::parse(&rate_given).map_err(|it| anyhow!("expected {it}"))?);
            }
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    let has_path = rtt.is_some() || rate.is_some();
    ensure!(question == Question::Programs || !has_path, "only --programs has these options");
    ensure!(question == Question::Patterns || rounds.is_none(), "only patterns have --rounds");
    ensure!(question == Question::Clock || ackwise.is_none(), "only --clock has --ackwise");
    let is_known = match question {
        Question::Patterns => |_: &String| false,
        Question::Programs => |name: &String| programs::has(name),
        Question::Clock => |name: &String| clock::has(name),
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        bail!("no program is named `{unknown}`");
    }
    match question {
        Question::Patterns => return Ok(Some(Settings::Patterns { rounds })),
        Question::Clock => return Ok(Some(Settings::Clock { names, ackwise })),
        Question::Programs => {}
    }
    let rtt = rtt.map_or(RTT, |ms| Duration::from_millis(ms.into()));
    let rate = rate.or_else(|| Rate::bits_per_second(RATE));
    let path = Distance { rtt, rate, queue: None, loss: None };
    Ok(Some(Settings::Programs { names, path }))
}

/// Which of the questions is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Question {
    Patterns,
    Programs,
    Clock,
}

/// Measures and prints everything.
///
/// # Errors
///
/// If it cannot be measured here.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    match settings {
        Settings::Patterns { rounds } => patterns::run(*rounds),
        Settings::Programs { names, path } => programs::run(names, *path),
        Settings::Clock { names, ackwise } => clock::run(names, ackwise.as_deref()),
    }
}

/// Where cards are kept, relative to the root of the repository.
const DIRECTORY: &str = "target/bench/check";

/// The path of the issue that asked for `--rtt`: another continent, and a home's access.
const RTT: Duration = Duration::from_millis(80);
const RATE: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> anyhow::Result<Option<Settings>> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn programs_are_compared_over_a_path_and_patterns_in_rounds() {
        let rounds = NonZeroUsize::new(3);
        assert_eq!(parse_words("--rounds 3").unwrap(), Some(Settings::Patterns { rounds }));
        let given = parse_words("--programs --program nginx --rtt 40 --rate 1Mb/s").unwrap();
        let Some(Settings::Programs { names, path }) = given else { panic!("{given:?}") };
        assert_eq!((names, path.rtt), (vec!["nginx".to_owned()], Duration::from_millis(40)));
        assert_eq!(path.rate.map(Rate::get), Some(1_000_000));
        let given = parse_words("--clock --program caddy-tls").unwrap();
        assert_eq!(
            given,
            Some(Settings::Clock { names: vec!["caddy-tls".to_owned()], ackwise: None })
        );
        for wrong in [
            "--clock --rtt 40",
            "--clock --program x",
            "--rtt 40",
            "--program nginx",
            "--programs --rounds 3",
            "--programs --program x",
            "--rounds 0",
        ] {
            assert!(parse_words(wrong).is_err(), "{wrong}");
        }
    }
}
