//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::num::NonZeroU64;

use anyhow::{Context, bail};
use lexopt::prelude::*;

use crate::dist::Wanted;
use crate::fuzz::{self, Search};
use crate::mutants;
use crate::test::{self, steps::STEPS};

/// A subcommand with its options.
#[derive(Debug)]
pub(crate) enum Chore {
    Help,
    Test(test::Options),
    Fuzz(fuzz::Options),
    Mutants(mutants::Options),
    /// Lowers the numbers if asked to.
    Ratchet {
        update: bool,
    },
    Book,
    /// With the arguments for the crate `bench`.
    Bench(Vec<OsString>),
    Dist(Wanted),
}

pub(crate) const HELP: &str = "\
The project's own chores.

cargo xtask test [--fast] [--allow-skips] [--only STEP]...
    Install what the tests need (nothing if it is there already) and run all steps.
    --fast          leave out the slow steps: build, python, release, fuzz, kernel,
                    alone, truth, mutants
    --allow-skips   exit 0 although a test or step was skipped
    --only STEP     run this step only (repeatable): fmt, tidy, build, test, examples,
                    python, deny, advisories, book, release, fuzz, kernel, clippy, features,
                    doc, alone, truth, mutants
    Exit: 0 everything passed, 1 something failed, 2 something was skipped.

cargo xtask fuzz [TARGET]... [--seconds N] [--seed N]
    Search for longer than the tests do: 60 s for each target, or N.
    Exit: 0 nothing found, 1 something failed.

cargo xtask mutants [CRATE] [--shard K/N]
    Change the code in small ways and count the changes that a crate's own tests notice.
    Without CRATE: all crates that have a threshold. A whole run takes hours.
    Exit: 0 every threshold holds, 1 one is missed.

cargo xtask ratchet [--update]
    Print the size of each crate. xtask/ratchet.toml has the numbers that may only fall.
    --update        lower the numbers that have fallen
    Exit: 0 as the file has it, 1 not.

cargo xtask book
    Build docs/ as a book in target/book/html and check its links.
    Exit: 0 built, no dead link; 1 not.

cargo xtask bench --list
cargo xtask bench NAME [--rounds N]
    Run ours and the other side in turn and print the ratio with its spread.
    Exit: 0 measured, 1 could not measure.

cargo xtask dist [--pack | --try]
    Build and pack a release into target/dist/out.
    --pack          pack again what was built
    --try           try what was packed in clean roots (needs root and apt's mirror)
    Exit: 0 made, or everything works, 1 not.

cargo xtask release
    Build a release twice in two directories and compare, by hand: four release builds.
    Exit: 0 the same, 1 not.
";

/// Parses everything after `cargo xtask`.
///
/// # Errors
///
/// If the arguments are invalid.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Chore> {
    let mut parser = lexopt::Parser::from_args(args);
    match parser.next()? {
        Some(Value(chore)) if chore == "test" => parse_test(&mut parser),
        Some(Value(chore)) if chore == "fuzz" => parse_fuzz(&mut parser),
        Some(Value(chore)) if chore == "mutants" => parse_mutants(&mut parser),
        Some(Value(chore)) if chore == "ratchet" => parse_ratchet(&mut parser),
        Some(Value(chore)) if chore == "book" => parse_book(&mut parser),
        Some(Value(chore)) if chore == "bench" => Ok(Chore::Bench(parser.raw_args()?.collect())),
        Some(Value(chore)) if chore == "dist" => parse_dist(&mut parser),
        Some(Value(chore)) if chore == "release" => match parser.next()? {
            None => Ok(Chore::Dist(Wanted::MadeTwice)),
            Some(other) => Err(other.unexpected().into()),
        },
        None | Some(Short('h') | Long("help")) => Ok(Chore::Help),
        Some(other) => Err(other.unexpected()).context(
            "the chores are: test, fuzz, mutants, ratchet, book, bench, dist, release (try `cargo xtask --help`)",
        ),
    }
}

