//! A table for people: a line for each case, or for each measure if there is one case only.

use ackwise_text::escape;

use super::{
    super::{
        row::Row,
        summary::{Estimate, Summary, summaries},
    },
    MeasureFilter, labels,
};

/// The means over seeds of the measures to show, with half of the 95 % confidence interval where there
/// are several seeds.
#[must_use]
pub fn table(rows: &[Row], filter: &MeasureFilter) -> String {
    let summaries = summaries(rows);
    let measures = filter.measures(rows);
    let labels: Vec<&str> = labels(rows);
    let lines = match summaries.as_slice() {
        [] => return "no rows\n".to_owned(),
        [one] => upright(one, &labels, &measures),
        many => across(many, &labels, &measures),
    };
    let mut text = aligned(&lines, labels_to_the_left(&summaries, &labels));
    if let Some(runs) = summaries.iter().map(|summary| summary.seeds.len()).max().filter(|&n| n > 1)
    {
        text.push_str(&format!("\n{runs} seeds; ± is half of a 95 % confidence interval\n"));
    }
    text
}

/// How many columns are text.
fn labels_to_the_left(summaries: &[Summary], labels: &[&str]) -> usize {
    if summaries.len() == 1 { 1 } else { labels.len() }
}

/// A line for each measure of the only case.
fn upright(summary: &Summary, labels: &[&str], measures: &[String]) -> Vec<Vec<String>> {
    let values = labels.iter().map(|name| {
        let value = summary.case.get(name).map_or_else(String::new, ToString::to_string);
        vec![escape::line(name).into_owned(), escape::line(&value).into_owned()]
    });
    let measures =
        measures.iter().map(|name| vec![escape::line(name).into_owned(), cell(summary, name)]);
    values.chain(measures).collect()
}

/// A line for each case.
fn across(summaries: &[Summary], labels: &[&str], measures: &[String]) -> Vec<Vec<String>> {
    let head = labels
        .iter()
        .map(|name| escape::line(name).into_owned())
        .chain(measures.iter().map(|name| escape::line(name).into_owned()));
    let mut lines = vec![head.collect::<Vec<_>>()];
    for summary in summaries {
        let labels =
            summary.case.iter().map(|(_, value)| escape::line(&value.to_string()).into_owned());
        let cells = measures.iter().map(|name| cell(summary, name));
        lines.push(labels.chain(cells).collect());
    }
    lines
}

pub(super) fn cell(summary: &Summary, name: &str) -> String {
    match summary.measures.get(name) {
        None => "-".to_owned(),
        Some(Estimate { mean, ci95: None, .. }) => number(*mean, decimals(*mean)),
        Some(Estimate { mean, ci95: Some(half), .. }) => {
            let decimals = if mean.fract() == 0.0 { decimals(*half) } else { decimals(*mean) };
            format!("{} ± {}", number(*mean, decimals), number(*half, decimals))
        }
    }
}

fn number(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// None for whole numbers; of others, five digits count.
fn decimals(value: f64) -> usize {
    // The mean of equal numbers may be off in its last bit.
    if value.abs() < 1e-9 || (value - value.round()).abs() < 1e-12 * value.abs() {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a double is below 400")]
    let magnitude = value.abs().log10().floor() as i32;
    usize::try_from((4 - magnitude).clamp(0, 12)).unwrap_or(0)
}

/// Columns as wide as their widest cell, the first `left` of them to the left, numbers to the right.
fn aligned(lines: &[Vec<String>], left: usize) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_what_counts() {
        for (value, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (1_234_567.0, "1234567"),
            (15_576.823, "15577"),
            (0.001_234_567, "0.0012346"),
            (-98.765_432, "-98.765"),
            (1e-13, "0"),
        ] {
            assert_eq!(number(value, decimals(value)), text);
        }
    }
}
