//! Rows for data frames: labels, seed, measures, where a row comes from.

use ackwise_report::columns::Column;

use super::{super::row::Row, measures, origin};
use crate::experiment::Labels;

/// All rows with all measures. A label is a number if it is one in every row, else text; a measure that a row does not
/// have is null.
#[must_use]
pub fn columns(rows: &[Row]) -> Vec<Column> {
    let kinds = label_kinds(rows.iter().map(|row| &row.case));
    let mut columns = labelled(rows, &kinds);
    for name in measures(rows) {
        columns.push(Column::numbers(name, rows.iter().map(|row| row.measure(name))));
    }
    columns.extend(origins(rows));
    columns
}

/// What the values of a label are in all cases.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::run) enum LabelKind {
    Integer,
    Text,
}

/// The labels of these cases, in the order of the grid.
pub(in crate::run) fn label_kinds<'a>(
    cases: impl Iterator<Item = &'a Labels> + Clone,
) -> Vec<(&'a str, LabelKind)> {
    let names = cases.clone().next().into_iter().flat_map(Labels::iter).map(|(name, _)| name);
    let kind = |name: &str| {
        let is_integer = |case: &Labels| case.get(name).is_some_and(|it| it.as_integer().is_some());
        if cases.clone().all(is_integer) { LabelKind::Integer } else { LabelKind::Text }
    };
    names.map(|name| (name, kind(name))).collect()
}

/// The labels and the seed.
pub(in crate::run) fn labelled(rows: &[Row], kinds: &[(&str, LabelKind)]) -> Vec<Column> {
    let label = |&(name, kind): &(&str, LabelKind)| {
        let values = rows.iter().map(|row| row.case.get(name));
        match kind {
            LabelKind::Integer => Column::integers(name, values.map(|value| value?.as_integer())),
            LabelKind::Text => Column::texts(name, values.map(|value| Some(value?.to_string()))),
        }
    };
    let mut columns: Vec<Column> = kinds.iter().map(label).collect();
    columns.push(Column::integers("seed", rows.iter().map(|row| i64::try_from(row.seed).ok())));
    columns
}

/// Where rows come from.
pub(in crate::run) fn origins(rows: &[Row]) -> Vec<Column> {
    let origins: Vec<_> = rows.iter().map(origin).collect();
    let names = origins.first().into_iter().flat_map(|origin| origin.keys().copied());
    let texts = |name| Column::texts(name, origins.iter().map(|it| Some(it[name].as_str())));
    names.map(texts).collect()
}
