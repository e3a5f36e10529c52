//! Figures 4 and 5 as tables: means over seeds, and half of the 95 % interval beside what Figure 4 shows.

use super::{
    ratio::Place,
    sweep::{CLASSES, FILE, Run, Sweep},
};
use crate::{
    inputs::inputs,
    interval::Interval,
    table::{Case, CaseValue, ComparisonTable, Row},
};

pub(super) const FIGURE_4: &str = "okamoto2001_figure_4";
pub(super) const FIGURE_5: &str = "okamoto2001_figure_5";

/// Both figures, and the ratios between neighbouring schemes.
pub(super) fn tables(sweep: &Sweep) -> Vec<ComparisonTable> {
    vec![figure_4(sweep), ratios(sweep), figure_5(sweep)]
}

/// A row of a case.
pub(super) fn row(case: &[(&str, CaseValue)], measure: &str, ours: Option<f64>) -> Row {
    let case = case.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Row { case: Case(case), measure: measure.to_owned(), ours, ..Row::default() }
}

pub(super) fn case((clients, scheme): Place<'_>) -> [(&'static str, CaseValue); 2] {
    let scheme = CaseValue::Word(scheme.to_owned());
    [("clients", CaseValue::Number(clients.into())), ("scheme", scheme)]
}

pub(super) fn table(id: &str, title: &str, notes: Vec<String>, rows: Vec<Row>) -> ComparisonTable {
    ComparisonTable { id: id.to_owned(), title: title.to_owned(), notes, rows }
}

type Column = (&'static str, fn(&Run) -> Option<f64>);

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
const COLUMNS: [Column; 8] = [
    ("to_clients_mb", |run| Some(run.proxy.bytes_to_clients as f64 / 1e6)),
    ("documents", |run| Some(run.documents)),
    ("median_ms", |run| run.median_ms),
    ("full_pct", |run| share(run.proxy.full_samples, run.proxy.samples)),
    ("full_idle_pct", |run| share(run.proxy.full_idle, run.proxy.full_open)),
    ("idle_pct", |run| {
        share(run.proxy.idle[0] + run.proxy.idle[1], run.proxy.open[0] + run.proxy.open[1])
    }),
    ("closed_for_new", |run| Some(run.proxy.closed_for_new as f64)),
    ("unfinished", |run| Some(run.proxy.unfinished.len() as f64)),
];

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
pub(super) fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| 100.0 * part as f64 / of as f64)
}

fn figure_4(sweep: &Sweep) -> ComparisonTable {
    let mut rows = Vec::new();
    for place in sweep.cases() {
        let both = sweep.estimate(place, |run| Some(run.bytes_both() / 1e6));
        rows.push(row(&case(place), "both_mb", both.map(|it| it.mean)));
        let half = both.map(|it| it.high - it.mean).filter(|half| half.is_finite());
        rows.push(row(&case(place), "both_mb_ci", half));
        for (name, column) in COLUMNS {
            let mean = sweep.estimate(place, column).map(|it| it.mean);
            rows.push(row(&case(place), name, mean));
        }
    }
    let mut notes = vec![ABOUT_FIGURE_4.to_owned()];
    notes.extend(inputs(FILE.text));
    table(FIGURE_4, "Figure 4: documents in both directions in 300 s", notes, rows)
}

/// Neighbouring schemes, and those without proxy or persistence.
const PAIRS: [(&str, &str); 6] =
    [("2", "1"), ("3", "2"), ("4", "3"), ("4", "1"), ("3", "no-persistence"), ("4", "no-proxy")];

fn ratios(sweep: &Sweep) -> ComparisonTable {
    let mut rows = Vec::new();
    for clients in super::sweep::CLIENTS {
        for (one, other) in PAIRS {
            let case = [
                ("clients", CaseValue::Number(clients.into())),
                ("ratio", CaseValue::Word(format!("{one} / {other}"))),
            ];
            let [one, other] = [(clients, one), (clients, other)];
            for (name, ratio) in [
                ("bytes", sweep.bytes(one, other)),
                ("time", sweep.times(one, other)),
                ("time_at_least", sweep.times_at_least(one, other)),
            ] {
                rows.extend(interval(&case, name, ratio));
            }
        }
    }
    let title = "Figures 4 and 5: ratios of runs with the same requests";
    table("okamoto2001_ratios", title, vec![ABOUT_RATIOS.to_owned()], rows)
}

/// The mean of a ratio, and its interval.
pub(super) fn interval(
    case: &[(&str, CaseValue)],
    name: &str,
    ratio: Option<Interval>,
) -> [Row; 3] {
    let finite =
        |value: fn(&Interval) -> f64| ratio.as_ref().map(value).filter(|value| value.is_finite());
    [
        row(case, name, finite(|it| it.mean)),
        row(case, &format!("{name}_low"), finite(|it| it.low)),
        row(case, &format!("{name}_high"), finite(|it| it.high)),
    ]
}

fn figure_5(sweep: &Sweep) -> ComparisonTable {
    let mut rows = Vec::new();
    for place in sweep.cases() {
        for (at, (_, name)) in CLASSES.iter().enumerate() {
            let mean = sweep.estimate(place, |run| run.times[at].map(|(mean, _)| mean));
            rows.push(row(&case(place), &format!("{name}_ms"), mean.map(|it| it.mean)));
        }
    }
    let title = "Figure 5: response time by size of the document";
    table(FIGURE_5, title, vec![ABOUT_FIGURE_5.to_owned()], rows)
}

const ABOUT_FIGURE_4: &str = "The paper's curves are not in its text. `both_mb`: bytes of documents that \
    clients received and that the proxy received from servers, so a miss counts twice; `_ci` is half of the \
    95 % interval. `full_pct`: share of the time in which the limit of connections was reached; \
    `full_idle_pct`: how many of the connections were idle then. `unfinished`: clients that waited for a \
    document at the end.";

const ABOUT_RATIOS: &str = "Means of the ratios seed by seed, with the 95 % interval. `bytes`: Figure 4. \
    `time`: Figure 5, the geometric mean over classes of sizes, documents that arrived; `time_at_least`: \
    the same with documents that were still waited for, as long as the run lasted.";

const ABOUT_FIGURE_5: &str = "Mean response times of documents that arrived, in milliseconds, by size \
    (`lt_3k`: below 3,000 bytes). A client that never gets a connection has no response time: see \
    `unfinished` in Figure 4.";
