//! The comparison as text.

use std::fmt::Write;

use ackwise_text::{
    layout,
    words::{counted, grouped},
};

use super::{Comparison, Measure};

/// Formats the comparison in at most `columns` columns: first the median latency, then a table.
#[must_use]
pub fn comparison_text(comparison: &Comparison, columns: usize) -> String {
    let mut text = String::new();
    let mut paragraph = |words: &str| text += &layout::paragraph(words, 2, columns);
    paragraph(&summary(comparison));
    paragraph("");
    for server in 0..2 {
        let (requests, failed) = comparison.requests(server);
        let (name, target) = (["A", "B"][server], &comparison.targets[server]);
        let (requests, failed) = (counted(requests, "request"), grouped(failed));
        paragraph(&format!("{name}: {target}, {requests}, {failed} failed"));
    }
    paragraph("");
    let rows = Measure::ALL.into_iter().filter_map(|measure| row(comparison, measure));
    let head = format!("{:<6} {:>12} {:>12}  B / A [interval]", "", "A", "B");
    for row in std::iter::once(head).chain(rows) {
        let _ = writeln!(text, "{row}");
    }
    text
}

/// Which server is faster, and how sure that is.
pub(super) fn summary(comparison: &Comparison) -> String {
    let [first, second] = &comparison.targets;
    let rounds = counted(comparison.rounds.len() as u64, "round");
    let Some(ratio) = comparison.ratio(Measure::P50) else {
        return format!("{rounds} are too few to compare {first} and {second}.");
    };
    let confidence = 100.0 * ratio.confidence;
    let interval = format!(
        "{:.3} to {:.3} with {confidence:.1} % confidence, {rounds}",
        ratio.lower, ratio.upper
    );
    let median = ratio.median;
    match ratio.shows_a_difference() {
        true => format!("B takes {median:.3} times as long as A at the median ({interval})."),
        false => format!(
            "No difference at the median: B takes {median:.3} times as long as A ({interval})."
        ),
    }
}

fn row(comparison: &Comparison, measure: Measure) -> Option<String> {
    let value = |server| Some(format!("{:.3}", comparison.median(measure, server)?));
    let unit = if measure == Measure::Rate { "/s" } else { "ms" };
    let (first, second) = (value(0)?, value(1)?);
    let ratio = comparison.ratio(measure).map_or_else(String::new, |ratio| {
        format!("{:.3} [{:.3}, {:.3}]", ratio.median, ratio.lower, ratio.upper)
    });
    Some(format!("{:<4} {unit} {first:>11} {second:>12}  {ratio}", measure.as_str()))
}
