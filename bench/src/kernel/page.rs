//! The worst paths as an HTML page: cwnd and sequence numbers of both worlds side by side.

use ackwise_report::{Block, Cell, Grade, HtmlTable, Line, Page, Plot, Style};

use super::compare::{Comparison, Side, targets};
use super::flow::{Flow, Packet};
use crate::verdict;

/// Paths on the page (our choice).
const WORST: usize = 5;

/// The page.
pub(super) fn page(seed: u64, all: &[Comparison]) -> String {
    let mut page = Page::new("Preset against kernel");
    page.set_preface(format!("cargo xtask bench kernel --seed {seed}: {} paths", all.len()));
    page.add_contents();
    page.add_section("Targets", [Block::Table(target_table(all))]);
    let mut worst: Vec<&Comparison> = all.iter().collect();
    worst.sort_by(|a, b| b.ratio().ln().abs().total_cmp(&a.ratio().ln().abs()));
    for it in worst.into_iter().take(WORST) {
        let title = format!("Path {}: ratio {:.2}", it.path.number, it.ratio());
        page.add_section(title, section(it));
    }
    page.render()
}

fn target_table(all: &[Comparison]) -> HtmlTable {
    let mut table = HtmlTable::new("Targets", ["target", "measured", "at most", "verdict"]);
    for target in targets(all) {
        let reached = target.is_reached();
        let judged = if reached { Grade::Good } else { Grade::Bad };
        table.add([
            Cell::text(&target.what),
            Cell::number(format!("{:.1} {}", target.measured, target.unit)),
            Cell::number(format!("{} {}", target.limit, target.unit)),
            Cell::Judged(verdict(reached).to_owned(), judged),
        ]);
    }
    table
}

fn section(it: &Comparison) -> Vec<Block> {
    let mut table = HtmlTable::new(
        "Medians over the runs",
        ["", "time, s", "drops, %", "burst after idle, segments", "mean cwnd, segments"],
    );
    for (name, side) in SIDES {
        table.add([
            Cell::text(name),
            Cell::number(format!("{:.3}", it.median(side, |outcome| outcome.time))),
            Cell::number(format!("{:.1}", it.drops(side))),
            Cell::number(format!("{:.0}", it.burst(side))),
            Cell::number(format!("{:.0}", it.median(side, |outcome| outcome.window))),
        ]);
    }
    let mut windows = Plot::new("Congestion window", ["time, s", "cwnd, segments"]);
    let mut sequence = Plot::new("Data sent, and drops", ["time, s", "offset, KB"]);
    for (hue, (name, side)) in SIDES.into_iter().enumerate() {
        let flow = &it.typical[hue];
        debug_assert_eq!(hue, side as usize, "in the order of the sides");
        let zero = flow.sent.first().map_or(0, |packet| packet.at);
        let seconds =
            |at: u64| std::time::Duration::from_nanos(at.saturating_sub(zero)).as_secs_f64();
        let window = |&(at, window): &(u64, u32)| [seconds(at), f64::from(window)];
        let line = Line::new(name, flow.windows.iter().map(window));
        windows.lines.push(line.styled(Style::Steps).hued(hue));
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let place = |packet: &Packet| [seconds(packet.at), packet.end() as f64 / 1e3];
        let data = |list: &[Packet]| -> Vec<[f64; 2]> {
            list.iter().filter(|it| it.is_data()).map(place).collect()
        };
        let Flow { sent, dropped, .. } = flow;
        sequence.lines.push(Line::new(name, data(sent)).hued(hue));
        let drops = Line::new(format!("{name}: dropped"), data(dropped));
        sequence.lines.push(drops.styled(Style::Points).hued(hue));
    }
    let mut blocks = vec![Block::Text(it.path.to_string()), Block::Table(table)];
    if let Some(doubt) = &it.doubt {
        blocks.push(Block::Notes(vec![format!("Undecided: {doubt}.")]));
    }
    blocks.extend([Block::Plot(windows), Block::Plot(sequence)]);
    blocks
}

const SIDES: [(&str, Side); 2] = [("kernel", Side::Kernel), ("simulated", Side::Simulated)];

#[cfg(test)]
mod tests {
    use super::super::compare::tests::comparison;
    use super::*;

    #[test]
    fn the_page_has_the_worst_paths_and_both_plots_of_each() {
        let all: Vec<_> = (0..7).map(|nth| comparison(nth, 1.0 + nth as f64 / 10.0)).collect();
        let html = page(1, &all);
        assert!(html.contains("Path 6: ratio 1.60") && !html.contains("Path 1: ratio"));
        assert_eq!(html.matches("data-draw=\"plot\"").count(), 2 * WORST);
    }
}
