//! The rows of several machines, put together.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Take},
    path::{Path, PathBuf},
};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{
    journal::{JournalError, reject_old_names, rows_in},
    row::Row,
};

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
/// Files that cannot be read, rows that do not belong together, and missing rows.
pub fn merge(files: &[PathBuf]) -> Result<Vec<Row>, MergeError> {
    let rows = read(files)?;
    let of = rows.values().next().map_or(0, |row| row.of);
    if rows.len() < of {
        let first = (0..of).find(|number| !rows.contains_key(number)).unwrap_or(of);
        return Err(MergeError::Incomplete { missing: of - rows.len(), of, first });
    }
    in_order(rows)
}

/// As [`merge`], but rows may be missing.
///
/// # Errors
///
/// Files that cannot be read, and rows that do not belong together.
pub fn merge_partial(files: &[PathBuf]) -> Result<Vec<Row>, MergeError> {
    in_order(read(files)?)
}

/// At least one row.
fn read(files: &[PathBuf]) -> Result<BTreeMap<usize, Row>, MergeError> {
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for path in files {
        // Rows that are there already are not kept, so that memory is for the different ones.
        rows_of(path, |row| {
            if let Some((_, first)) = rows.first_key_value() {
                expect_same(path, first, &row)?;
            }
            let number = row.row;
            if number >= row.of {
                return Err(MergeError::NoSuchRow { path: path.clone(), row: number, of: row.of });
            }
            match rows.entry(number) {
                Entry::Occupied(other) if *other.get() != row => {
                    Err(MergeError::Differs { path: path.clone(), row: number })
                }
                Entry::Occupied(_) => Ok(()),
                Entry::Vacant(place) => {
                    place.insert(row);
                    Ok(())
                }
            }
        })?;
    }
    match rows.is_empty() {
        true => Err(MergeError::Nothing),
        false => Ok(rows),
    }
}

fn in_order(rows: BTreeMap<usize, Row>) -> Result<Vec<Row>, MergeError> {
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

/// Gives each row of a file to `take` as it is read: lines of `--rows`, or a document of `--json`.
fn rows_of(
    path: &Path,
    mut take: impl FnMut(Row) -> Result<(), MergeError>,
) -> Result<(), MergeError> {
    let in_file = |error| MergeError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(in_file)?;
    let mut lines = Lines { file: BufReader::new(file.take(MOST)) };
    let Some(first) = lines.next().map_err(in_file)? else { return Ok(()) };
    if !first.starts_with('{') || serde_json::from_str::<Row>(&first).is_ok() {
        return rows_in_lines(path, first, &mut lines, take);
    }
    let rest = Cursor::new(first.as_bytes()).chain(&mut lines.file);
    let mut refused = None;
    let mut number = 0;
    // A document is not read by lines: its rows are all of one run.
    let each = |row: Row| {
        number += 1;
        let is_named = if number == 1 { reject_old_names(path, 1, &row) } else { Ok(()) };
        let taken = is_named.map_err(MergeError::from).and_then(|()| take(row));
        taken.map_err(|error| refused = Some(error)).is_ok()
    };
    let read = serde_json::Deserializer::from_reader(rest).deserialize_map(Document(each));
    match (refused, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.is_io() => Err(in_file(error.into())),
        (None, Err(error)) if number > 0 => {
            let line = error.line();
            Err(JournalError::NotARow { path: path.to_owned(), line, error }.into())
        }
        (None, Err(_)) => rows_in_lines(path, first, &mut lines, take),
    }
}

/// As [`rows_in`], line by line; `first` is the first one.
fn rows_in_lines(
    path: &Path,
    first: String,
    lines: &mut Lines,
    mut take: impl FnMut(Row) -> Result<(), MergeError>,
) -> Result<(), MergeError> {
    let (mut next, mut number) = (Some(first), 1);
    while let Some(line) = next {
        for row in rows_in(path, number, &line)? {
            take(row)?;
        }
        number += 1;
        next = lines.next().map_err(|error| MergeError::Io { path: path.to_owned(), error })?;
    }
    Ok(())
}

/// The lines of a file, with their ends.
struct Lines {
    file: BufReader<Take<File>>,
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let mut limited = (&mut self.file).take(LONGEST_LINE + 1);
        limited.read_line(&mut line).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                io::Error::new(error.kind(), "not a text file (expected UTF-8)")
            }
            _ => error,
        })?;
        if line.len() as u64 > LONGEST_LINE {
            let what = format!("a line is too long (expected at most {LONGEST_LINE} bytes)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        if self.file.get_ref().limit() == 0 {
            let what = format!("file too long (expected less than {MOST} bytes)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        Ok((!line.is_empty()).then_some(line))
    }
}

/// More are not rows of one experiment (4 GiB).
const MOST: u64 = 1 << 32;
/// Our choice: a row of ten thousand metrics has less than one megabyte.
const LONGEST_LINE: u64 = 64 << 20;

/// What `--json` prints. Each of its rows goes to the function, which says whether it wants more.
struct Document<F>(F);

impl<'de, F: FnMut(Row) -> bool> Visitor<'de> for Document<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of `ackwise run --json`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut has_rows = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "rows" {
                map.next_value_seed(Rows(&mut self.0))?;
                has_rows = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if has_rows { Ok(()) } else { Err(A::Error::missing_field("rows")) }
    }
}

struct Rows<'a, F>(&'a mut F);

impl<'de, F: FnMut(Row) -> bool> DeserializeSeed<'de> for Rows<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Row) -> bool> Visitor<'de> for Rows<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element()? {
            if !(self.0)(row) {
                return Err(A::Error::custom("a row is refused"));
            }
        }
        Ok(())
    }
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
