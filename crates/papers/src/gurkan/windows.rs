//! Tables 4.9 and 4.10: larger initial windows; and still larger ones.

use super::{
    Base,
    plan::{Load, Plan},
    sweep::{Quantity, Sweep},
    tables::KEYS,
};
use crate::{
    ReproduceError,
    published::Published,
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// The table that has a plan.
pub(super) const fn id(plan: Plan) -> &'static str {
    match plan {
        Plan::Pipelined | Plan::SegmentFilled => "gurkan1998_table_4_10",
        _ => "gurkan1998_table_4_9",
    }
}

/// What is printed for a plan with a window.
pub(super) fn published_value(
    published: &Published,
    plan: Plan,
    window: u32,
    load: Load,
) -> Option<f64> {
    let row = Load::judged().position(|judged| judged == load)?;
    published.number(row, &format!("{}_iw{window}", plan.name()))
}

/// Both tables, beside ours.
pub(super) fn printed(
    usual: &Sweep,
    larger: &[Sweep; 2],
) -> Result<[ComparisonTable; 2], ReproduceError> {
    Ok([
        one([Plan::Parallel, Plan::Serial], usual, larger)?,
        one([Plan::Pipelined, Plan::SegmentFilled], usual, larger)?,
    ])
}

fn one(
    plans: [Plan; 2],
    usual: &Sweep,
    larger: &[Sweep; 2],
) -> Result<ComparisonTable, ReproduceError> {
    let published = Published::named(id(plans[0]))?;
    let sweeps = [usual, &larger[0], &larger[1]];
    let mut rows = Vec::new();
    for (row, load) in Load::judged().enumerate() {
        let case = Case(published.case(row, &KEYS));
        for (plan, sweep) in plans.into_iter().flat_map(|plan| sweeps.map(|sweep| (plan, sweep))) {
            for (name, quantity) in [("sum", Quantity::RateSum), ("mean", Quantity::RateMean)] {
                rows.push(Row {
                    case: case.clone(),
                    measure: format!("{}_iw{}_rate_{name}", plan.name(), sweep.window),
                    published: published_value(&published, plan, sweep.window, load),
                    ours: Some(sweep.mean(plan, load, quantity)?),
                    ..Row::default()
                });
            }
        }
    }
    let notes = vec![REPEATED.to_owned()];
    Ok(ComparisonTable {
        id: published.id.to_owned(),
        title: published.title.to_owned(),
        notes,
        rows,
    })
}

/// Initial windows of 1 to 10 segments, at a few loads.
pub(super) fn largest(base: &Base) -> Result<ComparisonTable, ReproduceError> {
    let mut rows = Vec::new();
    for plan in Plan::PRINTED {
        for sweep in base.windows() {
            let case = Case(vec![
                ("plan".to_owned(), CaseValue::from(plan.name())),
                ("initial_window".to_owned(), CaseValue::Number(sweep.window.into())),
            ]);
            for Load { web, ftp } in Load::EXAMPLES {
                for (name, quantity) in [
                    ("rate_sum", Quantity::RateSum),
                    ("rate_mean", Quantity::RateMean),
                    ("drop_pct", Quantity::Drop),
                ] {
                    rows.push(Row {
                        case: case.clone(),
                        measure: format!("{web}_web_{ftp}_ftp_{name}"),
                        ours: Some(sweep.mean(plan, Load { web, ftp }, quantity)?),
                        ..Row::default()
                    });
                }
            }
        }
    }
    Ok(ComparisonTable {
        id: "gurkan1998_initial_windows".to_owned(),
        title: "Initial windows of 1 to 10 segments".to_owned(),
        notes: Vec::new(),
        rows,
    })
}

impl Base {
    /// By initial window, from 1 on.
    pub(super) fn windows(&self) -> impl Iterator<Item = &Sweep> {
        std::iter::once(&self.usual).chain(&self.larger).chain(&self.largest)
    }
}

const REPEATED: &str =
    "The columns of one segment repeat Tables 4.2 to 4.8, cut to whole bytes a second.";
