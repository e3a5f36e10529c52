//! Figures 4.8 to 4.13: the effective retrieval rate over the number of FTP clients.

use ackwise_report::{Block, Line, Plot};
use ackwise_text::words::counted;

use crate::{
    figure::{Figure, compared},
    gurkan::{plan::Plan, tables, windows},
    table::ComparisonTable,
};

/// What the tables have of them.
pub(super) fn figures(tables: &[ComparisonTable]) -> Vec<Figure> {
    let by_plan = [("4.8", 16), ("4.9", 32)].map(|(number, web)| {
        let title = format!("Figure {number}: retrieval rate by FTP clients, {web} web clients");
        Figure::new(title, [Block::Plot(plans(tables, web)), Block::Text(RINGS.to_owned())])
    });
    let by_window = Plan::PRINTED.into_iter().zip(10..).map(|(plan, number)| {
        let plots = [8, 16].map(|web| Block::Plot(initial_windows(tables, plan, web)));
        let title = format!(
            "Figure 4.{number}: retrieval rate by FTP clients and initial window, {}",
            plan.title()
        );
        Figure::new(title, plots.into_iter().chain([Block::Text(RINGS.to_owned())]))
    });
    by_plan.into_iter().chain(by_window).collect()
}

/// A line for each plan.
fn plans(tables: &[ComparisonTable], web: u32) -> Plot {
    let mut plot = Plot::new(format!("{web} web clients"), AXES);
    for (hue, plan) in Plan::PRINTED.into_iter().enumerate() {
        let table = find(tables, tables::id(plan));
        plot.lines.extend(both(table, web, "rate_mean", plan.title(), hue));
    }
    plot
}

/// A line for each initial window.
fn initial_windows(tables: &[ComparisonTable], plan: Plan, web: u32) -> Plot {
    let mut plot = Plot::new(format!("{}, {web} web clients", plan.title()), AXES);
    let table = find(tables, windows::id(plan));
    for (hue, window) in (1..=3).enumerate() {
        let measure = format!("{}_iw{window}_rate_mean", plan.name());
        let name = counted(window, "segment");
        plot.lines.extend(both(table, web, &measure, &name, hue));
    }
    plot
}

fn find<'a>(tables: &'a [ComparisonTable], id: &str) -> Option<&'a ComparisonTable> {
    tables.iter().find(|table| table.id == id)
}

/// Our value and the thesis's value of a measure, with `web` web clients.
fn both(
    table: Option<&ComparisonTable>,
    web: u32,
    measure: &str,
    name: &str,
    hue: usize,
) -> [Line; 2] {
    let rows = table
        .into_iter()
        .flat_map(|table| &table.rows)
        .filter(|row| row.measure == measure && row.case.number("web_clients") == Some(web.into()));
    compared(rows, "ftp_clients", name, hue)
}

/// As the thesis has them.
const AXES: [&str; 2] = ["number of FTP clients", "effective retrieval rate (bytes/sec)"];

const RINGS: &str = "Rings are the thesis' tables, lines are ours: rate_mean, over all seeds.";
