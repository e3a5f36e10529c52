//! What `cargo xtask bench kernel` is asked for.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use lexopt::prelude::*;

/// Options of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Settings {
    /// Seed of all random numbers.
    pub(super) seed: u64,
    pub(super) traffic: Traffic,
    /// Number of paths, of short cases, or of runs of each case with cross traffic, if given.
    paths: Option<u64>,
    /// The number of the only path to compare.
    pub(super) only: Option<u64>,
    /// Print JSON instead of tables.
    pub(super) json: bool,
    /// Write a page that shows the worst paths.
    pub(super) page: Option<PathBuf>,
    /// Keep experiments and packets here.
    pub(super) keep: Option<PathBuf>,
    /// Take the kernel's runs from here, where a run with the same seed has kept them.
    pub(super) kept: Option<PathBuf>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Traffic {
    #[default]
    Transfers,
    /// Exchanges of a few segments.
    Short,
    /// Pages beside downloads.
    Cross,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            traffic: Traffic::default(),
            paths: None,
            only: None,
            json: false,
            page: None,
            keep: None,
            kept: None,
        }
    }
}

impl Settings {
    /// How many paths to compare.
    pub(super) fn paths(&self) -> u64 {
        self.paths.unwrap_or(60)
    }

    /// How many short cases.
    pub(super) fn cases(&self) -> u64 {
        self.paths.unwrap_or(240)
    }

    /// How many runs of each case with cross traffic.
    pub(super) fn runs(&self) -> u64 {
        self.paths.unwrap_or(80)
    }
}

pub(crate) const HELP: &str = "\
cargo xtask bench kernel [OPTION]...
    Compare transfers in the simulator (preset `linux-6`) with those of this machine's kernel over
    the link emulator, on paths drawn with a seed. Needs root. 60 paths take about ten minutes.
    --seed N     Seed of all random numbers (1 by default).
    --short      Compare exchanges of 1 to 12 segments that lose packets, each three times on the kernel:
                 240 cases by default, about ten minutes. The table has those that differ.
    --cross      Compare pages that share a bottleneck with downloads, in three cases: the mean of 80 runs of each
                 (ten minutes), with its 95 % confidence interval.
    --paths N    Number of paths (60 by default), of short cases, or of runs of each case of --cross.
    --only CASE  Compare only the path with this number, as the table shows it.
    --json       Print JSON.
    --page FILE  Write an HTML page that shows the five worst paths side by side.
    --keep DIR   Keep, for each path, the experiment for `ackwise run` and the packets of both worlds.
    --kept DIR   Simulate again what a run with the same seed has kept in DIR, without the kernel.
    Examples: cargo xtask bench kernel --page worst.html
              cargo xtask bench kernel --seed 7 --only 12 --keep /tmp/path
              cargo xtask bench kernel --seed 7 --only 12 --kept /tmp/path
              cargo xtask bench kernel --short --seed 7
              cargo xtask bench kernel --cross --only 1
    Exit: 0 measured (the last lines say which targets are reached), 1 could not measure.
";

/// Parses everything after `cargo xtask bench kernel`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown or has a wrong value.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut settings = Settings::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("short") => settings.traffic = Traffic::Short,
            Long("cross") => settings.traffic = Traffic::Cross,
            Long("paths") => settings.paths = Some(parser.value()?.parse::<NonZeroU64>()?.get()),
            Long("only") => settings.only = Some(parser.value()?.parse()?),
            Long("json") => settings.json = true,
            Long("page") => settings.page = Some(parser.value()?.into()),
            Long("kept") => settings.kept = Some(parser.value()?.into()),
            Long("keep") => settings.keep = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    let files = [&settings.page, &settings.kept, &settings.keep];
    if settings.traffic == Traffic::Cross && files.iter().any(|file| file.is_some()) {
        anyhow::bail!("cannot use --page, --kept or --keep with --cross: its runs are not kept");
    }
    Ok(Some(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> anyhow::Result<Option<Settings>> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_option_is_read_and_in_the_help() {
        let line = "--short --seed 7 --paths 9 --only 3 --json --page p.html --keep k --kept d";
        let settings = parsed(line).unwrap().unwrap();
        assert_eq!((settings.seed, settings.paths(), settings.only), (7, 9, Some(3)));
        assert_eq!((settings.traffic, settings.cases(), settings.runs()), (Traffic::Short, 9, 9));
        let default = parsed("").unwrap().unwrap();
        assert_eq!((default.paths(), default.cases(), default.runs()), (60, 240, 80));
        assert_eq!(parsed("--cross").unwrap().unwrap().traffic, Traffic::Cross);
        assert_eq!((settings.page, settings.keep), (Some("p.html".into()), Some("k".into())));
        assert!(settings.json && settings.kept == Some("d".into()));
        for option in line.split_whitespace().chain(["--cross"]).filter(|it| it.starts_with("--")) {
            assert!(HELP.contains(option), "{option}");
        }
        assert_eq!(parsed("--help").unwrap(), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in ["--paths 0", "--only x", "--seed", "page", "--cross --page p.html"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
