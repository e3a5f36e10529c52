//! Means of both worlds' runs, and how sure their ratio is.

use std::fmt::Write as _;

use ackwise_units::statistics::Moments;
use serde_json::{Value, json};

use crate::verdict;

/// What a run has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// The mean over the pages, in seconds.
    pub(super) page_time: f64,
    /// Of the cross traffic, in bytes per second.
    pub(super) goodput: f64,
    /// Packets dropped at the bottleneck, 0 to 1.
    pub(super) drop_rate: f64,
}

/// All runs of a case.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) name: &'static str,
    pub(super) kernel: Vec<Figures>,
    pub(super) simulated: Vec<Figures>,
    /// Runs of the kernel that were disturbed each time; they count.
    pub(super) disturbed: usize,
}

/// The simulator's figure over the kernel's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    ratio: f64,
    /// Half of the 95 % confidence interval, in percent.
    interval: f64,
}

impl Judged {
    /// Of geometric means over the runs, so that the ratio is as far from 1 whichever world comes first.
    fn ratio(&self, part: fn(&Figures) -> f64) -> Ratio {
        let [kernel, simulated] = [&self.kernel, &self.simulated]
            .map(|runs| moments(runs.iter().map(|it| part(it).ln())));
        let error = kernel[1].hypot(simulated[1]);
        Ratio {
            ratio: (simulated[0] - kernel[0]).exp(),
            interval: 100.0 * ((TWO_SIDED * error).exp() - 1.0),
        }
    }
}

/// The mean, and its standard deviation.
fn moments(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let values: Vec<f64> = values.collect();
    let error = |it: Moments| [it.mean, it.error().unwrap_or(f64::NAN)];
    Moments::of(&values).map_or([f64::NAN; 2], error)
}

/// The least, the mean and the most, in milliseconds.
fn spread(runs: &[Figures]) -> String {
    let times = || runs.iter().map(|it| it.page_time * 1e3);
    let [mean, _] = moments(times());
    let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
    format!("{mean:.0} ({least:.0} to {most:.0})")
}

/// The whole report.
pub(super) fn text(seed: u64, all: &[Judged]) -> String {
    let mut out = format!(
        "{:<9} {:>20} {:>20} {:>15} {:>15} {:>11}\n",
        "case", "kernel, page, ms", "simulated", "ratio", "cross goodput", "drops, %"
    );
    for it in all {
        let drops = |runs: &[Figures]| 100.0 * moments(runs.iter().map(|it| it.drop_rate))[0];
        let ratio = |part| {
            let Ratio { ratio, interval } = it.ratio(part);
            format!("{ratio:.3} ± {interval:.1} %")
        };
        let _ = writeln!(
            out,
            "{:<9} {:>20} {:>20} {:>15} {:>15} {:>11}",
            it.name,
            spread(&it.kernel),
            spread(&it.simulated),
            ratio(|run| run.page_time),
            ratio(|run| run.goodput),
            format!("{:.2} {:.2}", drops(&it.kernel), drops(&it.simulated))
        );
    }
    let runs: usize = all.iter().map(|it| it.kernel.len()).sum();
    let disturbed: usize = all.iter().map(|it| it.disturbed).sum();
    let _ = writeln!(out, "\nseed {seed}: {runs} runs of the kernel, {disturbed} disturbed");
    for it in all {
        for (what, percent, reached) in targets(it) {
            let name = it.name;
            let _ = writeln!(out, "target: {name}: {what}: {percent:.1} %: {}", verdict(reached));
        }
    }
    out
}

fn targets(it: &Judged) -> [(&'static str, f64, bool); 2] {
    let Ratio { ratio, interval } = it.ratio(|run| run.page_time);
    let off = 100.0 * (ratio - 1.0).abs();
    [
        ("page time off by (at most 5)", off, off <= MOST_OFF),
        ("interval (below 3)", interval, interval < MOST_INTERVAL),
    ]
}

/// The same as one JSON object, with every run.
pub(super) fn json(seed: u64, all: &[Judged]) -> Value {
    let runs = |runs: &[Figures]| -> Value {
        let run = |it: &Figures| json!([it.page_time, it.goodput, it.drop_rate]);
        runs.iter().map(run).collect()
    };
    let case = |it: &Judged| {
        let Ratio { ratio, interval } = it.ratio(|run| run.page_time);
        json!({
            "case": it.name, "ratio": ratio, "interval_percent": interval, "disturbed": it.disturbed,
            "columns": ["page_time_s", "goodput_bytes_per_s", "drop_rate"],
            "kernel": runs(&it.kernel), "simulated": runs(&it.simulated),
        })
    };
    json!({ "seed": seed, "cases": all.iter().map(case).collect::<Vec<_>>() })
}

/// Student's t for 95 % with 60 runs; 2.3 with 10.
const TWO_SIDED: f64 = 2.0;
/// In percent.
const MOST_OFF: f64 = 5.0;
const MOST_INTERVAL: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(times: &[f64]) -> Vec<Figures> {
        times
            .iter()
            .map(|&page_time| Figures { page_time, goodput: 1e6, drop_rate: 0.01 })
            .collect()
    }

    #[test]
    fn a_ratio_is_as_sure_as_its_runs_are_alike() {
        let judged = |kernel: &[f64], simulated: &[f64]| Judged {
            name: "bulk",
            kernel: runs(kernel),
            simulated: runs(simulated),
            disturbed: 0,
        };
        let alike = judged(&[0.5, 0.5, 0.5], &[0.52, 0.52]);
        assert!((alike.ratio(|it| it.page_time).ratio - 1.04).abs() < 1e-9);
        assert!(targets(&alike).iter().all(|target| target.2), "{:?}", targets(&alike));
        let apart = judged(&[0.4, 0.5, 0.625], &[0.6]);
        let [off, interval] = targets(&apart);
        assert!(off.1 > 19.9 && !off.2 && !interval.2, "{off:?} {interval:?}");
        let text = text(7, &[alike]);
        assert!(text.contains("1.040 ± 0.0 %") && text.contains("0 disturbed"), "{text}");
    }
}
