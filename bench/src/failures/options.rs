//! What `cargo xtask bench failures` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use lexopt::prelude::*;

use super::kind::Family;

/// Options of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Settings {
    /// Of all random numbers.
    pub(super) seed: u64,
    /// Play this family only.
    pub(super) only: Option<Family>,
    /// Keep captures and truth here.
    pub(super) dir: Option<PathBuf>,
    /// Read them from here instead of recording.
    pub(super) from: Option<PathBuf>,
    /// Ask this program instead of a release build.
    pub(super) program: Option<PathBuf>,
    pub(super) json: bool,
}

pub(crate) const HELP: &str = "\
cargo xtask bench failures [OPTION]...
    Record programs that fail on this kernel, and compare what `explain` tells with what they did and saw.
    Needs root; six minutes.
    --seed N          Seed of all random numbers (1 by default).
    --only KIND       Play only this kind of failure or of ordinary traffic, such as close-race or half-close.
    --dir DIR         Keep captures and truth in DIR.
    --from DIR        Score the cases in DIR again instead of recording.
    --program FILE    Ask FILE instead of a release build of ackwise.
    --json            Print JSON.
    Exit: 0 measured, 1 could not measure.
";

/// Parses everything after `cargo xtask bench failures`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown, has a wrong value, or excludes another.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut settings =
        Settings { seed: 1, only: None, dir: None, from: None, program: None, json: false };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("only") => {
                let name = parser.value()?.string()?;
                let family = Family::named(&name);
                settings.only = Some(family.with_context(|| format!("no kind `{name}`"))?);
            }
            Long("dir") => settings.dir = Some(parser.value()?.into()),
            Long("from") => settings.from = Some(parser.value()?.into()),
            Long("program") => settings.program = Some(parser.value()?.into()),
            Long("json") => settings.json = true,
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    ensure!(settings.dir.is_none() || settings.from.is_none(), "--dir excludes --from");
    Ok(Some(settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::kind::Kind;

    fn parsed(line: &str) -> anyhow::Result<Option<Settings>> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_kind_is_known_by_its_name() {
        let settings = parsed("--only close-race --seed 7").unwrap().unwrap();
        assert_eq!((settings.only, settings.seed), (Some(Family::Fails(Kind::CloseRace)), 7));
        assert!(parsed("--only nothing").is_err());
    }

    #[test]
    fn cases_are_kept_or_read() {
        assert!(parsed("--dir a --from b").is_err());
        assert_eq!(parsed("--help").unwrap(), None);
    }
}
