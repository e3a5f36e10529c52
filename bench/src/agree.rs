//! Compares page times and drops of Ackwise's simulator with those of ns-2.
//!
//! Both get the same file sizes and think times from generated files, over random paths and loads.
//! `docs/figures/simulator.md` lists the differences and their reasons.

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

use self::outcome::{Comparison, Outcome};
use self::point::Point;
use self::users::Users;
use super::program;
use crate::dice::Dice;
use xtask::{install, process};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "agree";

/// The question that it answers.
pub(super) const QUESTION: &str = "are page times and drops those of ns-2?";

/// Options of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Settings {
    /// Seed of all random numbers.
    pub(super) seed: u64,
    /// Number of points.
    pub(super) points: usize,
    /// Print JSON instead of tables.
    pub(super) json: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, points: 60, json: false }
    }
}

/// Runs both simulators at every point, and prints the differences.
///
/// # Errors
///
/// If ns-2 is not available, Ackwise does not build, or a run fails.
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

/// The runs of one point, each with different random numbers.
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

/// Runs averaged for each point, at least (our choice).
const SEEDS: u64 = 10;

/// With few clients, the page time of a run varies by tens of percent at random. Such a point gets more
/// runs, up to this number (our choice): they are short.
const MOST_SEEDS: u64 = 60;

/// The standard error, in percent, at which no more runs are needed (our choice): a difference of 10 %
/// is then significant.
const PRECISE: f64 = 3.0;

/// Directory for the files of a run, relative to the root of the repository.
const DIRECTORY: &str = "target/bench-agree";

/// Time limit (our choice): 60 points take about half an hour on an idle machine.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(2 * 3600);
