//! Figures 2.3 to 2.5, which the thesis draws by hand: the congestion window over time.

use std::collections::BTreeMap;

use ackwise_report::{Block, Line, Plot};
use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Side, Sighting},
};
use ackwise_tcp::Instant;

use crate::{
    ReproduceError,
    figure::Figure,
    file::{File, experiment_file},
    runner,
};

/// Phases, a typical run, and the ideal beside the inefficient case.
pub(super) fn figures() -> Result<[Figure; 3], ReproduceError> {
    let outcomes = runner::run(FILE, |_| Windows::default())?;
    let seen = |transfer: &'static str| {
        let found = outcomes.iter().find(|outcome| outcome.matches(&[("transfer", transfer)]));
        let case = || ReproduceError::NoCase { case: transfer.to_owned() };
        Ok::<_, ReproduceError>(&found.ok_or_else(case)?.seen)
    };
    let (long, short) = (seen("long")?.all(), seen("short")?.all());
    let [slow_start, avoidance] = phases(&long);
    let text = |about: &str| Block::Text(about.to_owned());
    let phases = plot(
        "Between two losses",
        [
            Line::new("slow start", slow_start).hued(0),
            Line::new("congestion avoidance", avoidance).hued(1),
        ],
    );
    let typical = plot("A file that does not end", [Line::new("window", long.clone())]);
    let both = plot(
        "A long transfer, and short ones",
        [
            Line::new("a file that does not end", long).hued(0),
            Line::new("files of web pages, a connection for each", short).hued(1),
        ],
    );
    Ok([
        Figure::new("Figure 2.3: congestion control, phases", [phases, text(PHASES)]),
        Figure::new("Figure 2.4: congestion control, typical run", [typical, text(TYPICAL)]),
        Figure::new("Figure 2.5: ideal and inefficient cases", [both, text(IDEAL)]),
    ])
}

fn plot(title: &str, lines: impl IntoIterator<Item = Line>) -> Block {
    let mut plot = Plot::new(title, ["time (sec)", "congestion window (segments)"]);
    plot.lines.extend(lines);
    Block::Plot(plot)
}

/// From the first loss to the next: below half of the window that was lost with, and from there on.
fn phases(window: &[[f64; 2]]) -> [Vec<[f64; 2]>; 2] {
    let losses = |pair: &[[f64; 2]]| pair[1][1] < pair[0][1];
    let Some(first) = window.windows(2).position(losses) else { return [vec![], vec![]] };
    let threshold = window[first][1] / 2.0;
    let cycle = &window[first + 1..];
    let last = cycle.windows(2).position(losses).map_or(cycle.len(), |last| last + 1);
    let (slow, rest) =
        cycle[..last].split_at(cycle[..last].partition_point(|it| it[1] < threshold));
    [slow.to_vec(), rest.to_vec()]
}

/// The congestion window of the server's connections at each data segment.
#[derive(Clone, Debug, Default)]
struct Windows {
    by_connection: BTreeMap<ConnectionId, Vec<[f64; 2]>>,
    segments: usize,
}

impl Windows {
    /// Enough for a minute of 1.5 Mb/s. Our choice.
    const MOST: usize = 20_000;

    /// One connection after the other, with a gap between two.
    fn all(&self) -> Vec<[f64; 2]> {
        let mut all: Vec<[f64; 2]> = Vec::new();
        for points in self.by_connection.values() {
            if let (Some(_), Some([begin, _])) = (all.last(), points.first()) {
                all.push([*begin, f64::NAN]);
            }
            all.extend(points);
        }
        all
    }
}

impl Observer for Windows {
    #[expect(clippy::cast_precision_loss, reason = "runs last seconds")]
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let is_data = sighting.transmit.segment.len > 0 && sighting.from == Side::Server;
        if !is_data || self.segments >= Self::MOST {
            return;
        }
        self.segments += 1;
        let window = sighting.congestion_window as f64 / MSS;
        let points = self.by_connection.entry(sighting.connection).or_default();
        points.push([now.as_nanos() as f64 / 1e9, window]);
    }
}

/// Bytes of a segment.
const MSS: f64 = 1_460.0;

const PHASES: &str = "The window when a data segment leaves, from a loss to the next one. Slow start \
                      ends at half of the window that was lost with (the text's \"until W = W_t/2\" \
                      contradicts the algorithm above it, W < W_t).";

const TYPICAL: &str = "One transfer over the bottleneck of chapter 4, whose queue of 25 packets \
                       drops. Each loss begins again with one segment, as in Tahoe.";

const IDEAL: &str = "The same transfer beside a client that opens a connection for each file of a \
                     page: its windows never grow out of slow start.";

const FILE: File = experiment_file!("gurkan_windows.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_cut_at_half_of_what_was_lost_with() {
        let of = |windows: &[f64]| -> Vec<[f64; 2]> {
            windows.iter().map(|window| [0.0, *window]).collect()
        };
        let [slow, rest] = phases(&of(&[1.0, 2.0, 8.0, 1.0, 2.0, 4.0, 4.25, 5.0, 1.0, 2.0]));
        assert_eq!(slow, of(&[1.0, 2.0]));
        assert_eq!(rest, of(&[4.0, 4.25, 5.0]));
        assert!(phases(&of(&[1.0, 2.0])).iter().all(Vec::is_empty), "nothing is lost");
    }

    #[test]
    fn the_long_transfer_leaves_slow_start_and_the_short_ones_do_not() {
        let outcomes = runner::run(FILE, |_| Windows::default()).unwrap();
        let [long, short] = [0, 1].map(|case: usize| outcomes[case].seen.all());
        let most = |windows: &[[f64; 2]]| windows.iter().map(|it| it[1]).fold(0.0, f64::max);
        let [slow, rest] = phases(&long);
        assert!(slow.len() > 10 && rest.len() > 100, "{} and {}", slow.len(), rest.len());
        assert!(most(&long) > 2.0 * most(&short), "{} and {}", most(&long), most(&short));
    }
}
