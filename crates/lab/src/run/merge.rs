//! The rows of several machines, put together.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    journal::{JournalError, reject_old_names, rows_in},
    row::Row,
};
use crate::experiment::read_text;

/// Rows cannot be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A file has something else than rows.
    #[error(transparent)]
    NotRows(#[from] JournalError),
    /// No file has a row.
    #[error("cannot merge: the files have no rows")]
    Nothing,
    /// The rows are not of one experiment and one version.
    #[error("{}: rows of {found} (expected {expected}, as in the other files)", path.display())]
    Mixed {
        /// The file.
        path: PathBuf,
        /// Name, hash, version and number of rows.
        found: String,
        /// Those of the first row.
        expected: String,
    },
    /// The cases of a row have other variables.
    #[error(
        "{}: row {row} has other variables than the other rows (expected {expected})",
        path.display()
    )]
    OtherVariables {
        /// The file.
        path: PathBuf,
        /// From 0.
        row: usize,
        /// Those of the first row, or how many they are.
        expected: String,
    },
    /// The rows have few metrics in common: a table of them would be empty mostly, and its size would grow
    /// with the square of theirs.
    #[error(
        "cannot merge: {rows} rows have {values} values of {metrics} metrics (expected rows with mostly \
         the same metrics)"
    )]
    Sparse {
        /// How many rows.
        rows: usize,
        /// How many different metrics they have together.
        metrics: usize,
        /// How many values.
        values: usize,
    },
    /// A row says that it is none of the experiment's.
    #[error("{}: row {row} of {of} does not exist (rows count from 0)", path.display())]
    NoSuchRow {
        /// The file.
        path: PathBuf,
        /// From 0.
        row: usize,
        /// How many there should be.
        of: usize,
    },
    /// One row was run twice, with different results.
    #[error("{}: row {row} differs from the same row in another file", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// From 0.
        row: usize,
    },
    /// Rows are missing.
    #[error(
        "incomplete rows: {missing} of {of} are missing, the first is row {first} (expected all \
         shards; --partial allows missing rows)"
    )]
    Incomplete {
        /// How many.
        missing: usize,
        /// How many there should be.
        of: usize,
        /// The first that is missing, from 0.
        first: usize,
    },
}

/// Reads rows (`--rows` files or `--json` documents) and puts them in the experiment's order.
///
/// # Errors
///
/// Files that cannot be read, rows that do not belong together, and, unless `partial`, missing rows.
pub fn merge(files: &[PathBuf], partial: bool) -> Result<Vec<Row>, MergeError> {
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for path in files {
        for row in read(path)? {
            if let Some((_, first)) = rows.first_key_value() {
                expect_same(path, first, &row)?;
            }
            let number = row.row;
            if number >= row.of {
                return Err(MergeError::NoSuchRow { path: path.clone(), row: number, of: row.of });
            }
            if rows.get(&number).is_some_and(|other| *other != row) {
                return Err(MergeError::Differs { path: path.clone(), row: number });
            }
            rows.insert(number, row);
        }
    }
    let of = rows.values().next().ok_or(MergeError::Nothing)?.of;
    if rows.len() < of && !partial {
        let first = (0..of).find(|number| !rows.contains_key(number)).unwrap_or(of);
        return Err(MergeError::Incomplete { missing: of - rows.len(), of, first });
    }
    let rows: Vec<Row> = rows.into_values().collect();
    expect_table(&rows)?;
    Ok(rows)
}

/// Whether the table of all rows and metrics is in proportion to the values in it.
fn expect_table(rows: &[Row]) -> Result<(), MergeError> {
    /// Cells of a table for each value in it, and of any small table. Our choice: of rows with 1 to 100
    /// hosts of one kind each, half of the table is empty.
    const CELLS_PER_VALUE: usize = 64;
    const FEW_CELLS: usize = 1 << 20;
    let names = rows.iter().flat_map(|row| row.measures.keys());
    let (values, metrics) = (names.clone().count(), names.collect::<BTreeSet<_>>().len());
    let most = values.saturating_mul(CELLS_PER_VALUE).max(FEW_CELLS);
    match rows.len().saturating_mul(metrics) <= most {
        true => Ok(()),
        false => Err(MergeError::Sparse { rows: rows.len(), metrics, values }),
    }
}

fn read(path: &Path) -> Result<Vec<Row>, MergeError> {
    let text = read_text(path, MOST);
    let text = text.map_err(|error| MergeError::Io { path: path.to_owned(), error })?;
    match serde_json::from_str::<Document>(&text) {
        Ok(document) => {
            let rows = document.rows;
            // A document is not read by lines: its rows are all of one run.
            rows.first().map_or(Ok(()), |row| reject_old_names(path, 1, row))?;
            Ok(rows)
        }
        Err(_) => Ok(rows_in(path, &text)?),
    }
}

/// More are not rows of one experiment (4 GiB).
const MOST: u64 = 1 << 32;

/// What `--json` prints.
#[derive(Deserialize)]
struct Document {
    rows: Vec<Row>,
}

fn expect_same(path: &Path, first: &Row, row: &Row) -> Result<(), MergeError> {
    let whose =
        |row: &Row| format!("{} {}, {}, {} rows", row.experiment, row.hash, row.version, row.of);
    if (&first.hash, &first.version, first.of) == (&row.hash, &row.version, row.of) {
        return expect_same_variables(path, first, row);
    }
    Err(MergeError::Mixed { path: path.to_owned(), found: whose(row), expected: whose(first) })
}

fn expect_same_variables(path: &Path, first: &Row, row: &Row) -> Result<(), MergeError> {
    /// More are not named in a message.
    const MOST_NAMED: usize = 8;
    let names = || first.case.iter().map(|(name, _)| name);
    if names().eq(row.case.iter().map(|(name, _)| name)) {
        return Ok(());
    }
    let expected = match names().count() {
        0 => "none".to_owned(),
        1..=MOST_NAMED => names().collect::<Vec<_>>().join(", "),
        many => format!("{many}, as in row {}", first.row),
    };
    Err(MergeError::OtherVariables { path: path.to_owned(), row: row.row, expected })
}
