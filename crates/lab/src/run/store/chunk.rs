//! A chunk: rows as a Parquet file. All chunks of a store have the same columns: a label has one type, and a metric
//! that a row does not have is null.

use std::{collections::BTreeSet, fs::File, ops::Range, path::Path};

use ackwise_report::columns::{Column, Values, read, write};
use parquet::errors::ParquetError;

use super::{
    super::{
        export::columns::{LabelKind, label_kinds, labelled, origins},
        row::{Row, RowKey},
    },
    StoreError,
};
use crate::{experiment::Experiment, measures::names};

/// The columns of a store.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    labels: Vec<(&'a str, LabelKind)>,
    /// All metrics that a case may have.
    measures: BTreeSet<String>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(experiment: &'a Experiment) -> Self {
        let cases = experiment.cases();
        Self {
            labels: label_kinds(cases.iter().map(|case| &case.labels)),
            measures: cases.iter().flat_map(|case| names(&case.scenario)).collect(),
        }
    }

    /// A row's place is a column, and its warnings are, as JSON.
    pub(super) fn to_parquet(&self, rows: &[Row]) -> Result<Vec<u8>, ParquetError> {
        let places = rows.iter().map(|row| i64::try_from(row.row).ok());
        let mut columns = vec![Column::integers(ROW, places)];
        columns.extend(labelled(rows, &self.labels));
        // Real time has metrics of its own.
        let own = rows.iter().flat_map(|row| row.measures.keys());
        let measures: BTreeSet<&String> = self.measures.iter().chain(own).collect();
        let numbers = |name: &String| Column::numbers(name, rows.iter().map(|it| it.measure(name)));
        columns.extend(measures.into_iter().map(numbers));
        columns.extend(origins(rows));
        let warnings = rows.iter().map(|row| match row.warnings.as_slice() {
            [] => None,
            warnings => serde_json::to_string(warnings).ok(),
        });
        columns.push(Column::texts(WARNINGS, warnings));
        write(&columns)
    }

    /// Reads the rows of a chunk.
    pub(super) fn read(
        &self,
        path: &Path,
        experiment: &Experiment,
        rows: Range<usize>,
    ) -> Result<Vec<Row>, StoreError> {
        let file =
            File::open(path).map_err(|error| StoreError::Io { path: path.to_owned(), error })?;
        let columns = read(file).map_err(|error| error.to_string());
        let read = columns.and_then(|columns| rows_in(&columns, experiment, rows.clone()));
        read.map_err(|what| StoreError::Chunk { path: path.to_owned(), what, rows })
    }
}

/// Labels come from the experiment, which is the plan's; the rest from the columns.
fn rows_in(
    columns: &[Column],
    experiment: &Experiment,
    rows: Range<usize>,
) -> Result<Vec<Row>, String> {
    // A label may have one of these names: its column stands between them.
    let first = |name: &str| columns.iter().find(|it| it.name == name);
    let last = |name: &str| columns.iter().rfind(|it| it.name == name);
    let integers = |column: Option<&Column>, name: &str| match column.map(|it| &it.values) {
        Some(Values::Integers(values)) if values.len() == rows.len() => Ok(values.clone()),
        _ => Err(format!("has no {} whole numbers {name}", rows.len())),
    };
    let texts = |name: &str| match last(name).map(|it| &it.values) {
        Some(Values::Texts(values)) if values.len() == rows.len() => Ok(values.clone()),
        _ => Err(format!("has no {} texts {name}", rows.len())),
    };
    let (places, seeds) = (integers(first(ROW), ROW)?, integers(last("seed"), "seed")?);
    let [hashes, versions, traces, warnings] =
        [texts("hash")?, texts("version")?, texts("trace")?, texts(WARNINGS)?];
    let of = experiment.cases().len() * experiment.seeds().len();
    let one = |(at, number): (usize, usize)| {
        let place = RowKey::at(number, experiment);
        let seed = experiment.seeds()[place.seed];
        if places[at].and_then(|it| usize::try_from(it).ok()) != Some(number)
            || seeds[at].and_then(|it| u64::try_from(it).ok()) != Some(seed)
            || hashes[at].as_deref() != Some(experiment.hash())
        {
            return Err("has other rows".to_owned());
        }
        let warnings = warnings[at].as_deref().map(serde_json::from_str).transpose();
        let measures = columns.iter().filter_map(|column| match &column.values {
            Values::Numbers(values) => Some((column.name.clone(), (*values.get(at)?)?)),
            _ => None,
        });
        Ok(Row {
            experiment: experiment.name().to_owned(),
            hash: experiment.hash().to_owned(),
            version: versions[at].clone().ok_or("has a row without a version")?,
            row: number,
            of,
            case: experiment.cases()[place.case].labels.clone(),
            seed,
            trace: traces[at].clone().ok_or("has a row without a trace")?,
            measures: measures.collect(),
            warnings: warnings.map_err(|error| format!("warnings: {error}"))?.unwrap_or_default(),
        })
    };
    rows.clone().enumerate().map(one).collect()
}

/// The column of a row's place among all rows of the experiment, from 0.
const ROW: &str = "row";
const WARNINGS: &str = "warnings";
