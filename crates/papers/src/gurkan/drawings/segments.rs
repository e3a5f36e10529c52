//! Figures 4.4 and 4.6, which the thesis draws by hand: how the files of a page fill segments.

use std::ops::Range;

use ackwise_lab::experiment::Experiment;
use ackwise_report::{Block, Line, Plot, Style};

use super::transfers::{Sent, Transfer, Transfers};
use crate::{
    ReproduceError,
    figure::Figure,
    gurkan::{plan::Plan, sweep::TABLES},
    runner,
};

/// Files one by one, and files that share segments.
pub(super) fn figures() -> Result<[Figure; 2], ReproduceError> {
    let experiment = Experiment::parse(TABLES.name, TABLES.text)?.with_set(BRIEF)?;
    let figure = |plan: Plan, title: &str, about: &str| {
        let wanted = [("plan", plan.name()), ("web_clients", "8"), ("ftp_clients", "0")];
        let outcomes = runner::run_cases(&experiment, &wanted, |_| Transfers::default())?;
        let page = outcomes.iter().flat_map(|it| it.seen.of_pages()).find(|it| is_example(it));
        let plot = page.map(|page| Block::Plot(filling(page)));
        Ok::<_, ReproduceError>(Figure::new(
            title,
            plot.into_iter().chain([Block::Text(about.into())]),
        ))
    };
    Ok([
        figure(Plan::Pipelined, "Figure 4.4: pipelined transfer, segment by segment", APART)?,
        figure(Plan::SharedByWriter, "Figure 4.6: desired pipelined transmission", SHARED)?,
    ])
}

/// A whole page, neither so short nor so long that nothing is seen.
fn is_example(page: &Transfer) -> bool {
    page.responses.len() == FILES.len() && (8..=16).contains(&page.segments.len())
}

/// Bytes of each file in each segment, and of the whole segment.
fn filling(page: &Transfer) -> Plot {
    let mut plot = Plot::new("A page of four files", ["data segment", "bytes in the segment"]);
    let sent = |segment: &Sent| segment.data.end - segment.data.start;
    let whole = numbered(page.segments.iter().map(|it| Some(sent(it))));
    for (hue, (file, response)) in FILES.into_iter().zip(&page.responses).enumerate() {
        let parts = page.segments.iter().map(|it| overlap(&it.data, response));
        plot.lines.push(Line::new(file, numbered(parts)).hued(hue));
    }
    plot.lines.push(Line::new("whole segment", whole).styled(Style::Points).hued(FILES.len()));
    plot
}

/// `None` is no point.
#[expect(clippy::cast_precision_loss, reason = "pages are short")]
fn numbered(values: impl Iterator<Item = Option<u64>>) -> Vec<[f64; 2]> {
    let numbered = values.enumerate();
    numbered.filter_map(|(place, value)| Some([(place + 1) as f64, value? as f64])).collect()
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> Option<u64> {
    let bytes = one.end.min(other.end).checked_sub(one.start.max(other.start))?;
    (bytes > 0).then_some(bytes)
}

const FILES: [&str; 4] = ["primary", "first inline", "second inline", "third inline"];

/// A page is looked for, not a mean.
const BRIEF: &str = "duration=30 s";

const APART: &str = "The first page of 8 to 16 segments with 8 web clients and no FTP client. \
                     Each file ends with its own short segment.";

const SHARED: &str = "A page with responses that our server gathers (shared_by_writer): if the \
                      next response is ready in time, it fills the last segment of the previous \
                      one.";
