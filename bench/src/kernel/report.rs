//! The comparisons as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::compare::{BURST, Comparison, DROPS, Side, certain, targets};
use super::flow::Outcome;
use super::path::{Buffers, Class};
use crate::verdict;
use ackwise_units::statistics::Spread;

/// One path, for the table and for the progress of a run.
pub(super) fn line(it: &Comparison) -> String {
    let time = |side| it.median(side, |outcome| outcome.time);
    let window = |side| it.median(side, |outcome| outcome.window);
    let [kernel, simulated] = [Side::Kernel, Side::Simulated];
    let doubt = if it.doubt.is_some() { " ?" } else { "" };
    let burst = match it.path.transfers {
        1 => "-".to_owned(),
        _ => format!("{:.0} {:.0}", it.burst(kernel), it.burst(simulated)),
    };
    format!(
        "{:>4} {:<7} {:>7.3} {:>7.3} {:>6.3} {:>11} {:>9} {:>9}  {}{doubt}",
        it.path.number,
        it.path.class().name(),
        time(kernel),
        time(simulated),
        it.ratio(),
        format!("{:.1} {:.1}", it.drops(kernel), it.drops(simulated)),
        burst,
        format!("{:.0} {:.0}", window(kernel), window(simulated)),
        it.path,
    )
}

/// The names of the columns of [`line()`].
pub(super) const COLUMNS: &str =
    "path class    kernel    sim.  ratio     drops %     burst      cwnd  (kernel, simulated)";

/// The whole report.
pub(super) fn text(seed: u64, all: &[Comparison]) -> String {
    let mut out = format!("{COLUMNS}\n");
    for it in all {
        let _ = writeln!(out, "{}", line(it));
    }
    let repeated: u32 = all.iter().map(|it| it.repeated).sum();
    let runs: usize = all.iter().map(|it| it.pairs.len()).sum();
    let _ = writeln!(
        out,
        "\nseed {seed}: {} paths, {runs} runs in each world; {repeated} more runs were disturbed and \
         repeated",
        all.len()
    );
    let doubtful = all.len() - certain(all).count();
    if doubtful > 0 {
        let _ = writeln!(
            out,
            "{doubtful} paths (?) are undecided and not counted below: their runs were disturbed"
        );
    }
    for class in Class::ALL {
        let of_class = || certain(all).filter(|it| it.path.class() == class);
        let count = of_class().count();
        if count > 0 {
            let off = Spread::of(of_class().map(Comparison::off)).median;
            let (worst, number) = worst(of_class());
            let ratio = Spread::of(of_class().map(Comparison::ratio));
            let _ = writeln!(
                out,
                "{:<8} {count:>3} paths: ratio {ratio}; off by {off:.1} % in the median, {worst:.1} % at \
                 worst (path {number})",
                class.name()
            );
        }
    }
    out.push('\n');
    for target in targets(all) {
        let reached = verdict(target.is_reached());
        let super::compare::Target { what, unit, limit, measured } = target;
        let _ = writeln!(out, "target: {what}: {measured:.1} {unit} (at most {limit}): {reached}");
    }
    for it in certain(all) {
        out.push_str(&beyond(it));
    }
    let (within, count) = own_spread(all);
    if count > 0 {
        let _ = writeln!(
            out,
            "{within} of {count} paths beyond a target for drops or bursts lie within the kernel's own runs"
        );
    }
    out
}

/// How many of the paths whose drops or bursts are beyond a target lie within the kernel's own runs, and how many
/// such paths there are.
fn own_spread(all: &[Comparison]) -> (usize, usize) {
    let is_within = |it: &Comparison, part: fn(&Outcome) -> f64, found: f64| {
        let [least, most] = it.kernel_range(part);
        (least..=most).contains(&found)
    };
    let (mut within, mut count) = (0, 0);
    for it in certain(all) {
        let [drops, burst] = [it.more_drops().abs() > DROPS, it.more_burst().abs() > BURST];
        let as_kernel = (!drops || is_within(it, Outcome::drop_percent, it.drops(Side::Simulated)))
            && (!burst || is_within(it, |it| it.burst.into(), it.burst(Side::Simulated)));
        count += usize::from(drops || burst);
        within += usize::from((drops || burst) && as_kernel);
    }
    (within, count)
}

