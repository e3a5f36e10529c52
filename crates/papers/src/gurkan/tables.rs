//! Tables 4.2, 4.4, 4.6 and 4.8, and a table of the plans that the thesis does not run.

use super::{
    plan::{Load, Plan},
    sweep::{Quantity, Sweep},
};
use crate::{
    ReproduceError,
    published::Published,
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// The id of a plan's table.
pub(super) const fn id(plan: Plan) -> &'static str {
    match plan {
        Plan::Parallel => "gurkan1998_table_4_4",
        Plan::Pipelined => "gurkan1998_table_4_6",
        Plan::SegmentFilled => "gurkan1998_table_4_8",
        _ => "gurkan1998_table_4_2",
    }
}

/// A plan's table, beside ours.
pub(super) fn printed(plan: Plan, sweep: &Sweep) -> Result<ComparisonTable, ReproduceError> {
    let published = Published::named(id(plan))?;
    let rows = (0..published.rows.len()).flat_map(|row| {
        let load = load(&published, row);
        let case = Case(published.case(row, &KEYS));
        COLUMNS.into_iter().map(move |column| (row, load, case.clone(), column))
    });
    let rows = rows.filter_map(|(row, load, case, (measure, column, quantity, spread))| {
        let estimate = sweep.estimate(plan, load, quantity)?;
        let ours = if spread { estimate.ci95? } else { estimate.mean };
        let published = published.number(row, column);
        Some(Row {
            case,
            measure: measure.to_owned(),
            published,
            ours: Some(ours),
            ..Row::default()
        })
    });
    let rows = rows.collect();
    let notes = vec![SPREAD.to_owned()];
    Ok(ComparisonTable {
        id: published.id.to_owned(),
        title: published.title.to_owned(),
        notes,
        rows,
    })
}

/// The number in a row of a published table that a quantity is compared with.
pub(super) fn published_value(
    published: &Published,
    load: Load,
    quantity: Quantity,
) -> Option<f64> {
    let row = (0..published.rows.len()).find(|&row| self::load(published, row) == load)?;
    let column =
        COLUMNS.into_iter().find(|(_, _, compared, spread)| *compared == quantity && !spread);
    published.number(row, column?.1)
}

/// All plans at all loads: more than the thesis has.
pub(super) fn ours(sweep: &Sweep) -> Result<ComparisonTable, ReproduceError> {
    let mut rows = Vec::new();
    for plan in Plan::ALL {
        for load in Load::all() {
            let case = Case(vec![
                ("plan".to_owned(), CaseValue::from(plan.name())),
                ("web_clients".to_owned(), CaseValue::Number(load.web.into())),
                ("ftp_clients".to_owned(), CaseValue::Number(load.ftp.into())),
            ]);
            for (measure, quantity) in OURS {
                let ours = Some(sweep.mean(plan, load, quantity)?);
                rows.push(Row {
                    case: case.clone(),
                    measure: measure.to_owned(),
                    ours,
                    ..Row::default()
                });
            }
        }
    }
    Ok(ComparisonTable {
        id: "gurkan1998_plans".to_owned(),
        title: "Plans of the thesis and of ours, initial window of one segment".to_owned(),
        notes: PLANS.map(str::to_owned).to_vec(),
        rows,
    })
}

fn load(published: &Published, row: usize) -> Load {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts below 100")]
    let count = |column| published.number(row, column).unwrap_or_default() as u32;
    Load { web: count("web_clients"), ftp: count("ftp_clients") }
}

pub(super) const KEYS: [&str; 2] = ["web_clients", "ftp_clients"];

/// Our measure, the published column, what it is, and whether the spread of it is meant.
const COLUMNS: [(&str, &str, Quantity, bool); 6] = [
    ("rate_sum", "effective_rate", Quantity::RateSum, false),
    ("rate_sum_ci95", "", Quantity::RateSum, true),
    ("rate_mean", "effective_rate", Quantity::RateMean, false),
    ("rate_mean_ci95", "", Quantity::RateMean, true),
    ("link_utilization_pct", "link_utilization_pct", Quantity::Utilization, false),
    ("drop_pct", "drop_pct", Quantity::Drop, false),
];

const OURS: [(&str, Quantity); 7] = [
    ("rate_sum", Quantity::RateSum),
    ("rate_mean", Quantity::RateMean),
    ("link_utilization_pct", Quantity::Utilization),
    ("drop_pct", Quantity::Drop),
    ("filled_pct", Quantity::Filled),
    ("connections_per_page", Quantity::Connections),
    ("most_open_at_servers", Quantity::MostOpen),
];

const SPREAD: &str = "rate_sum: all bytes / the sum of all retrieval times, the thesis' definition; \
                      rate_mean: the mean over pages of bytes / retrieval time; both in bytes \
                      a second and without think time. ci95: half of the 95 % confidence interval \
                      over the seeds.";

const PLANS: [&str; 4] = [
    "pipelined is the thesis' name for one request at a time on one connection; true_pipelined \
     asks for all inlines at once.",
    "shared_by_nagle and shared_by_writer are true_pipelined with responses that share segments \
     (Figure 4.6): short ones wait in the servers' TCP, or the servers gather what they write, for \
     which they wait 3 ms.",
    "get_web is chapter 5's GETWEB: one request, one response with all files; parsing takes no \
     time, nothing is cached.",
    "serial_think_once is serial with think time before a page only, as the other plans have it.",
];
