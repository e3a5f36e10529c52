//! How the two worlds differ in a case, and in all.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::Case;
use crate::verdict;
use ackwise_units::statistics::Spread;

/// A case, and how long each play took in the kernel and in the simulator, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) case: Case,
    pub(super) times: Vec<[f64; 2]>,
}

impl Judged {
    fn median(&self, world: usize) -> f64 {
        Spread::of(self.times.iter().map(|times| times[world])).median
    }

    /// The simulator's excess, in seconds.
    fn excess(&self) -> f64 {
        self.median(1) - self.median(0)
    }

    /// The difference as a part of the kernel's time.
    fn part(&self) -> f64 {
        self.excess().abs() / self.median(0)
    }

    fn is_within(&self, part: f64) -> bool {
        self.part() <= part || self.excess().abs() <= LEAST
    }

    /// Whether the kernel's own plays differ, so that there is nothing to compare with.
    fn is_unstable(&self) -> bool {
        let times = || self.times.iter().map(|times| times[0]);
        let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        most - least > LEAST && most > least * (1.0 + UNSTABLE)
    }
}

/// One case, for the table and for the progress of a run.
pub(super) fn line(it: &Judged) -> String {
    let mut kernel: Vec<f64> = it.times.iter().map(|times| times[0] * 1e3).collect();
    kernel.sort_by(f64::total_cmp);
    let kernel: Vec<String> = kernel.iter().map(|ms| format!("{ms:.1}")).collect();
    let mark = match (it.is_unstable(), it.is_within(NEAR), it.is_within(FAR)) {
        (true, ..) => '?',
        (_, true, _) => ' ',
        (_, false, true) => '*',
        (_, false, false) => '!',
    };
    format!(
        "{:>4}{mark} {:>26} {:>8.1} {:>+7.1} %  {}",
        it.case.number,
        kernel.join(" "),
        it.median(1) * 1e3,
        100.0 * it.excess() / it.median(0),
        it.case
    )
}

/// What is aimed at, and what was measured, in percent.
fn targets(all: &[Judged]) -> [(&'static str, f64, bool); 3] {
    let stable = || all.iter().filter(|it| !it.is_unstable());
    let percent = |count: usize, of: usize| {
        #[expect(clippy::cast_precision_loss, reason = "counts of cases")]
        let [count, of] = [count, of].map(|count| count as f64);
        100.0 * count / of
    };
    let near = percent(stable().filter(|it| it.is_within(NEAR)).count(), stable().count());
    let far = percent(stable().filter(|it| !it.is_within(FAR)).count(), stable().count());
    let unstable = percent(all.len() - stable().count(), all.len());
    [
        ("within 5 % or 2 ms (at least 95)", near, near >= 95.0),
        ("beyond 25 % (none)", far, far <= 0.0),
        ("whose plays differ by more than 2 % and 2 ms (at most 5)", unstable, unstable <= 5.0),
    ]
}

/// The whole report: the cases that differ or are unstable, and the targets.
pub(super) fn text(seed: u64, all: &[Judged]) -> String {
    let mut out =
        "case   kernel's plays, sorted, ms     sim.   excess  (* beyond 5 % and 2 ms, ! 25 %, ? unstable)\n"
            .to_owned();
    for it in all.iter().filter(|it| all.len() == 1 || it.is_unstable() || !it.is_within(NEAR)) {
        let _ = writeln!(out, "{}", line(it));
    }
    let _ = writeln!(out, "\nseed {seed}: {} cases", all.len());
    for (what, percent, reached) in targets(all) {
        let _ = writeln!(out, "target: % of cases {what}: {percent:.1}: {}", verdict(reached));
    }
    out
}

/// The same as one JSON object, with every case.
pub(super) fn json(seed: u64, all: &[Judged]) -> Value {
    let case = |it: &Judged| {
        json!({
            "case": it.case.number, "what": it.case.to_string(), "times_s": it.times,
            "unstable": it.is_unstable(), "excess_s": it.excess(), "part": it.part(),
        })
    };
    let target = |(what, percent, reached): (&str, f64, bool)| json!({ "what": what, "percent": percent, "reached": reached });
    json!({
        "seed": seed,
        "cases": all.iter().map(case).collect::<Vec<_>>(),
        "targets": targets(all).map(target),
    })
}

/// In seconds: less is no difference, whatever part of the time it is.
const LEAST: f64 = 0.002;
const NEAR: f64 = 0.05;
const FAR: f64 = 0.25;
const UNSTABLE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(number: u64, times: [[f64; 2]; 3]) -> Judged {
        Judged { case: Case::draw(1, number), times: times.to_vec() }
    }

    #[test]
    fn a_case_differs_beyond_both_bounds_and_is_unstable_by_the_kernels_plays() {
        let near = judged(0, [[0.1, 0.1049]; 3]);
        let off = judged(1, [[0.1, 0.11]; 3]);
        let short = judged(2, [[0.002, 0.0039]; 3]);
        let far = judged(3, [[0.1, 0.13]; 3]);
        let unstable = judged(4, [[0.1, 0.2], [0.1021, 0.2], [0.101, 0.2]]);
        let all = [near, off, short, far, unstable];
        assert_eq!(all.each_ref().map(|it| it.is_within(NEAR)), [true, false, true, false, false]);
        assert_eq!(all.each_ref().map(|it| it.is_within(FAR)), [true, true, true, false, false]);
        assert_eq!(all.each_ref().map(Judged::is_unstable), [false, false, false, false, true]);
        let text = text(7, &all);
        for said in ["   1*", "   3!", "   4?", "95): 50.0", "(none): 25.0", "5): 20.0"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("   0 "), "{text}");
        assert_eq!(json(7, &all)["targets"].as_array().unwrap().len(), 3);
    }
}
