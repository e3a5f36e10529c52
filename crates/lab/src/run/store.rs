//! A directory with the rows of one experiment, in Parquet files that any number of processes fill.
//!
//! The first process writes `plan.json`: which experiment, which build, and how rows are divided into chunks. All follow
//! it, so that a chunk has the same name and the same rows whoever runs it. A chunk appears whole or not at all, and
//! never changes; running one twice is harmless. What a process has begun is a locked file beside it, which
//! others see as a hint; the lock ends with the process.
//!
//! Not here: telling others what to do, and waiting for them. A process that has nothing else to do runs what
//! others have begun, and gives it up when they are done. The exchanges of captures are in stores of their own
//! (`captures`), with the same plan and files.

mod builds;
#[cfg(feature = "parquet")]
pub mod captures;
#[cfg(feature = "parquet")]
mod chunk;
#[cfg(feature = "parquet")]
mod crew;
#[cfg(feature = "parquet")]
mod directory;
#[cfg(feature = "parquet")]
mod files;
#[cfg(feature = "parquet")]
mod plan;
#[cfg(feature = "parquet")]
mod plan_file;
#[cfg(test)]
#[cfg(feature = "parquet")]
mod tests;

use std::path::Path;
#[cfg(feature = "parquet")]
use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicBool},
};

pub use super::store_error::StoreError;
pub use builds::build;

#[cfg(feature = "parquet")]
use super::{chunks::run_chunk, work::On};
use super::{
    row::Row,
    work::{Options, RunAllError, Step},
};
use crate::experiment::Experiment;
#[cfg(feature = "parquet")]
use chunk::Shape;
#[cfg(feature = "parquet")]
use files::Files;
#[cfg(feature = "parquet")]
use plan::Plan;

/// Has all rows that a store lacks run, and returns all.
///
/// # Errors
///
/// As [`run_all`](super::run_all), and a store that cannot be used.
#[cfg(feature = "parquet")]
pub fn run_all(
    experiment: &Experiment,
    options: &Options,
    directory: &Path,
    on_step: &mut dyn FnMut(Step<'_>),
) -> Result<Vec<Row>, RunAllError> {
    options.on.check(experiment)?;
    let store = Store::open(directory, experiment, options.on, &options.stop)?;
    crew::run(&store, options, on_step)?;
    Ok(store.rows()?)
}

/// A build without Parquet has no stores.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn run_all(
    _: &Experiment,
    _: &Options,
    _: &Path,
    _: &mut dyn FnMut(Step<'_>),
) -> Result<Vec<Row>, RunAllError> {
    Err(StoreError::NoParquet.into())
}

/// A store that belongs to an experiment.
#[cfg(feature = "parquet")]
#[derive(Debug)]
pub struct Store<'a> {
    experiment: &'a Experiment,
    files: Files,
    shape: Shape<'a>,
}

#[cfg(feature = "parquet")]
impl<'a> Store<'a> {
    /// Opens the store in this directory. If the directory is empty or does not exist, rows are run to size the
    /// chunks, for at most ten seconds.
    ///
    /// # Errors
    ///
    /// A directory that is no store, or that of another experiment or build; a row that does not run to its end, or a
    /// stop.
    pub fn open(
        directory: &Path,
        experiment: &'a Experiment,
        on: On,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, RunAllError> {
        directory::make(directory)?;
        let plan = match plan_file::read(directory)? {
            Some(plan) => plan,
            None => {
                directory::expect_empty(directory)?;
                plan_file::write(Plan::first(experiment, on, stop)?, directory)?
            }
        };
        Self::planned(&plan, directory, experiment, on)
    }

    /// Opens the store that another process has begun in this directory.
    ///
    /// # Errors
    ///
    /// A directory without a plan, and as [`Self::open`].
    pub fn join(directory: &Path, experiment: &'a Experiment, on: On) -> Result<Self, StoreError> {
        let plan: Option<Plan> = plan_file::read(directory)?;
        let plan = plan.ok_or_else(|| StoreError::NoPlan(directory.to_owned()))?;
        Self::planned(&plan, directory, experiment, on)
    }

    fn planned<E: From<StoreError>>(
        plan: &Plan,
        directory: &Path,
        experiment: &'a Experiment,
        on: On,
    ) -> Result<Self, E> {
        let chunks = plan.chunks_for(directory, experiment, on)?;
        let files = Files::new(directory, chunks);
        Ok(Self { experiment, files, shape: Shape::of(experiment) })
    }

    /// The rows of a chunk, by their places among all.
    #[must_use]
    pub fn range(&self, chunk: usize) -> Range<usize> {
        self.files.chunks().range(chunk)
    }

    /// The chunks that nobody has finished yet.
    ///
    /// # Errors
    ///
    /// A directory that cannot be read, or has a file that does not belong there.
    pub fn missing(&self) -> Result<Vec<usize>, StoreError> {
        let contents = self.files.look()?;
        Ok(contents.missing(self.files.chunks().count()).collect())
    }

    /// Runs a chunk on this thread and writes it, unless it is there.
    ///
    /// # Errors
    ///
    /// The first row that does not run to its end, a file that cannot be written, or a stop.
    pub fn run_chunk(&self, chunk: usize, stop: &Arc<AtomicBool>) -> Result<(), RunAllError> {
        if self.files.path_of(chunk).exists() {
            return Ok(());
        }
        let file = self.files.begin(chunk)?;
        let rows = run_chunk(self.experiment, self.files.chunks().range(chunk), stop)?;
        Ok(self.write(chunk, file, &rows)?)
    }

    /// All rows, in the experiment's order.
    ///
    /// # Errors
    ///
    /// A chunk that is missing or cannot be read, or has other rows than planned.
    pub fn rows(&self) -> Result<Vec<Row>, StoreError> {
        // Removes what killed processes have left.
        self.files.look()?;
        self.read(0..self.files.chunks().count())
    }

    /// The rows of all chunks but these, in the experiment's order.
    ///
    /// # Errors
    ///
    /// A chunk that cannot be read, or has other rows than planned.
    pub fn rows_without(&self, missing: &[usize]) -> Result<Vec<Row>, StoreError> {
        let chunks = 0..self.files.chunks().count();
        self.read(chunks.filter(|chunk| !missing.contains(chunk)))
    }

    fn read(&self, chunks: impl IntoIterator<Item = usize>) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        for chunk in chunks {
            let path = self.files.path_of(chunk);
            rows.extend(self.shape.read(&path, self.experiment, self.range(chunk))?);
        }
        Ok(rows)
    }

    /// How many rows these chunks have.
    fn rows_of(&self, chunks: &[usize]) -> usize {
        chunks.iter().map(|chunk| self.files.chunks().range(*chunk).len()).sum()
    }

    fn write(
        &self,
        chunk: usize,
        file: ackwise_text::OutputFile,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        let path = self.files.path_of(chunk);
        let bytes = self.shape.to_parquet(rows);
        let bytes = bytes.map_err(|error| StoreError::Chunk {
            path: path.clone(),
            what: error.to_string(),
            rows: self.files.chunks().range(chunk),
        })?;
        file.complete_once(&bytes).map(drop).map_err(|error| StoreError::Io { path, error })
    }
}
