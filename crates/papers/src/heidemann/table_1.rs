//! Table 1: retrieval times of a page, for HTTP and for P-HTTP with and without the fixes.

use ackwise_sim::observe::Side;
use ackwise_units::statistics::Moments;

use crate::{
    ReproduceError,
    analytic::{Acks, of_scenario},
    file::{File, experiment_file},
    inputs::inputs,
    published::Published,
    runner::{self, Outcome},
    stalls::Stalls,
    study::{nagle_delayed_ack_ms, page_ms, short_initial_segment_ms, stalls_per_page, times_ms},
    table::{Case, ComparisonTable, Limit, Row},
};

/// What the table's experiment gave.
pub(super) struct Results {
    pub(super) table: ComparisonTable,
    /// By row.
    pub(super) page_ms: [f64; 4],
    /// HTTP's row without the time that is fitted to it.
    pub(super) unfitted_http_ms: f64,
    /// By row, as printed.
    pub(super) printed_ms: [f64; 4],
    /// By row: what the model says, where it applies.
    pub(super) model_ms: [Option<f64>; 4],
    /// By row.
    pub(super) stalls: [f64; 4],
    /// Of all stalls without any fix: the time between the segments before and after, in milliseconds.
    pub(super) gaps_ms: Vec<f64>,
    /// The longest stall without any fix, in milliseconds.
    pub(super) longest_stall_ms: f64,
}

/// Rows of the table, in its order.
pub(super) const HTTP: usize = 0;
pub(super) const UNFIXED: usize = 1;
pub(super) const FIRST_FIX: usize = 2;
pub(super) const BOTH_FIXES: usize = 3;

pub(super) fn run() -> Result<Results, ReproduceError> {
    let published = Published::named("heidemann1997_table_1")?;
    let outcomes = runner::run(FILE, |_| Stalls::of(Side::Server))?;
    let mut table = ComparisonTable {
        id: published.id.to_owned(),
        title: published.title.to_owned(),
        notes: inputs(FILE.text),
        rows: Vec::new(),
    };
    table.notes.push(SPREAD.to_owned());
    let mut results = Results {
        table,
        page_ms: [0.0; 4],
        unfitted_http_ms: 0.0,
        printed_ms: [0.0; 4],
        model_ms: [None; 4],
        stalls: [0.0; 4],
        gaps_ms: Vec::new(),
        longest_stall_ms: 0.0,
    };
    for (row, limit) in LIMITS.into_iter().enumerate() {
        let case = published.case(row, &["protocol", "fixes"]);
        let name = case.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(" ");
        let outcome = row_named(&outcomes, &name)?;
        results.page_ms[row] = page_ms(outcome).unwrap_or_default();
        results.stalls[row] = stalls_per_page(outcome).unwrap_or_default();
        let rows = rows(outcome, &published, row, limit);
        results.printed_ms[row] = rows[0].published.unwrap_or_default();
        results.model_ms[row] = rows[0].model;
        results.table.rows.extend(rows);
    }
    results.unfitted_http_ms = page_ms(row_named(&outcomes, UNFITTED)?).unwrap_or_default();
    let unfixed = &outcomes[UNFIXED].seen;
    results.gaps_ms = unfixed.gaps.iter().map(|gap| gap.as_secs_f64() * 1e3).collect();
    results.longest_stall_ms = unfixed.longest.as_secs_f64() * 1e3;
    Ok(results)
}

fn row_named<'a>(
    outcomes: &'a [Outcome<Stalls>],
    name: &str,
) -> Result<&'a Outcome<Stalls>, ReproduceError> {
    let found = outcomes.iter().find(|outcome| outcome.matches(&[("row", name)]));
    found.ok_or_else(|| ReproduceError::NoCase { case: name.to_owned() })
}

fn rows(outcome: &Outcome<Stalls>, published: &Published, row: usize, limit: Limit) -> [Row; 7] {
    let case = Case(published.case(row, &["protocol", "fixes"]));
    let [mean, sd, relative, interval] = spread(&times_ms(outcome)).map(Some);
    let measure = |name: &str, ours: Option<f64>| Row {
        case: case.clone(),
        measure: name.to_owned(),
        published: published.number(row, name),
        ours,
        ..Row::default()
    };
    // The model has neither stalls nor ways to cause them.
    let model = of_scenario(&outcome.scenario, Acks::EverySecond { lone_wait: 0.1 });
    let model = model.filter(|_| [HTTP, BOTH_FIXES].contains(&row)).map(|time| time * 1e3);
    [
        Row { limit: Some(limit), model, ..measure("mean_ms", mean) },
        measure("sd_ms", sd),
        measure("rel_sd_pct", relative),
        measure("ci95_ms", interval),
        measure("stalls_per_page", stalls_per_page(outcome)),
        measure("short_initial_segment_ms", short_initial_segment_ms(outcome)),
        measure("nagle_delayed_ack_ms", nagle_delayed_ack_ms(outcome)),
    ]
}

/// Mean, standard deviation, the same in percent, and half of the 95 % interval of the mean.
#[expect(clippy::cast_precision_loss, reason = "there are 100")]
fn spread(times: &[f64]) -> [f64; 4] {
    let of = Moments::of(times);
    let [mean, deviation] = of.map_or([0.0; 2], |it| [it.mean, it.deviation.unwrap_or_default()]);
    let interval = 1.96 * deviation / (times.len() as f64).sqrt().max(1.0);
    [mean, deviation, deviation / mean * 100.0, interval]
}

/// HTTP's row without what is fitted to it: the case of the experiment, which is no row of the table.
const UNFITTED: &str = "http none, nothing fitted";

/// How near the means must come.
const LIMITS: [Limit; 4] =
    [Limit::Share(0.25), Limit::Share(0.10), Limit::Share(0.10), Limit::Share(0.20)];

const SPREAD: &str = "Our hosts always take the same time, so each page begins where the previous \
                      one ended, just after a tick of the client's clock, and there is no \
                      variance. \
                      The printed deviations of the first two rows contradict their percentages \
                      and intervals by a factor of ten.";

const FILE: File = experiment_file!("heidemann_table_1.toml");
