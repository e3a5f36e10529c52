//! What `cargo xtask bench truth` is asked for.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use ackwise_cause::Cause;
use anyhow::{Context, ensure};
use lexopt::prelude::*;

use super::case::World;
use super::score::Sureness;

/// Options of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Settings {
    /// What is drawn.
    pub(super) set: Set,
    /// Seed of all random numbers.
    pub(super) seed: u64,
    /// Runs in each world.
    pub(super) runs: u64,
    /// The worlds that cases are recorded in.
    pub(super) worlds: Vec<World>,
    /// Begin no case after this time, and check the limits for CI.
    pub(super) subset: Option<Duration>,
    /// Read these cases instead of recording some.
    pub(super) from: Option<PathBuf>,
    /// Keep the cases here.
    pub(super) keep: Option<PathBuf>,
    /// On the kernel, families speak TLS 1.3 that would speak HTTP/1 otherwise. Of ordinary programs, those over TLS
    /// that tell their phases.
    pub(super) tls: bool,
    /// On the kernel, families speak HTTP/2 that would speak HTTP/1 otherwise.
    pub(super) h2: bool,
    /// Read with the secrets of the cases.
    pub(super) keys: bool,
    /// Print truth and statements of this case.
    pub(super) show: Option<String>,
    /// Packets that are removed from each case, one at a time.
    pub(super) removals: u32,
    /// Print so many of these that change most.
    pub(super) worst: usize,
    /// Print what is wrong of this.
    pub(super) wrong: Option<Wrong>,
    /// Print what each rule is worth.
    pub(super) rules: bool,
    /// What to print.
    pub(super) format: Format,
}

/// A set of families. Rules are made with the others; each shows what they were fitted to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Set {
    /// Each family provokes a cause.
    First,
    /// Each family varies what the first set holds fixed.
    Axes,
    /// Each family is a mechanism that the others do not have.
    Second,
    /// Ordinary programs, which provoke nothing.
    Ordinary,
}

impl Set {
    const ALL: [Self; 4] = [Self::First, Self::Axes, Self::Second, Self::Ordinary];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Axes => "axes",
            Self::Second => "second",
            Self::Ordinary => "ordinary",
        }
    }
}

/// Of which wrong statements there is to be a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wrong {
    /// What is said to be this cause and is not, and the other way round.
    Cause(Cause),
    /// What is said with this confidence.
    Sure(Sureness),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Text,
    Json,
    /// The calibration table, written into docs/explain/accuracy.md.
    Markdown,
}

/// So many give at least 30 cases with each cause on the kernel but those that it cannot make. Our choice.
const RUNS: u64 = 650;

/// 500 in 250 cases. Our choice.
const REMOVALS: u32 = 2;

impl Default for Settings {
    fn default() -> Self {
        Self {
            set: Set::First,
            seed: 1,
            runs: RUNS,
            worlds: World::ALL.to_vec(),
            subset: None,
            from: None,
            keep: None,
            tls: false,
            h2: false,
            keys: false,
            show: None,
            removals: REMOVALS,
            worst: 0,
            wrong: None,
            rules: false,
            format: Format::Text,
        }
    }
}

pub(crate) const HELP: &str = "\
cargo xtask bench truth [OPTION]...
    Compare what `explain` says with what connections really waited for.
    --set SET         Draw from this set of families: first (by default), axes (what the first holds fixed), second
                      (mechanisms that neither has), or ordinary (programs that provoke nothing, against their own
                      clocks; needs root).
    --seed N          Seed of all random numbers (1 by default).
    --runs N          Record N cases in each world (650 by default).
    --world WORLD     Record cases in this world only: kernel (needs root) or sim.
    --subset SECONDS  Begin no case after SECONDS, and check the limits for CI (bench/truth.json).
    --from FOLDER     Read the cases in FOLDER instead of recording some: ours, or captures of others with amounts.
    --keep FOLDER     Keep the cases in FOLDER: captures, truth, and how each was made.
    --tls             On the kernel, speak TLS 1.3 wherever a family would speak HTTP/1. With --set ordinary, record clients
                      over TLS that tell their phases, and compare sums.
    --h2              On the kernel, speak HTTP/2 wherever a family would speak HTTP/1, a fifth of it gRPC; with --tls,
                      below TLS 1.3.
    --keys            Read with the secrets of the cases, which are logged. HTTP/2 of --set ordinary --tls always is.
    --show CASE       Print truth and statements of one case side by side.
    --removals N      Remove N single packets from each case, one at a time (2 by default).
    --worst N         Print the N packets whose removal changes most.
    --wrong CAUSE     Print what is said to be CAUSE and is not, and the other way round: the longest first.
    --wrong high      Print what is said with high (medium, low) confidence and is wrong: sums, then the longest.
    --rules           Print what each rule decides, how much of that is right, and what switching it off costs.
    --markdown        Write the calibration table into docs/explain/accuracy.md.
    --json            Print JSON.
    Examples: cargo xtask bench truth --world sim --runs 60
              cargo xtask bench truth --keep /tmp/cases
              cargo xtask bench truth --set ordinary --runs 50
              cargo xtask bench truth --set ordinary --tls --runs 22
              cargo xtask bench truth --from /tmp/cases --show kernel-0017
              cargo xtask bench truth --from /tmp/cases --wrong nagle-rtt
    Exit: 0 measured, 1 could not measure or, with --subset, a limit was missed.
