//! Errors as the exceptions of the package, which its Python files define.

use ackwise_lab::experiment::ExperimentError;
use pyo3::prelude::*;

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
