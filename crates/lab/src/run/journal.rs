//! Finished rows in a file, one line of JSON each, so that nothing is run twice.
//!
//! A line is written when its row is finished. A program that is killed leaves at most one torn line at
//! the end, which is dropped.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ackwise_text::{OutputFile, output_file};

use super::row::{Row, RowKey, VERSION};
use crate::{experiment::Experiment, measures::rename_notice};

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The system says no.
    #[error("cannot use {}: {error}", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is a device, a pipe or a directory, which cannot be read back.
    #[error("{}: not a regular file (expected one, because rows are read back)", .0.display())]
    NotAFile(PathBuf),
    /// Another run writes to it.
    #[error("{}: another run is writing to this file", .0.display())]
    InUse(PathBuf),
    /// A line is no row.
    #[error("{}:{line}: not a row written by `ackwise run`: {}", path.display(), in_words(error))]
    NotARow {
        /// The journal.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        error: serde_json::Error,
    },
    /// A row was written before version 1 of the formats.
    #[error(
        "{}:{line}: a row of an older format: {what} (choose another file, or remove this one)",
        path.display()
    )]
    OldName {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Which measure has which name now.
        what: String,
    },
    /// It has rows of the simulator and is to have rows of the kernel, or the other way round.
    #[error(
        "{}: has rows that were {found} (expected {expected}; choose another file or remove this one)",
        path.display()
    )]
    OtherWorld {
        /// The journal.
        path: PathBuf,
        /// Who played its rows.
        found: &'static str,
        /// Who is to play.
        expected: &'static str,
    },
    /// It has rows, but not of this experiment.
    #[error(
        "{}:{line}: row of another experiment or version: {found} (expected {expected}; choose \
         another file or remove this one)",
        path.display()
    )]
    Other {
        /// The journal.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Name, hash and version of the row.
        found: String,
        /// What this run would write.
        expected: String,
    },
}

/// The message names the line of the file already.
fn in_words(error: &serde_json::Error) -> String {
    if error.is_syntax() || error.is_eof() {
        return format!("invalid JSON at column {}", error.column());
    }
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A file that rows are appended to.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the file, or makes it. It stays locked for as long as it is open.
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        let file = output_file::append(path);
        let file = file.map_err(|error| JournalError::Io { path: path.to_owned(), error })?;
        let metadata = file.metadata();
        let metadata =
            metadata.map_err(|error| JournalError::Io { path: path.to_owned(), error })?;
        if !metadata.is_file() {
            return Err(JournalError::NotAFile(path.to_owned()));
        }
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), file }),
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => {
                Err(JournalError::Io { path: path.to_owned(), error })
            }
        }
    }

    /// The rows that are there already, with their places in `experiment`. What is torn at the end is
    /// cut off; rows that have other places now (there are more seeds) are written again.
    pub(super) fn rows_of(
        &mut self,
        experiment: &Experiment,
    ) -> Result<BTreeMap<RowKey, Row>, JournalError> {
        let text = self.text()?;
        let (mut rows, mut others) = (BTreeMap::new(), Vec::new());
        let mut stale = !text.is_empty() && !text.ends_with('\n');
        let places = places(experiment);
        for (number, row) in rows_in(&self.path, 1, &text)?.into_iter().enumerate() {
            self.expect_same(experiment, &row, number + 1)?;
            let place = places.get(&(row.case.clone(), row.seed)).copied();
            let Some(place) = place else {
                // A seed that is not asked for any more: the row stays in the file.
                others.push(row);
                continue;
            };
            let now = place.row(experiment);
            let of = places.len();
            stale |= (row.row, row.of) != (now, of);
            rows.insert(place, Row { row: now, of, ..row });
        }
        if stale {
            self.rewrite(rows.values().chain(&others))?;
        }
        Ok(rows)
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row.
    pub(super) fn append(&mut self, row: &Row) -> Result<(), JournalError> {
        let line = format!("{}\n", to_line(row));
        self.file.write_all(line.as_bytes()).map_err(|error| self.io(error))
    }

    fn text(&mut self) -> Result<String, JournalError> {
        let mut text = String::new();
        let read = self.file.seek(SeekFrom::Start(0));
        read.and_then(|_| self.file.read_to_string(&mut text)).map_err(|error| self.io(error))?;
        Ok(text)
    }

    /// Replaces all rows. Until the new file is complete the old one stays, whatever happens.
    fn rewrite<'a>(&mut self, rows: impl Iterator<Item = &'a Row>) -> Result<(), JournalError> {
        let text: String = rows.map(|row| format!("{}\n", to_line(row))).collect();
        self.file = replace(&self.path, &text).map_err(|error| self.io(error))?;
        Ok(())
    }

    fn expect_same(
        &self,
        experiment: &Experiment,
        row: &Row,
        line: usize,
    ) -> Result<(), JournalError> {
        let hash = experiment.hash();
        if (row.hash.as_str(), row.version.as_str()) == (hash, VERSION) {
            return Ok(());
        }
        let path = self.path.clone();
        let found = format!("{} {}, {}", row.experiment, row.hash, row.version);
        let expected = format!("{} {hash}, {VERSION}", experiment.name());
        Err(JournalError::Other { path, line, found, expected })
    }

    fn io(&self, error: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), error }
    }
}

/// Puts a file with `text` in the place of `path`, and locks it before anybody can see it.
fn replace(path: &Path, text: &str) -> io::Result<File> {
    let mut file = OutputFile::create(path)?;
    file.handle()?.try_lock().map_err(io::Error::from)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

/// All whole lines of a text as rows, the first of which is line `first` of the file. A last line without an end is torn if it cannot be read.
pub(super) fn rows_in(path: &Path, first: usize, text: &str) -> Result<Vec<Row>, JournalError> {
    let mut rows = Vec::new();
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        match serde_json::from_str(line) {
            Ok(row) => {
                reject_old_names(path, number, &row)?;
                rows.push(row);
            }
            Err(_) if !line.ends_with('\n') => {}
            Err(error) => {
                return Err(JournalError::NotARow { path: path.to_owned(), line: number, error });
            }
        }
    }
    Ok(rows)
}

/// Rows with old names do not go together with new ones.
pub(super) fn reject_old_names(path: &Path, line: usize, row: &Row) -> Result<(), JournalError> {
    match row.measures.keys().find_map(|name| rename_notice(name)) {
        Some(what) => Err(JournalError::OldName { path: path.to_owned(), line, what }),
        None => Ok(()),
    }
}

fn places(experiment: &Experiment) -> BTreeMap<(crate::experiment::Labels, u64), RowKey> {
    let key = |place: RowKey| {
        (experiment.cases()[place.case].labels.clone(), experiment.seeds()[place.seed])
    };
    RowKey::all(experiment).map(|place| (key(place), place)).collect()
}

fn to_line(row: &Row) -> String {
    serde_json::to_string(row).expect("a row is strings and finite numbers")
}
