//! A figure of a paper, drawn from our runs; where values of it are published, these too.

use ackwise_report::{Block, Line, Style};

use super::table::Row;

/// A figure of a paper, or one of ours that shows what a paper has as a table.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its number and what it shows.
    pub title: String,
    /// What is drawn, and what to know of it.
    pub blocks: Vec<Block>,
}

impl Figure {
    pub(super) fn new(title: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { title: title.into(), blocks: blocks.into_iter().collect() }
    }
}

/// Ours as a line over the number that the case has as `x`, what is published as rings of the same
/// colour.
pub(super) fn compared<'a>(
    rows: impl Iterator<Item = &'a Row> + Clone,
    x: &str,
    name: &str,
    hue: usize,
) -> [Line; 2] {
    let points = |value: fn(&Row) -> Option<f64>| {
        rows.clone().filter_map(move |row| Some([row.case.number(x)?, value(row)?]))
    };
    let ours = Line::new(format!("{name}, ours"), points(|row| row.ours));
    let published = Line::new(format!("{name}, published"), points(|row| row.published));
    [ours.hued(hue), published.styled(Style::Points).hued(hue)]
}
