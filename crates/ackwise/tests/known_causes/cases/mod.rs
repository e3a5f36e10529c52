//! One module for each way of wasting time.

mod cork;
mod loss;
mod nagle;
mod rate;
mod receiver;
mod think;
mod window;

use std::sync::{Mutex, PoisonError};

use ackwise_http::cause::Cause;
use ackwise_linux::{emulator::EmulatorOptions, testing::skip};

use super::{
    lab::{self, Lab},
    score::Score,
    talk::Talk,
};

/// Talks on a cable, and holds the verdicts at both ends to what was injected.
fn judge_on_cable(name: &str, talk: &Talk) {
    judge(name, talk, &[], Lab::with_cable);
}

/// As that, on an emulated link. What it `granted` costs in any case accuses nobody.
fn judge_on_link(name: &str, talk: &Talk, granted: &[Cause], options: &EmulatorOptions) {
    judge(name, talk, granted, || Lab::with_link(options));
}

fn judge(name: &str, talk: &Talk, granted: &[Cause], lab: impl Fn() -> Lab) {
    /// Other programs may have had the processors. Ours.
    const ATTEMPTS: u32 = 5;
    /// Times are real, and there are few processors: one case after the other.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(missing) = lab::missing() {
        return skip(name, missing);
    }
    let mut table = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(name, talk, granted, &lab()) {
            Ok(()) => return,
            Err(bad) => table = bad,
        }
        println!("{name}: bad, perhaps because the machine was busy:\n{table}");
    }
    panic!("{name}:\n{table}");
}

fn attempt(name: &str, talk: &Talk, granted: &[Cause], lab: &Lab) -> Result<(), String> {
    let watched = talk.watch(name, lab);
    let mut bad = String::new();
    for (at, analysis) in &watched.seen {
        let score = Score::of(analysis, &watched.injected, granted);
        let line = format!("{name}, seen by the {}: {}", at.name(), score.summary());
        println!("{line}");
        if !score.is_good() || analysis.exchanges.len() != talk.all_exchanges() {
            bad += &format!("{line}\n{}", score.table());
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(bad) }
}
