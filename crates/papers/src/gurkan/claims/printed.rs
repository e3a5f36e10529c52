//! What the thesis' own tables say of its sentences: a test of a claim like any other.

use super::Load;
use crate::{
    ReproduceError,
    gurkan::{
        plan::Plan,
        sweep::Quantity::{self, Drop, RateSum},
        tables, windows,
    },
    published::Published,
    verdict::{Cases, printed_above},
};

/// The rate of a plan, in bytes a second.
pub(super) fn rate(plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    value(plan, load, RateSum)
}

/// In percent.
pub(super) fn drops(plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    value(plan, load, Drop)
}

fn value(plan: Plan, load: Load, quantity: Quantity) -> Result<f64, ReproduceError> {
    let published = Published::named(tables::id(plan))?;
    let value = tables::published_value(&published, load, quantity);
    value.ok_or_else(|| missing(plan, load))
}

/// The rates of a plan with initial windows of 1, 2 and 3 segments.
pub(super) fn by_window(plan: Plan, load: Load) -> Result<[f64; 3], ReproduceError> {
    let published = Published::named(windows::id(plan))?;
    let rate = |window| {
        let value = windows::published_value(&published, plan, window, load);
        value.ok_or_else(|| missing(plan, load))
    };
    Ok([rate(1)?, rate(2)?, rate(3)?])
}

fn missing(plan: Plan, load: Load) -> ReproduceError {
    ReproduceError::NoCase { case: format!("the printed {} {load:?}", plan.name()) }
}

/// In how many rows the first printed value is above the second, as a sentence says.
pub(super) fn rows_above<T>(
    measure: &str,
    rows: impl IntoIterator<Item = T>,
    values: impl FnMut(T) -> Result<[f64; 2], ReproduceError>,
) -> Result<Cases, ReproduceError> {
    let rows: Vec<_> = rows.into_iter().map(values).collect::<Result<_, _>>()?;
    Ok(printed_above(measure, rows))
}
