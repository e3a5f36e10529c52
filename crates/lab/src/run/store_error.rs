//! Why a store cannot be used.

use std::{io, ops::Range, path::PathBuf};

/// A store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// This program cannot write Parquet.
    #[error(
        "cannot use a store: this build of ackwise lacks Parquet (expected a released program, the \
         Python package, or a build with `--features parquet`)"
    )]
    NoParquet,
    /// The system says no.
    #[error("cannot use {}: {error}", path.display())]
    Io {
        /// A file, or the directory.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The directory has files, but no plan.
    #[error(
        "cannot use {} as a store: it has {} and no plan.json (expected an empty directory or a store)",
        directory.display(), file.display()
    )]
    NotAStore {
        /// The directory.
        directory: PathBuf,
        /// The name of one of its files.
        file: PathBuf,
    },
    /// The directory has no plan, although another process has begun a store there.
    #[error(
        "cannot use {}: it has no plan.json (expected the store's directory, which all workers share)",
        .0.display()
    )]
    NoPlan(PathBuf),
    /// A file would be taken for rows by whoever queries the store.
    #[error(
        "cannot use the store: {} is not one of its chunks (expected no other Parquet files)",
        .0.display()
    )]
    Foreign(PathBuf),
    /// The plan cannot be understood.
    #[error(
        "cannot read {}: {what} (expected the plan of a store; remove the directory to begin again)",
        path.display()
    )]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The store was begun with something else.
    #[error(
        "cannot use {}: the store of another {of}: {what} (choose another directory)",
        directory.display()
    )]
    Other {
        /// The directory.
        directory: PathBuf,
        /// An experiment, a build, a filter.
        of: &'static str,
        /// The first difference.
        what: String,
    },
    /// A chunk does not have its rows.
    #[error(
        "cannot use {}: {what} (expected rows {} to {} of this experiment; remove the file and run again)",
        path.display(), rows.start, rows.end.saturating_sub(1)
    )]
    Chunk {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// Which rows it should have, by their places among all.
        rows: Range<usize>,
    },
    /// A file does not have the exchanges of its capture.
    #[error("cannot use {}: {what} (remove the file and run again)", path.display())]
    Exchanges {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}
