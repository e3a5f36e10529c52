//! Errors as the exceptions of the package, which its Python files define.

use std::{io, path::Path};

use ackwise_lab::experiment::ExperimentError;
#[cfg(feature = "parquet")]
use ackwise_lab::run::store::StoreError;
use pyo3::{exceptions::PyOSError, prelude::*};

/// `ackwise.Error`.
pub(crate) fn error(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "Error", (message,))
}

/// `ackwise.CaptureError`.
pub(crate) fn of_capture(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "CaptureError", (message,))
}

/// `ackwise.ExperimentError`, without a place.
pub(crate) fn of_run(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "ExperimentError", (message,))
}

/// `ackwise.ExperimentError`, with the key and, unless an option is wrong, the line.
pub(crate) fn of_experiment(py: Python<'_>, error: &ExperimentError) -> PyErr {
    let path = Some(error.path()).filter(|path| !path.is_empty());
    let line = Some(error.place().line).filter(|line| *line > 0);
    raise(py, "ExperimentError", (error.to_string(), path, line))
}

/// `ackwise.Error`, or what Python makes of an error of the system.
#[cfg(feature = "parquet")]
pub(crate) fn of_store(py: Python<'_>, store_error: &StoreError) -> PyErr {
    match store_error {
        StoreError::Io { path, error } => of_system(error, path),
        other => error(py, &other.to_string()),
    }
}

/// `OSError`, or what Python makes of its number, such as `PermissionError`.
pub(crate) fn of_system(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string(), path.to_path_buf())),
        None => PyOSError::new_err(format!("cannot use {}: {error}", path.display())),
    }
}

fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py
        .import("ackwise._errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
