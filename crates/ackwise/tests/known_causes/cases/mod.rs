//! One module for each way of wasting time.

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
use ackwise_linux::{emulator::EmulatorOptions, testing::skip};

use super::{
    lab::{self, Lab},
    scenario::{Observation, Scenario},
    score::{Finding, Score},
    truth::Truth,
};

/// Runs the scenario over a cable, and compares the verdicts at both ends with what was injected.
fn judge_on_cable(name: &str, scenario: &Scenario) {
    judge_scenario(name, scenario, &[], Lab::with_cable);
}

/// As that, on an emulated link. What it `granted` costs in any case accuses nobody.
fn judge_on_link(name: &str, scenario: &Scenario, granted: &[Cause], options: &EmulatorOptions) {
    judge_scenario(name, scenario, granted, || Lab::with_link(options));
}

fn judge_scenario(name: &str, scenario: &Scenario, granted: &[Cause], lab: impl Fn() -> Lab) {
    judge(name, scenario.total_exchanges(), granted, lab, |lab, truth| scenario.run(lab, truth));
}

/// Lets `act` make so many exchanges, until the verdicts are good or have been wrong too often.
fn judge(
    name: &str,
    exchanges: usize,
    granted: &[Cause],
    lab: impl Fn() -> Lab,
    act: impl Fn(&Lab, &Truth),
) {
    /// Other programs may have had the processors. Ours.
    const ATTEMPTS: u32 = 5;
    /// So often a verdict may be wrong in a way that a busy machine hardly explains. Ours.
    const MAX_WRONG: u32 = 2;
    /// Times are real, and there are few processors: one case after the other.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(missing) = lab::missing() {
        return skip(name, missing);
    }
    let mut wrong = 0;
    for number in 1..=ATTEMPTS {
        let lab = lab();
        let watched = Observation::watch(name, &lab, |truth| act(&lab, truth));
        let (finding, table) = compare(name, &watched, exchanges, granted);
        println!("{name}: attempt {number}: {finding:?}, {wrong} wrong before\n{table}");
        match finding {
            Finding::Good => return,
            Finding::Disturbed => {}
            Finding::Wrong => wrong += 1,
        }
        assert!(wrong <= MAX_WRONG, "{name}: wrong {wrong} times of {number}");
    }
    panic!("{name}: never good, {wrong} times wrong");
}

/// The worse of what both ends saw, and what that was.
fn compare(
    name: &str,
    watched: &Observation,
    exchanges: usize,
    granted: &[Cause],
) -> (Finding, String) {
    let mut worst = Finding::Good;
    let mut table = String::new();
    for (at, analysis) in &watched.seen {
        let score = Score::of(analysis, &watched.injected, granted);
        let finding =
            if analysis.exchanges.len() == exchanges { score.finding() } else { Finding::Wrong };
        table += &format!("{name}, seen by the {}: {}\n", at.name(), score.summary());
        if finding != Finding::Good {
            table += score.table();
        }
        worst = worst.max(finding);
    }
    (worst, table)
}
