//! Figures 4.2, 4.3, 4.5 and 4.7: the sequence numbers of one web client's connections over time.

use ackwise_report::{Block, Line, Plot, Style};

use super::transfers::{Transfer, Transfers};
use crate::{
    ReproduceError,
    figure::Figure,
    gurkan::{plan::Plan, samples},
    published::Published,
    runner,
};

/// By [`Plan::PRINTED`].
pub(super) fn figures() -> Result<[Figure; 4], ReproduceError> {
    let outcomes = runner::run(samples::FILE, |_| Transfers::default())?;
    let figure = |plan: Plan, number: &str| {
        let outcome = outcomes.iter().find(|outcome| outcome.matches(&[("plan", plan.name())]));
        let case = || ReproduceError::NoCase { case: plan.name().to_owned() };
        let transfers: Vec<_> = outcome.ok_or_else(case)?.seen.of_pages().collect();
        let title =
            format!("Figure {number}: {} transfer, one web and one FTP client", plan.title());
        let blocks = [Block::Plot(sequence(plan, &transfers)?), Block::Text(DRAWS.to_owned())];
        Ok::<_, ReproduceError>(Figure::new(title, blocks))
    };
    let [serial, parallel, pipelined, filled] = Plan::PRINTED;
    Ok([
        figure(serial, "4.2")?,
        figure(parallel, "4.3")?,
        figure(pipelined, "4.5")?,
        figure(filled, "4.7")?,
    ])
}

/// Connections as lines; what the thesis prints of the requests as rings.
fn sequence(plan: Plan, transfers: &[&Transfer]) -> Result<Plot, ReproduceError> {
    let axes = ["time (sec)", "sequence number (bytes)"];
    let mut plot = Plot::new(format!("Connections of the web client, {}", plan.title()), axes);
    for (hue, lane) in lanes(transfers).into_iter().enumerate() {
        let name = match hue {
            0 => "connections, one after the other".to_owned(),
            _ => format!("at the same time, {}", hue + 1),
        };
        plot.lines.push(Line::new(name, lane).hued(hue));
    }
    let published = Published::named(samples::id(plan))?;
    let printed = (0..published.rows.len()).filter_map(|row| {
        Some([published.number(row, "request_time_s")?, published.number(row, "length_bytes")?])
    });
    let printed = Line::new("requests in the thesis: when, how long the file", printed);
    plot.lines.push(printed.styled(Style::Points).hued(PRINTED));
    Ok(plot)
}

/// As few lines as possible so that connections on one do not overlap; between two there is a gap.
fn lanes(transfers: &[&Transfer]) -> Vec<Vec<[f64; 2]>> {
    let mut lanes: Vec<Vec<[f64; 2]>> = Vec::new();
    for transfer in transfers {
        let points = points(transfer);
        let Some([begin, _]) = points.first().copied() else { continue };
        let is_free = |lane: &&mut Vec<[f64; 2]>| lane.last().is_some_and(|[end, _]| *end < begin);
        match lanes.iter_mut().find(is_free) {
            Some(lane) => {
                lane.push([begin, f64::NAN]);
                lane.extend(points);
            }
            None => lanes.push(points),
        }
    }
    lanes
}

#[expect(clippy::cast_precision_loss, reason = "files are short")]
fn points(transfer: &Transfer) -> Vec<[f64; 2]> {
    transfer.segments.iter().map(|sent| [sent.at, sent.data.end as f64]).collect()
}

/// A hue that no connection has: the thesis' clients have three at once.
const PRINTED: usize = 5;

const DRAWS: &str = "Dots are segments that left the server, by their last byte; lines join those \
                     of a connection. Lengths and think times are drawn, and our draws are others.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gurkan::drawings::transfers::Sent;

    fn transfer(times: [f64; 2]) -> Transfer {
        let segments = times.map(|at| Sent { at, data: 0..1_460 });
        Transfer { segments: segments.to_vec(), ..Transfer::default() }
    }

    #[test]
    fn connections_that_overlap_have_lines_of_their_own() {
        let transfers = [[0.0, 2.0], [1.0, 3.0], [2.5, 4.0]].map(transfer);
        let lanes = lanes(&transfers.each_ref());
        let times = |lane: usize| lanes[lane].iter().map(|[at, _]| *at).collect::<Vec<_>>();
        assert_eq!(lanes.len(), 2);
        assert_eq!(times(0), [0.0, 2.0, 2.5, 2.5, 4.0]);
        assert!(lanes[0][2][1].is_nan());
        assert_eq!(times(1), [1.0, 3.0]);
    }
}
