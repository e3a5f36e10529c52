//! The command line of `cargo xtask`.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use anyhow::{Context, bail};
use lexopt::prelude::*;

use crate::test::steps::{STEPS, Step};

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Chore {
    Help,
    Test(TestOptions),
    ListBenchmarks,
    Bench { name: String, rounds: Option<NonZeroUsize> },
}

/// How to run the tests.
#[derive(Debug, Default)]
pub(crate) struct TestOptions {
    /// Leave out the steps that are slow by design.
    pub(crate) fast: bool,
    /// Report success although something was skipped.
    pub(crate) allow_skips: bool,
    /// Names of the steps to run; empty means all.
    pub(crate) only: Vec<String>,
}

impl TestOptions {
    /// Whether the options ask for `step`. A step named by `--only` runs even if it is slow.
    pub(crate) fn select(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            !(self.fast && step.slow)
        } else {
            self.only.iter().any(|name| name == step.name)
        }
    }
}

pub(crate) const HELP: &str = "\
The project's own chores.

cargo xtask test [--fast] [--allow-skips] [--only STEP]...
    Installs what the tests need (says what; nothing when it is there already) and runs all steps.
    --fast          leave out the steps that are slow by design (fuzz)
    --allow-skips   exit 0 although a test or step was skipped
    --only STEP     run this step only (repeatable): fmt, tidy, deny, clippy, test,
                    port-reuse, parquet, release, doc, fuzz
    Exit: 0 everything passed, 1 something failed, 2 something was skipped.

cargo xtask bench --list
cargo xtask bench NAME [--rounds N]
    Runs ours and the other side in turn and prints the ratio with its spread.
    Exit: 0 measured, 1 could not measure.
";

/// Parses everything after `cargo xtask`.
///
/// # Errors
///
/// What is wrong with the arguments, in words.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> anyhow::Result<Chore> {
    let mut parser = lexopt::Parser::from_args(args);
    match parser.next()? {
        Some(Value(chore)) if chore == "test" => parse_test(&mut parser),
        Some(Value(chore)) if chore == "bench" => parse_bench(&mut parser),
        None | Some(Short('h') | Long("help")) => Ok(Chore::Help),
        Some(other) => Err(other.unexpected())
            .context("the chores are: test, bench (try `cargo xtask --help`)"),
    }
}

fn parse_test(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let mut options = TestOptions::default();
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

fn parse_bench(parser: &mut lexopt::Parser) -> anyhow::Result<Chore> {
    let (mut name, mut rounds) = (None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("list") => return Ok(Chore::ListBenchmarks),
            Long("rounds") => rounds = Some(parser.value()?.parse()?),
            Value(value) if name.is_none() => name = Some(value.string()?),
            Short('h') | Long("help") => return Ok(Chore::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    let name = name.context("which benchmark? `cargo xtask bench --list` names them")?;
    Ok(Chore::Bench { name, rounds })
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
    fn zero_rounds_are_refused() {
        assert!(parse_words("bench page --rounds 0").is_err());
    }
}
