//! An experiment, simulated.

use std::{
    io,
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use ackwise_lab::{
    experiment::{Draft, Experiment, LoadError, built_in, built_in_names},
    run::{
        Options, Row, RunAllError,
        export::{MeasureFilter, columns, json, table},
        run_all,
        store::StoreError,
    },
};
use pyo3::{
    exceptions::{PyFileNotFoundError, PyOSError, PyValueError},
    prelude::*,
};
use serde::Deserialize;

use crate::{batch::Batch, error, waiting::wait};

/// Rows of an experiment.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Rows {
    rows: Arc<[Row]>,
    filter: MeasureFilter,
}

#[pymethods]
impl Rows {
    /// Runs an experiment in the simulator. It is `document` if that is given, else the file or the built-in experiment
    /// `name`. Settings have the form `path=value`.
    #[staticmethod]
    fn run(
        py: Python<'_>,
        name: &str,
        document: Option<&str>,
        settings: Vec<String>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let experiment = read(py, name, document, &settings)?;
        let filter = MeasureFilter::of(&experiment);
        let mut options = Options::default();
        options.threads = threads.unwrap_or(options.threads);
        let stop = Arc::clone(&options.stop);
        let rows = wait(
            py,
            || stop.store(true, Ordering::Relaxed),
            move || run_all(&experiment, &options, &mut |_| {}),
        )?;
        let rows = rows.map_err(|error| failed(py, &error))?;
        Ok(Self { rows: rows.into(), filter })
    }

    /// The rows of a document of `ackwise run --json`, whose experiment this was.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        rows: &str,
        name: &str,
        document: Option<&str>,
        settings: Vec<String>,
    ) -> PyResult<Self> {
        let experiment = read(py, name, document, &settings)?;
        Ok(Self { rows: rows_of(rows)?.into(), filter: MeasureFilter::of(&experiment) })
    }

    /// The rows of such a document, for pickle.
    #[staticmethod]
    fn restore(rows: &str) -> PyResult<Self> {
        Ok(Self { rows: rows_of(rows)?.into(), filter: MeasureFilter::default() })
    }

    fn batch(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, |rows, _| columns(rows))?)
    }

    /// What the command prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.make(py, table)
    }

    /// What the command prints with `--json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.make(py, |rows, _| json(rows))
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }
}

impl Rows {
    pub(crate) fn of(rows: Vec<Row>, filter: MeasureFilter) -> Self {
        Self { rows: rows.into(), filter }
    }

    /// What is made of them, without the GIL.
    fn make<T: Send + 'static>(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&[Row], &MeasureFilter) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (rows, filter) = (Arc::clone(&self.rows), self.filter.clone());
        wait(py, || {}, move || make(&rows, &filter))
    }
}

fn rows_of(document: &str) -> PyResult<Vec<Row>> {
    #[derive(Deserialize)]
    struct Document {
        rows: Vec<Row>,
    }
    let read: Result<Document, _> = serde_json::from_str(document);
    Ok(read.map_err(|error| PyValueError::new_err(error.to_string()))?.rows)
}

/// As the command reads it: a file, or else a built-in experiment.
pub(crate) fn read(
    py: Python<'_>,
    name: &str,
    document: Option<&str>,
    settings: &[String],
) -> PyResult<Experiment> {
    let draft = draft(py, name, document)?;
    let read = draft.experiment(settings.iter().map(String::as_str), &[]);
    read.map_err(|error| error::of_experiment(py, &error))
}

pub(crate) fn draft(py: Python<'_>, name: &str, document: Option<&str>) -> PyResult<Draft> {
    match document {
        Some(document) => {
            Draft::parse(name, document).map_err(|error| error::of_experiment(py, &error))
        }
        None => load(py, name),
    }
}

/// Rows could not be run.
pub(crate) fn failed(py: Python<'_>, error: &RunAllError) -> PyErr {
    match error {
        RunAllError::Stopped { .. } => error::of_run(py, "interrupted"),
        RunAllError::Store(StoreError::Io { path, error }) => error::of_system(error, path),
        error => error::of_run(py, &error.to_string()),
    }
}

fn load(py: Python<'_>, name: &str) -> PyResult<Draft> {
    let wrong = |error| error::of_experiment(py, &error);
    match Draft::load(Path::new(name)) {
        Ok(draft) => Ok(draft),
        Err(LoadError::Experiment(error)) => Err(wrong(error)),
        Err(LoadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            match built_in(name) {
                Some(text) => Draft::parse(name, text).map_err(wrong),
                None => {
                    let known = built_in_names().collect::<Vec<_>>().join(", ");
                    let what =
                        format!("no such file, and no built-in experiment (built in: {known})");
                    Err(PyFileNotFoundError::new_err((error.raw_os_error(), what, name.to_owned())))
                }
            }
        }
        Err(LoadError::Io { error, .. }) => match error.raw_os_error() {
            // With its number, Python makes PermissionError and others of it.
            Some(number) => Err(PyOSError::new_err((number, error.to_string(), name.to_owned()))),
            None => Err(error::of_run(py, &format!("cannot read {name}: {error}"))),
        },
        Err(error) => Err(error::of_run(py, &error.to_string())),
    }
}
