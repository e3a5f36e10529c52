//! Figures 1 to 4: two stalls, each as a time-sequence plot and as a list of packets.

use std::collections::BTreeMap;

use ackwise_explain::{sentence, timeline};
use ackwise_report::{self, Block, Cell, Grade, Line, Plot, Style};

use super::figures::{FIGURE_2, FIGURE_4};
use crate::{
    ReproduceError,
    figure::Figure,
    file::File,
    paper::PaperResults,
    runner,
    table::{ComparisonTable, Row},
};

/// All four.
pub(crate) fn figures(results: &PaperResults) -> Result<Vec<Figure>, ReproduceError> {
    let mut figures = Vec::new();
    for Stall { plot, list, table, file } in STALLS {
        let Some(table) = results.tables.iter().find(|it| it.id == table) else { continue };
        let packets = packets(table);
        figures.push(sequence(plot, &packets, file)?);
        figures.push(Figure::new(list, [Block::Table(listing(&packets))]));
    }
    figures.extend(super::pacing::figure(&results.tables));
    Ok(figures)
}

/// A stall has a figure that plots it and one that lists its packets.
struct Stall {
    plot: &'static str,
    list: &'static str,
    table: &'static str,
    file: File,
}

const STALLS: [Stall; 2] = [
    Stall {
        plot: "Figure 1: the short-initial-segment problem",
        list: "Figure 2: packet trace demonstrating the short-initial-segment problem",
        table: "heidemann1997_figure_2",
        file: FIGURE_2,
    },
    Stall {
        plot: "Figure 3: the odd/short-final-segment problem",
        list: "Figure 4: packet trace demonstrating the odd/short-final-segment problem",
        table: "heidemann1997_figure_4",
        file: FIGURE_4,
    },
];

/// The run as `explain` draws it, and over one another the packets that are printed and ours.
fn sequence(title: &str, packets: &[Packet], file: File) -> Result<Figure, ReproduceError> {
    let explained = runner::explain(file)?;
    let mut blocks = vec![Block::Text(format!(
        "A capture of our run at its server, explained: {}",
        sentence(&explained.analysis)
    ))];
    blocks.extend(timeline(&explained.analysis));
    blocks.push(Block::Plot(beside(packets)));
    blocks.push(Block::Text(BESIDE.to_owned()));
    Ok(Figure::new(title, blocks))
}

/// A packet's values, printed and ours, by the names of the published columns.
type Packet<'a> = BTreeMap<&'a str, &'a Row>;

fn packets(table: &ComparisonTable) -> Vec<Packet<'_>> {
    let packets = table.rows.chunk_by(|one, next| one.case == next.case);
    packets.map(|rows| rows.iter().map(|row| (row.measure.as_str(), row)).collect()).collect()
}

/// Whose value it is.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Printed,
    Ours,
}

impl Whose {
    fn value(self, packet: &Packet, measure: &str) -> Option<f64> {
        let row = packet.get(measure)?;
        match self {
            Self::Printed => row.published,
            Self::Ours => row.ours,
        }
    }
}

/// Data and acknowledgements of both: what is printed as rings, ours as lines.
fn beside(packets: &[Packet]) -> Plot {
    let points = |whose: Whose, measure: &'static str, from: &'static str| {
        let sent = packets.iter().filter(move |packet| word(packet, "src") == from);
        sent.filter_map(move |packet| {
            Some([whose.value(packet, "time_s")?, whose.value(packet, measure)?])
        })
    };
    let mut plot = Plot::new("The packets as printed, and ours", ["time (s)", "sequence number"]);
    let lines = [("data, bytes up to", "seq_next", "server"), ("acknowledged", "ack", "client")];
    for (hue, (name, measure, from)) in lines.into_iter().enumerate() {
        let ours = Line::new(format!("{name}, ours"), points(Whose::Ours, measure, from));
        let printed = Line::new(format!("{name}, printed"), points(Whose::Printed, measure, from));
        plot.lines
            .extend([ours.styled(Style::Steps).hued(hue), printed.styled(Style::Points).hued(hue)]);
    }
    plot
}

/// As tcpdump prints them, side by side.
fn listing(packets: &[Packet]) -> ackwise_report::HtmlTable {
    let columns = ["printed", "ours", "later by"];
    let mut table = ackwise_report::HtmlTable::new("As tcpdump prints them", columns);
    for packet in packets {
        let line = |whose| Cell::Code(line(packet, whose));
        table.add([line(Whose::Printed), line(Whose::Ours), later(packet)]);
    }
    table
}

/// By how much ours is later than the printed one.
fn later(packet: &Packet) -> Cell {
    let time = packet.get("time_s");
    let Some((row, late)) = time.and_then(|row| Some((row, row.ours? - row.published?))) else {
        return Cell::text("");
    };
    let verdict = if row.is_within() == Some(false) { Grade::Bad } else { Grade::Good };
    Cell::Judged(format!("{:.3} ms", late * 1e3), verdict)
}

fn line(packet: &Packet, whose: Whose) -> String {
    let value = |measure| whose.value(packet, measure);
    let mut line = value("time_s").map_or_else(String::new, |time| format!("{time:.6} "));
    line +=
        &format!("{} > {}: {}", word(packet, "src"), word(packet, "dst"), word(packet, "flags"));
    if let (Some(first), Some(next)) = (value("seq_first"), value("seq_next")) {
        line += &format!(" {first}:{next}({})", value("len_bytes").unwrap_or(next - first));
    }
    for (name, measure) in [("ack", "ack"), ("win", "win_bytes")] {
        if let Some(value) = value(measure) {
            line += &format!(" {name} {value}");
        }
    }
    line
}

/// What the case of a packet says.
fn word(packet: &Packet, name: &str) -> String {
    let case = packet.values().next().map(|row| row.case.0.as_slice()).unwrap_or_default();
    let found = case.iter().find(|(key, _)| key == name);
    found.map_or_else(String::new, |(_, value)| value.to_string())
}

const BESIDE: &str = "Rings are the packets that the paper lists, at the times it prints; lines \
                      are ours, moved so that the first packets coincide. The paper publishes no \
                      numbers for the rest of its plot.";
