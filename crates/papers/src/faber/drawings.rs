//! The tables as plots: the paper has no figures.

use ackwise_report::{Block, Plot};

use crate::{
    figure::{Figure, compared},
    table::ComparisonTable,
};

/// Table 1: what entries in TIME-WAIT cost.
pub(crate) fn figures(tables: &[ComparisonTable]) -> Vec<Figure> {
    let table = tables.iter().find(|table| table.id == "faber1997_table_1");
    table.map(time_wait).into_iter().collect()
}

fn time_wait(table: &ComparisonTable) -> Figure {
    let mut plot = Plot::new("Throughput of each transfer", AXES);
    for (hue, (name, measure)) in SERVERS.into_iter().enumerate() {
        let rows = table.rows.iter().filter(|row| row.measure == measure);
        plot.lines.extend(compared(rows, "time_wait_tcbs", name, hue));
    }
    let blocks = [Block::Plot(plot), Block::Text(ABOUT.to_owned())];
    Figure::new("Table 1 as a plot: throughput by entries in TIME-WAIT", blocks)
}

const AXES: [&str; 2] = ["entries in TIME-WAIT at the server", "throughput (Mb/s)"];

const SERVERS: [(&str, &str); 2] =
    [("unmodified", "unmodified_avg"), ("TCP modification", "tcp_mod_avg")];

const ABOUT: &str = "Rings are the paper's, lines are ours. The paper has no figures.";
