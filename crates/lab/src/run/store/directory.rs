//! What all stores do with a directory: begin in an empty one, list it, and write files that others see begun.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use ackwise_text::OutputFile;

use super::StoreError;

/// Makes the directory, unless it is there.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    match fs::create_dir(path) {
        Err(_) if path.is_dir() => Ok(()),
        made => made.map_err(|error| StoreError::Io { path: path.to_owned(), error }),
    }
}

/// Whether a store can begin here: nothing is there, or another process has just begun one.
pub(super) fn expect_empty(directory: &Path) -> Result<(), StoreError> {
    let names = names(directory)?;
    if names.iter().any(|name| name == PLAN) {
        return Ok(());
    }
    let foreign = names.into_iter().find(|name| part_of(name) != Some(PLAN));
    foreign.map_or(Ok(()), |file| {
        Err(StoreError::NotAStore { directory: directory.to_owned(), file: file.into() })
    })
}

/// Begins a file, so that others see it.
pub(super) fn begin(path: PathBuf) -> Result<OutputFile, StoreError> {
    let begun = OutputFile::create(&path).and_then(|file| {
        // Without a lock, others may do the same work.
        let _ = file.handle()?.try_lock();
        Ok(file)
    });
    begun.map_err(|error| StoreError::Io { path, error })
}

/// The name that an unfinished file will have (see [`OutputFile`]).
pub(super) fn part_of(name: &str) -> Option<&str> {
    let name = name.strip_prefix('.')?.strip_suffix(".part")?;
    name.rsplit_once('.').map(|(whole, _random)| whole)
}

pub(super) fn is_locked(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

pub(super) fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> io::Result<Vec<String>> {
        let entries = fs::read_dir(directory)?;
        entries.map(|it| Ok(it?.file_name().to_string_lossy().into_owned())).collect()
    };
    read().map_err(|error| StoreError::Io { path: directory.to_owned(), error })
}

/// The file that makes a directory a store.
pub(super) const PLAN: &str = "plan.json";
pub(super) const PARQUET: &str = ".parquet";
