//! An experiment whose parts may be run elsewhere.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

#[cfg(feature = "parquet")]
use ackwise_lab::run::store::Store;
use ackwise_lab::{
    experiment::Experiment,
    run::{
        On, Options, Row, RunAllError,
        chunks::{Chunks, run_chunk},
        export::MeasureFilter,
        run_all, store,
    },
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    error,
    experiment::{Rows, draft, failed},
    waiting::wait,
};

/// An experiment with further axes, read once.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Sweep {
    experiment: Arc<Experiment>,
}

#[pymethods]
impl Sweep {
    /// As [`Rows`] reads an experiment; axes are a path and a list of values in TOML.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        document: Option<&str>,
        settings: Vec<String>,
        axes: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let wrong = |error| error::of_experiment(py, &error);
        let mut draft = draft(py, name, document)?;
        for (path, values) in axes {
            draft = draft.with_axis(&path, &values).map_err(wrong)?;
        }
        let settings = settings.iter().map(String::as_str);
        Ok(Self { experiment: Arc::new(draft.experiment(settings, &[]).map_err(wrong)?) })
    }

    /// Runs all rows on threads of this process, with a store or without.
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<NonZeroUsize>,
        directory: Option<PathBuf>,
    ) -> PyResult<Rows> {
        let mut options = Options::default();
        options.threads = threads.unwrap_or(options.threads);
        let (stop, experiment) = (Arc::clone(&options.stop), Arc::clone(&self.experiment));
        let rows = wait(
            py,
            || stop.store(true, Ordering::Relaxed),
            move || match directory {
                None => run_all(&experiment, &options, &mut |_| {}),
                Some(directory) => store::run_all(&experiment, &options, &directory, &mut |_| {}),
            },
        )?;
        Ok(self.rows(rows.map_err(|error| failed(py, &error))?))
    }

    /// The first and the last row (exclusive) of each chunk, by a pilot.
    fn chunks(&self, py: Python<'_>) -> PyResult<Vec<(usize, usize)>> {
        let chunks = self.on_a_thread(py, |experiment, options| {
            Chunks::by_pilot(experiment, On::Simulator, &options.stop)
        })?;
        Ok((0..chunks.count()).map(|it| chunks.range(it)).map(|it| (it.start, it.end)).collect())
    }

    /// Rows of a chunk as JSON, run on one thread.
    fn run_rows(&self, py: Python<'_>, begin: usize, end: usize) -> PyResult<String> {
        let of = self.experiment.cases().len() * self.experiment.seeds().len();
        if begin > end || end > of {
            return Err(PyValueError::new_err(format!("rows {begin} to {end} of {of}")));
        }
        let rows = self.on_a_thread(py, move |experiment, options| {
            run_chunk(experiment, begin..end, &options.stop)
        })?;
        serde_json::to_string(&rows).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The rows of all chunks that [`Self::run_rows`] returned, in order.
    fn join(&self, chunks: Vec<String>) -> PyResult<Rows> {
        let mut rows = Vec::new();
        for chunk in chunks {
            let read: Result<Vec<Row>, _> = serde_json::from_str(&chunk);
            rows.extend(read.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        Ok(self.rows(rows))
    }

    /// The chunks that a store lacks, each with its first and its last row (exclusive). Begins the store if there is
    /// none.
    fn missing(&self, py: Python<'_>, directory: PathBuf) -> PyResult<Vec<(usize, usize, usize)>> {
        self.on_a_thread(py, move |experiment, options| missing(experiment, options, &directory))
    }

    /// The rows of a store, except those of chunks that are missing.
    fn stored(&self, py: Python<'_>, directory: PathBuf, missing: Vec<usize>) -> PyResult<Rows> {
        let rows =
            self.on_a_thread(py, move |experiment, _| stored(experiment, &directory, &missing))?;
        Ok(self.rows(rows))
    }

    /// Runs a chunk on one thread, and writes it to a store that another process has begun.
    fn run_chunk(&self, py: Python<'_>, directory: PathBuf, chunk: usize) -> PyResult<()> {
        self.on_a_thread(py, move |experiment, options| {
            fill(experiment, options, &directory, chunk)
        })
    }
}

impl Sweep {
    fn rows(&self, rows: Vec<Row>) -> Rows {
        Rows::of(rows, MeasureFilter::of(&self.experiment))
    }

    /// Does something without the GIL, stopped by Ctrl-C.
    fn on_a_thread<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Experiment, &Options) -> Result<T, RunAllError> + Send + 'static,
    ) -> PyResult<T> {
        let (options, experiment) = (Options::default(), Arc::clone(&self.experiment));
        let stop = Arc::clone(&options.stop);
        let stop = || stop.store(true, Ordering::Relaxed);
        let done = wait(py, stop, move || work(&experiment, &options))?;
        done.map_err(|error| failed(py, &error))
    }
}

/// The build of this process, as far as rows and exchanges depend on it.
#[pyfunction]
pub(crate) fn build() -> String {
    store::build()
}

#[cfg(feature = "parquet")]
fn missing(
    experiment: &Experiment,
    options: &Options,
    at: &Path,
) -> Result<Vec<(usize, usize, usize)>, RunAllError> {
    let store = Store::open(at, experiment, On::Simulator, &options.stop)?;
    let rows = |chunk| (chunk, store.range(chunk).start, store.range(chunk).end);
    Ok(store.missing()?.into_iter().map(rows).collect())
}

#[cfg(feature = "parquet")]
fn stored(experiment: &Experiment, at: &Path, missing: &[usize]) -> Result<Vec<Row>, RunAllError> {
    Ok(Store::join(at, experiment, On::Simulator)?.rows_without(missing)?)
}

#[cfg(feature = "parquet")]
fn fill(
    experiment: &Experiment,
    options: &Options,
    at: &Path,
    chunk: usize,
) -> Result<(), RunAllError> {
    Store::join(at, experiment, On::Simulator)?.run_chunk(chunk, &options.stop)
}

#[cfg(not(feature = "parquet"))]
fn missing(
    _: &Experiment,
    _: &Options,
    _: &Path,
) -> Result<Vec<(usize, usize, usize)>, RunAllError> {
    Err(store::StoreError::NoParquet.into())
}

#[cfg(not(feature = "parquet"))]
fn stored(_: &Experiment, _: &Path, _: &[usize]) -> Result<Vec<Row>, RunAllError> {
    Err(store::StoreError::NoParquet.into())
}

#[cfg(not(feature = "parquet"))]
fn fill(_: &Experiment, _: &Options, _: &Path, _: usize) -> Result<(), RunAllError> {
    Err(store::StoreError::NoParquet.into())
}