/// What of a path is beyond a target that holds for each, with the range of the kernel's own runs.
fn beyond(it: &Comparison) -> String {
    let (mut out, number) = (String::new(), it.path.number);
    if it.more_drops().abs() > DROPS {
        let [least, most] = it.kernel_range(Outcome::drop_percent);
        let _ = writeln!(
            out,
            "beyond: path {number}: {:.1} % dropped, simulated {:.1} % (the kernel's runs: {least:.1} to \
             {most:.1} %)",
            it.drops(Side::Kernel),
            it.drops(Side::Simulated),
        );
    }
    if it.more_burst().abs() > BURST {
        let [least, most] = it.kernel_range(|outcome| outcome.burst.into());
        let _ = writeln!(
            out,
            "beyond: path {number}: burst of {:.0}, simulated {:.0} (the kernel's runs: {least:.0} to \
             {most:.0})",
            it.burst(Side::Kernel),
            it.burst(Side::Simulated),
        );
    }
    out
}

fn worst<'a>(all: impl Iterator<Item = &'a Comparison>) -> (f64, u64) {
    let off = |it: &Comparison| (it.off(), it.path.number);
    all.map(off).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, 0))
}

/// The same as one JSON object.
pub(super) fn json(seed: u64, all: &[Comparison]) -> Value {
    let target = |it: super::compare::Target| {
        let reached = it.is_reached();
        json!({ "what": it.what, "unit": it.unit, "limit": it.limit, "measured": it.measured,
            "reached": reached })
    };
    let (within, beyond) = own_spread(all);
    json!({
        "seed": seed,
        "paths_beyond": beyond,
        "paths_beyond_within_kernel": within,
        "paths": all.iter().map(path).collect::<Vec<_>>(),
        "targets": targets(all).into_iter().map(target).collect::<Vec<_>>(),
    })
}

fn path(it: &Comparison) -> Value {
    let path = &it.path;
    let side = |side| {
        json!({
            "time_s": it.median(side, |outcome| outcome.time),
            "drop_pct": it.drops(side),
            "burst_segments": it.burst(side),
            "window_segments": it.median(side, |outcome| outcome.window),
            "times_s": it.pairs.iter().map(|pair| pair.side(side).time).collect::<Vec<_>>(),
        })
    };
    json!({
        "path": path.number, "class": path.class().name(), "congestion": path.control.name(),
        "rate_kb_s": path.rate, "delay_us": path.delay, "queue_packets": path.queue,
        "loss_pct": 100.0 * path.loss, "reordering_pct": 100.0 * path.reordering,
        "lateness_us": path.lateness, "size_bytes": path.size, "transfers": path.transfers,
        "idle_ms": path.idle, "tuned_buffers": path.buffers == Buffers::Tuned, "ratio": it.ratio(), "repeated": it.repeated, "doubt": it.doubt,
        "kernel": side(Side::Kernel), "simulated": side(Side::Simulated),
    })
}

#[cfg(test)]
mod tests {
    use super::super::compare::tests::comparison;
    use super::*;

    #[test]
    fn text_and_json_name_the_worst_path_and_each_target() {
        let all = [comparison(0, 1.1), comparison(3, 0.9), comparison(4, 1.3)];
        let text = text(7, &all);
        assert!(text.contains("30.0 % at worst (path 4)"), "{text}");
        assert!(
            text.contains("target: time, no loss, worst: 30.0 % (at most 15): MISSED"),
            "{text}"
        );
        assert!(text.contains("3 paths, 9 runs in each world; 3 more runs"), "{text}");
        let line =
            "beyond: path 3: 1.0 % dropped, simulated 3.0 % (the kernel's runs: 1.0 to 1.0 %)";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("0 of 3 paths beyond a target for drops or bursts"), "{text}");
        let json = json(7, &all);
        assert_eq!(json["paths"][1]["class"], "BBR");
        assert_eq!(json["paths_beyond"], 3);
        assert_eq!(json["targets"].as_array().unwrap().len(), text.matches("target:").count());
    }
}
