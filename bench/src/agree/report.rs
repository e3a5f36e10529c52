//! Formats the points as a table or as JSON, and whether they agree.

use serde_json::{Value, json};

use super::outcome::{Comparison, Side};
use super::point::{HEADINGS, Plan};
use crate::verdict;

/// Formats one point as a line.
pub(super) fn line(comparison: &Comparison) -> String {
    format!(
        "{} {:>4} | {:>7.3} {:>7.3} {:>+6.1} ±{:<4.1} | {:>6.2} {:>6.2} {:>+6.2}",
        comparison.point,
        comparison.runs.len(),
        comparison.page_time(Side::Ours),
        comparison.page_time(Side::Ns2),
        comparison.longer(),
        comparison.error(),
        comparison.drops(Side::Ours),
        comparison.drops(Side::Ns2),
        comparison.more_drops(),
    )
}

/// Prints all points and the summary.
pub(super) fn print(seed: u64, all: &[Comparison]) {
    println!("{HEADINGS} runs | page s    ns-2      %        | drop %   ns-2 points");
    all.iter().for_each(|comparison| println!("{}", line(comparison)));
    println!("\nseed {seed}, {} points; ± is the standard error of the difference", all.len());
    let summary = Summary::of(all.iter());
    summary.print("all plans");
    for plan in Plan::ALL {
        let points = all.iter().filter(|it| it.point.plan == plan);
        if points.clone().next().is_some() {
            Summary::of(points).print(plan.name());
        }
    }
    let Summary { median, worst, half, most, .. } = summary;
    println!("target: page time within 1.5 % in the median: {}", verdict(median <= 1.5));
    println!("target: page time within 10 % at worst: {}", verdict(worst <= 10.0));
    println!("target: drops within 0.5 points at 90 %: {}", verdict(half >= 90.0));
    println!("target: drops within 1.5 points at worst: {}", verdict(most <= 1.5));
}

/// Prints the same as one JSON object.
pub(super) fn json(seed: u64, all: &[Comparison]) {
    let summary = Summary::of(all.iter());
    let points: Vec<Value> = all.iter().map(point).collect();
    let object = json!({
        "seed": seed,
        "page_time_median_pct": summary.median,
        "page_time_worst_pct": summary.worst,
        "drops_within_half_a_point_pct": summary.half,
        "drops_within_1_5_points_pct": summary.one_and_a_half,
        "drops_worst_points": summary.most,
        "points": points,
    });
    println!("{object:#}");
}

fn point(comparison: &Comparison) -> Value {
    let point = &comparison.point;
    json!({
        "rate_kb_s": point.rate, "delay_ms": point.delay, "queue_packets": point.queue,
        "plan": point.plan.name(), "web_clients": point.web, "ftp_clients": point.ftp,
        "initial_window": point.initial_window, "largest_window": point.window,
        "loss_pct": 100.0 * point.loss,
        "page_time_s": comparison.page_time(Side::Ours),
        "ns2_page_time_s": comparison.page_time(Side::Ns2),
        "page_time_difference_pct": comparison.longer(),
        "standard_error_pct": comparison.error(),
        "runs": comparison.runs.len(),
        "drop_pct": comparison.drops(Side::Ours),
        "ns2_drop_pct": comparison.drops(Side::Ns2),
    })
}

/// Absolute differences over several points.
#[derive(Clone, Copy, Debug)]
struct Summary {
    /// Of page times, in percent.
    median: f64,
    worst: f64,
    /// Shares of points whose drops differ by at most half a percentage point and by at most one
    /// and a half, in percent.
    half: f64,
    one_and_a_half: f64,
    /// Maximum difference of drops, in percentage points.
    most: f64,
}

impl Summary {
    fn of<'a>(points: impl Iterator<Item = &'a Comparison> + Clone) -> Self {
        let times =
            ackwise_units::statistics::Spread::of(points.clone().map(|it| it.longer().abs()));
        let drops: Vec<f64> = points.clone().map(|it| it.more_drops().abs()).collect();
        let share = |limit: f64| {
            #[expect(clippy::cast_precision_loss, reason = "a few points")]
            let share = drops.iter().filter(|it| **it <= limit).count() as f64 / drops.len() as f64;
            100.0 * share
        };
        Self {
            median: times.median,
            worst: points.map(|it| it.longer().abs()).fold(0.0, f64::max),
            half: share(0.5),
            one_and_a_half: share(1.5),
            most: drops.iter().copied().fold(0.0, f64::max),
        }
    }

    fn print(&self, what: &str) {
        let Self { median, worst, half, one_and_a_half, most } = self;
        println!(
            "{what:<10} page time: median {median:.1} %, worst {worst:.1} %; drops: {half:.0} % of \
             the points within 0.5, {one_and_a_half:.0} % within 1.5, worst {most:.2} points"
        );
    }
}
