//! Rows for data frames: labels, seed, measures, where a row comes from.

use ackwise_report::columns::Column;

use super::{super::row::Row, labels, measures, origin};

/// All rows with all measures. A label is a number if it is one in every row, else text; a measure that a row does not
/// have is null.
#[must_use]
pub fn columns(rows: &[Row]) -> Vec<Column> {
    let mut columns: Vec<Column> = labels(rows).into_iter().map(|name| label(name, rows)).collect();
    let seeds = rows.iter().map(|row| i64::try_from(row.seed).ok());
    columns.push(Column::integers("seed", seeds));
    for name in measures(rows) {
        columns.push(Column::numbers(name, rows.iter().map(|row| row.measure(name))));
    }
    let origins: Vec<_> = rows.iter().map(origin).collect();
    for name in origins.first().into_iter().flat_map(|origin| origin.keys().copied()) {
        columns.push(Column::texts(name, origins.iter().map(|it| Some(it[name].as_str()))));
    }
    columns
}

fn label(name: &str, rows: &[Row]) -> Column {
    let values = || rows.iter().map(|row| row.case.get(name));
    let integers: Option<Vec<_>> = values().map(|value| value?.as_integer().map(Some)).collect();
    match integers {
        Some(integers) => Column::integers(name, integers.into_iter()),
        None => Column::texts(name, values().map(|value| Some(value?.to_string()))),
    }
}