fn parse_test(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut options = test::Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("fast") => options.fast = true,
            Long("allow-skips") => options.allow_skips = true,
            Long("only") => options.only.push(step_name(&parser.value()?.string()?)?),
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Chore::Test(options))
}

fn step_name(name: &str) -> anyhow::Result<String> {
    if STEPS.iter().any(|step| step.name == name) {
        return Ok(name.to_owned());
    }
    let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
    bail!("no step is named `{name}`; the steps are: {}", known.join(", "))
}

fn parse_fuzz(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut targets = Vec::new();
    let mut search = Search { seconds: 60, ..Search::BRIEF };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("seconds") => search.seconds = parser.value()?.parse::<NonZeroU64>()?.get(),
            Long("seed") => search.seed = parser.value()?.parse()?,
            Value(target) => targets.push(target.string()?),
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Chore::Fuzz(fuzz::Options { targets, search }))
}

fn parse_mutants(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut options = mutants::Options::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("shard") => options.shard = Some(parser.value()?.string()?),
            Value(package) if options.package.is_none() => {
                options.package = Some(package.string()?);
            }
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Chore::Mutants(options))
}

fn parse_ratchet(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut update = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("update") => update = true,
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Chore::Ratchet { update })
}

fn parse_book(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    match parser.next()? {
        None => Ok(Chore::Book),
        Some(Short('h') | Long("help")) => Ok(Chore::Help),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn parse_dist(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut wanted = Wanted::Made;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("pack") if wanted == Wanted::Made => wanted = Wanted::Packed,
            Long("try") if wanted == Wanted::Made => wanted = Wanted::Tried,
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Chore::Dist(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> anyhow::Result<Chore> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_step_is_named_in_the_help() {
        for step in STEPS {
            assert!(HELP.contains(step.name), "{} is missing", step.name);
        }
    }

    #[test]
    fn only_beats_fast() {
        let Chore::Test(options) = parse_words("test --fast --only fuzz").unwrap() else {
            panic!("not a test run");
        };
        let chosen: Vec<_> = STEPS.iter().filter(|step| options.select(step)).collect();
        assert_eq!(chosen.iter().map(|step| step.name).collect::<Vec<_>>(), ["fuzz"]);
    }

    #[test]
    fn an_unknown_step_is_an_error_that_lists_the_known_ones() {
        let error = parse_words("test --only tset").unwrap_err().to_string();
        assert!(error.contains("`tset`") && error.contains("clippy"), "{error}");
    }

    #[test]
    fn a_search_has_a_length_and_targets() {
        let Chore::Fuzz(options) = parse_words("fuzz wire --seconds 600 --seed 7").unwrap() else {
            panic!("not a search");
        };
        assert_eq!(options.targets, ["wire"]);
        assert_eq!(options.search, Search { seconds: 600, seed: 7 });
        assert!(parse_words("fuzz --seconds 0").is_err(), "libFuzzer takes 0 for no limit");
    }

    #[test]
    fn a_release_is_made_packed_or_tried() {
        for (line, expected) in [
            ("dist", Wanted::Made),
            ("dist --pack", Wanted::Packed),
            ("dist --try", Wanted::Tried),
            ("release", Wanted::MadeTwice),
        ] {
            let Chore::Dist(wanted) = parse_words(line).unwrap() else { panic!("{line}") };
            assert_eq!(wanted, expected, "{line}");
        }
        assert!(parse_words("dist --pack --try").is_err());
        assert!(parse_words("release now").is_err());
    }

    #[test]
    fn mutants_of_one_crate_can_be_split() {
        let Chore::Mutants(options) = parse_words("mutants tcp --shard 2/8").unwrap() else {
            panic!("not a run of mutants");
        };
        assert_eq!(options.package.as_deref(), Some("tcp"));
        assert_eq!(options.shard.as_deref(), Some("2/8"));
    }
}
