//! A page: each measure over the first variable that is a number, the table, and the packets of a
//! run that stands alone.

mod variable;

use ackwise_explain::{Explained, sentence, totals_table};
use ackwise_report::{Block, Cell, HtmlTable, Line, Page, Plot};
use variable::Variable;

use super::{
    super::{
        row::Row,
        summary::{Summary, summaries},
    },
    MeasureFilter, labels,
    table::cell,
    warnings::warnings,
};

/// What a page says beside the rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageNotes<'a> {
    /// What the experiment is about.
    pub title: &'a str,
    /// The packets of the only row.
    pub explained: Option<&'a Explained>,
}

/// The measures to show, over the seeds of each case, as one self-contained HTML page.
///
/// ```
/// use ackwise_lab::run::export::{MeasureFilter, PageNotes, html};
///
/// let about = PageNotes { title: "Nothing was run", ..PageNotes::default() };
/// assert!(html(&[], &MeasureFilter::default(), &about).contains("0 cases"));
/// ```
#[must_use]
pub fn html(rows: &[Row], filter: &MeasureFilter, about: &PageNotes<'_>) -> String {
    let name = rows.first().map_or("", |row| row.experiment.as_str());
    let mut page = Page::new(format!("ackwise run {name}"));
    if !about.title.is_empty() {
        page.add_lead(about.title);
    }
    let summaries = summaries(rows);
    page.add_lead(size(rows, &summaries));
    let measures = filter.measures(rows);
    let labels = labels(rows);
    if let Some(variable) = Variable::first_of(&labels, &summaries) {
        let plots = measures.iter().filter_map(|measure| plot(measure, &variable, &summaries));
        let mut blocks: Vec<_> = plots.map(Block::Plot).collect();
        let more = blocks.len().saturating_sub(MAX_PLOTS);
        blocks.truncate(MAX_PLOTS);
        blocks.extend(left_out(more, "metrics are not drawn (--show selects them)"));
        page.add_section(format!("By {}", variable.name()), blocks);
    }
    page.add_section("Measures", table(&summaries, &labels, &measures));
    let warnings: Vec<_> = warnings(rows).into_iter().map(Block::Text).collect();
    if !warnings.is_empty() {
        page.add_section("Warnings", warnings);
    }
    if let Some(explained) = about.explained {
        let totals = Block::Table(totals_table(&explained.analysis));
        let said = Block::Text(sentence(&explained.analysis));
        page.add_section("Where the time went", [said, totals]);
        page.add_section("Exchanges and packets", ackwise_explain::timeline(&explained.analysis));
    }
    page.render()
}

fn size(rows: &[Row], summaries: &[Summary]) -> String {
    let seeds = summaries.iter().map(|summary| summary.seeds.len()).max().unwrap_or(0);
    let counted =
        |count: usize, what| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let version = rows.first().map_or("", |row| row.version.as_str());
    let hash = rows.first().map_or("", |row| row.hash.as_str());
    format!(
        "{}, {} each; version {version}, experiment {hash}.",
        counted(summaries.len(), "case"),
        counted(seeds, "seed")
    )
}

/// A line for each combination of the other labels; `None` if no case has such a measure.
fn plot(measure: &str, variable: &Variable<'_>, summaries: &[Summary]) -> Option<Plot> {
    let mut lines: Vec<(String, Vec<[f64; 2]>)> = Vec::new();
    for summary in summaries {
        let estimate = summary.measures.get(measure);
        let point = variable.value(summary).zip(estimate.map(|estimate| estimate.mean));
        let Some((x, y)) = point else { continue };
        let name = variable.others(summary);
        match lines.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push([x, y]),
            None => lines.push((name, vec![[x, y]])),
        }
    }
    let mut plot = Plot::new(measure, [&variable.axis(), measure]);
    for (hue, (name, mut points)) in lines.into_iter().enumerate() {
        points.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let name = if name.is_empty() { measure.to_owned() } else { name };
        plot.lines.push(Line::new(name, points).hued(hue));
    }
    (!plot.lines.is_empty()).then_some(plot)
}

/// A line for each case, a column for each measure.
fn table(summaries: &[Summary], labels: &[&str], measures: &[String]) -> Vec<Block> {
    let columns = &measures[..measures.len().min(MAX_COLUMNS)];
    let header = labels.iter().copied().chain(columns.iter().map(String::as_str));
    let mut table = HtmlTable::new("Means over the seeds; ± is half of a 95 % interval", header);
    for summary in summaries.iter().take(MAX_LINES) {
        let case = summary.case.iter().map(|(_, value)| Cell::text(value.to_string()));
        table.add(case.chain(columns.iter().map(|name| Cell::number(cell(summary, name)))));
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(left_out(
        summaries.len().saturating_sub(MAX_LINES),
        "cases are not shown (--csv writes all)",
    ));
    let hidden = measures.len() - columns.len();
    blocks.extend(left_out(hidden, "metrics are not shown (--csv writes all, --show selects)"));
    blocks
}

fn left_out(count: usize, what: &str) -> Option<Block> {
    (count > 0).then(|| Block::Text(format!("{count} more {what}.")))
}

/// Nobody scrolls through more. Ours, as the others.
const MAX_PLOTS: usize = 32;
const MAX_COLUMNS: usize = 64;
const MAX_LINES: usize = 1_000;