";

/// Parses everything after `cargo xtask bench truth`; `None` asks for help.
///
/// # Errors
///
/// If an option is unknown, has a wrong value, or excludes another.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Option<Settings>> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut settings = Settings::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("set") => {
                let name = parser.value()?.string()?;
                let set = Set::ALL.into_iter().find(|it| it.name() == name);
                settings.set = set.with_context(|| format!("no set `{name}`"))?;
            }
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("runs") => settings.runs = parser.value()?.parse::<NonZeroU64>()?.get(),
            Long("world") => {
                let name = parser.value()?.string()?;
                settings.worlds.retain(|it| it.name() == name);
                ensure!(!settings.worlds.is_empty(), "no world `{name}` (expected kernel or sim)");
            }
            Long("subset") => {
                let seconds = parser.value()?.parse::<NonZeroU64>()?.get();
                settings.subset = Some(Duration::from_secs(seconds));
            }
            Long("from") => settings.from = Some(parser.value()?.into()),
            Long("keep") => settings.keep = Some(parser.value()?.into()),
            Long("show") => settings.show = Some(parser.value()?.string()?),
            Long("removals") => settings.removals = parser.value()?.parse()?,
            Long("worst") => settings.worst = parser.value()?.parse()?,
            Long("wrong") => {
                let name = parser.value()?.string()?;
                let cause = Cause::ALL.into_iter().find(|it| it.name() == name);
                let sure = || Sureness::ALL.into_iter().find(|it| it.name() == name);
                let wrong = cause.map(Wrong::Cause).or_else(|| sure().map(Wrong::Sure));
                let error = || format!("`{name}` is no cause and no confidence");
                settings.wrong = Some(wrong.with_context(error)?);
            }
            Long("tls") => settings.tls = true,
            Long("h2") => settings.h2 = true,
            Long("keys") => settings.keys = true,
            Long("rules") => settings.rules = true,
            Long("json") => settings.format = Format::Json,
            Long("markdown") => settings.format = Format::Markdown,
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    if settings.set == Set::Ordinary {
        settings.worlds = vec![World::Kernel];
    }
    let reads = settings.from.is_some();
    ensure!(!reads || settings.keep.is_none(), "--from keeps its cases: --keep is not needed");
    ensure!(
        !reads || settings.subset.is_none(),
        "--from reads all cases: --subset cannot limit it"
    );
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
        let line = "--h2 --set axes --seed 7 --runs 9 --world sim --subset 90 --keep k --show sim-0001 --wrong \
                    nagle-rtt --removals 5 --worst 3 --rules --json";
        let settings = parsed(line).unwrap().unwrap();
        assert_eq!((settings.set, settings.seed, settings.runs), (Set::Axes, 7, 9));
        assert_eq!(settings.worlds, [World::Sim]);
        assert_eq!(settings.subset, Some(Duration::from_secs(90)));
        assert_eq!(settings.keep, Some("k".into()));
        assert_eq!(settings.show.as_deref(), Some("sim-0001"));
        assert_eq!((settings.removals, settings.worst), (5, 3));
        assert_eq!(settings.wrong, Some(Wrong::Cause(Cause::NagleRtt)));
        for sure in [Sureness::High, Sureness::Medium, Sureness::Low] {
            let wrong = parsed(&format!("--wrong {}", sure.name())).unwrap().unwrap().wrong;
            assert_eq!(wrong, Some(Wrong::Sure(sure)));
        }
        assert!(settings.rules && settings.h2);
        assert_eq!(settings.format, Format::Json);
        for option in line.split_whitespace().filter(|it| it.starts_with("--")) {
            assert!(HELP.contains(option), "{option}");
        }
        assert_eq!(parsed("--set second").unwrap().unwrap().set, Set::Second);
        let ordinary = parsed("--set ordinary").unwrap().unwrap();
        assert_eq!((ordinary.set, ordinary.worlds), (Set::Ordinary, vec![World::Kernel]));
        assert_eq!(parsed("--help").unwrap(), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let lines =
            ["--runs 0", "--world moon", "--set all", "--from a --keep b", "--from a --subset 9"];
        for line in lines.into_iter().chain(["--wrong nagel", "page"]) {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
