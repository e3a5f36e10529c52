//! Figures 4 and 5 as plots of the tables. Figure 5 is drawn over logarithms, because sizes and times
//! extend over four decades (the paper's axes are not in its text).

use ackwise_report::{Block, Line, Plot};

use super::{
    figures::{FIGURE_4, FIGURE_5},
    sweep::{ALL, CLASSES, CLIENTS},
};
use crate::{
    figure::Figure,
    table::{CaseValue, ComparisonTable, Row},
};

/// Figures 4 and 5.
pub(crate) fn figures(tables: &[ComparisonTable]) -> Vec<Figure> {
    let find = |id: &str| tables.iter().find(|table| table.id == id);
    let four = find(FIGURE_4).map(figure_4);
    let five = find(FIGURE_5).map(figure_5);
    four.into_iter().chain(five).collect()
}

fn figure_4(table: &ComparisonTable) -> Figure {
    let mut plot = Plot::new("Documents in both directions", ["clients", "MB in 300 s"]);
    for scheme in ALL {
        let rows = rows(table, scheme).filter(|row| row.measure == "both_mb");
        let points = rows.filter_map(|row| Some([row.case.number("clients")?, row.ours?]));
        plot.lines.push(Line::new(name(scheme), points));
    }
    let blocks = [Block::Plot(plot), Block::Text(ABOUT.to_owned())];
    Figure::new("Figure 4: performance of the proxy by number of clients", blocks)
}

fn figure_5(table: &ComparisonTable) -> Figure {
    let plots = CLIENTS.into_iter().zip(["a", "b", "c", "d"]).map(|(clients, letter)| {
        let axes = ["log10 of the size in bytes", "log10 of the response time in ms"];
        let mut plot = Plot::new(format!("({letter}) {clients} clients"), axes);
        for scheme in ALL {
            plot.lines.push(Line::new(name(scheme), by_size(table, clients, scheme)));
        }
        Block::Plot(plot)
    });
    let blocks = plots.chain([Block::Text(ABOUT.to_owned())]);
    Figure::new("Figure 5: response time by size of the document", blocks)
}

/// At the upper end of each class; at 10 MB, where the sizes are clipped, for the last.
#[expect(clippy::cast_precision_loss, reason = "sizes are below 2^53")]
fn by_size(table: &ComparisonTable, clients: u32, scheme: &str) -> Vec<[f64; 2]> {
    let here = rows(table, scheme).filter(|row| row.case.number("clients") == Some(clients.into()));
    let time = |measure: &str| here.clone().find(|row| row.measure == measure)?.ours;
    let points = CLASSES.iter().filter_map(|(below, name)| {
        let size = (*below).min(10_000_000) as f64;
        Some([size.log10(), time(&format!("{name}_ms"))?.log10()])
    });
    points.collect()
}

fn rows<'a>(
    table: &'a ComparisonTable,
    scheme: &'a str,
) -> impl Iterator<Item = &'a Row> + Clone + 'a {
    table.rows.iter().filter(move |row| {
        let named = |(_, value): &(String, CaseValue)| *value == CaseValue::Word(scheme.to_owned());
        row.case.0.iter().any(named)
    })
}

fn name(scheme: &str) -> String {
    if scheme.len() == 1 { format!("scheme ({scheme})") } else { scheme.replace('-', " ") }
}

const ABOUT: &str = "Ours. The paper's curves are not in its text, so none is drawn beside them.";
