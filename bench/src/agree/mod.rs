//! Does our simulator give the same page times and drops as ns-2?
//!
//! Both get the same sizes of files and the same think times, from files that are drawn here, over
//! paths and loads that are drawn too. `docs/decisions/simulator.md` says what differs and why.

mod dice;
mod files;
mod ns2;
mod ours;
mod outcome;
mod point;
mod report;
mod users;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};

use self::dice::Dice;
use self::outcome::{Comparison, Outcome};
use self::point::Point;
use self::users::Users;
use super::program;
use xtask::{install, process};

/// What `cargo xtask bench NAME` calls it.
pub(super) const NAME: &str = "agree";

/// The question that it answers.
pub(super) const QUESTION: &str = "are page times and drops those of ns-2?";

/// What was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Settings {
    /// Where all random numbers begin.
    pub(super) seed: u64,
    /// How many points are drawn.
    pub(super) points: usize,
    /// Print JSON instead of tables.
    pub(super) json: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, points: 60, json: false }
    }
}

/// Runs both simulators at every point, and prints what differs.
///
/// # Errors
///
/// If ns-2 cannot be had, ours does not build, or a run failed.
pub(super) fn run(settings: Settings) -> anyhow::Result<ExitCode> {
    let Settings { seed, points, json } = settings;
    eprintln!("{NAME}: {QUESTION}\n{}", point::RANGES);
    install::provide_packages(ns2::PACKAGES)?;
    let program = program::build()?;
    let directory = Path::new(DIRECTORY);
    fs::create_dir_all(directory).with_context(|| format!("cannot create {DIRECTORY}"))?;
    let began = Instant::now();
    let mut all = Vec::new();
    for number in 0..points {
        ensure!(!process::interrupted(), "interrupted");
        ensure!(began.elapsed() < LIMIT, "stopped after {LIMIT:?} at point {number} of {points}");
        let mut dice = Dice::new(seed).of("point", number as u64);
        let point = Point::draw(&mut dice);
        let comparison = compare(&point, dice, &program, directory)?;
        let seconds = began.elapsed().as_secs();
        eprintln!("{:>3} of {points} after {seconds} s: {}", number + 1, report::line(&comparison));
        all.push(comparison);
    }
    if json {
        report::json(seed, &all)
    } else {
        report::print(seed, &all)
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs of one point, each with its own draws.
fn compare(
    point: &Point,
    dice: Dice,
    program: &Path,
    directory: &Path,
) -> anyhow::Result<Comparison> {
    let mut comparison = Comparison { point: point.clone(), runs: Vec::new() };
    for seed in 0..MOST_SEEDS {
        if seed >= SEEDS && comparison.error() <= PRECISE {
            break;
        }
        let users = Users::draw(point, &mut dice.of("run", seed));
        let (tcl, toml) = (directory.join("point.tcl"), directory.join("point.toml"));
        fs::write(&tcl, files::tcl(point, &users)).context("cannot write point.tcl")?;
        fs::write(&toml, files::toml(point, &users)).context("cannot write point.toml")?;
        let pair: [Outcome; 2] = [ours::run(program, &toml, point)?, ns2::run(&tcl)?];
        comparison.runs.push(pair);
    }
    Ok(comparison)
}

/// Runs averaged for each point, at least.
const SEEDS: u64 = 10;

/// With few clients, chance decides over tens of per cent of a run's page time. Such a point gets more
/// runs, up to this number (our choice): they are short.
const MOST_SEEDS: u64 = 60;

/// The standard error, in per cent, that is enough: a difference of 10 % is then no chance.
const PRECISE: f64 = 3.0;

/// Where the files of a run are written, seen from the root of the repository.
const DIRECTORY: &str = "target/bench-agree";

/// 60 points take about half an hour on a quiet machine.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(2 * 3600);
