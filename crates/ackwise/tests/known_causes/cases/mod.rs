//! One module for each way of wasting time.

mod closing;
mod cork;
mod loss;
mod nagle;
mod peers;
mod rate;
mod receiver;
mod think;
mod window;

use std::sync::{Mutex, PoisonError};

use ackwise_cause::Cause;
use ackwise_link::LinkConfig;
use ackwise_linux::emulator::{Disturbance, EmulatorOptions};
use ackwise_testing::{inconclusive, skip};

use super::{
    lab::{self, Lab},
    scenario::{Observation, Recorded, Scenario},
    score::Score,
    truth::Truth,
};

/// Runs the scenario over a link that costs nothing, and compares the verdicts at both ends with what
/// was injected.
fn judge_on_ideal_link(name: &str, scenario: &Scenario) {
    let options = EmulatorOptions::symmetric(LinkConfig::IDEAL);
    judge_scenario(name, scenario, &[], || Lab::with_link(&options));
}

/// As that, on another link. What it `granted` costs in any case accuses nobody.
fn judge_on_link(name: &str, scenario: &Scenario, granted: &[Cause], options: &EmulatorOptions) {
    judge_scenario(name, scenario, granted, || Lab::with_busy_link(options));
}

fn judge_scenario(name: &str, scenario: &Scenario, granted: &[Cause], lab: impl Fn() -> Lab) {
    judge(name, scenario.total_exchanges(), granted, lab, |lab, truth| scenario.run(lab, truth));
}

/// Lets `act` make this many exchanges. The verdicts must be right in the first run, or in a later one if
/// all before it were disturbed.
fn judge(
    name: &str,
    exchanges: usize,
    granted: &[Cause],
    lab: impl Fn() -> Lab,
    act: impl Fn(&Lab, &Truth) + Sync,
) {
    /// A disturbed run is repeated at most this often: our choice.
    const MAX_REPEATS: u32 = 3;
    /// Times are real, and there are few processors: one case after the other.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(missing) = lab::missing() {
        return skip(name, missing);
    }
    for run in 0..=MAX_REPEATS {
        let lab = lab();
        let recorded = Recorded::record(name, &lab, |truth| act(&lab, truth));
        // Before any verdict is computed: a run is not called disturbed because its verdict is wrong.
        let disturbances = lab.stop();
        let wrong = compare(name, &recorded.analyse(), exchanges, granted);
        if wrong.is_empty() {
            return;
        }
        assert!(!disturbances.is_empty(), "{name}: run {run}:\n{wrong}");
        println!("{name}: run {run} was disturbed: {}\n{wrong}", in_lines(&disturbances));
    }
    inconclusive(name, "every run was disturbed: the machine is too busy");
}

fn in_lines(disturbances: &[Disturbance]) -> String {
    disturbances.iter().map(|it| format!("\n  {it}")).collect()
}

/// What is wrong with what either end saw; empty if nothing is.
fn compare(name: &str, watched: &Observation, exchanges: usize, granted: &[Cause]) -> String {
    let mut wrong = String::new();
    for (at, analysis) in &watched.seen {
        let score = Score::of(analysis, &watched.injected, granted);
        let at = at.name();
        println!("{name}, seen by the {at}: {}", score.summary());
        if analysis.exchanges.len() != exchanges || !score.is_good() {
            let seen = analysis.exchanges.len();
            wrong += &format!("seen by the {at}: {seen} of {exchanges} exchanges, ");
            wrong += &format!("{}\n{}", score.summary(), score.table());
        }
    }
    wrong
}
