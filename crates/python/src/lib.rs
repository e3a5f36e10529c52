#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `batch` | rows in columns, handed over as an Arrow stream |
//! | `capture` | a capture, explained |
//! | `captures` | a store of many captures' exchanges |
//! | `experiment` | an experiment, simulated |
//! | `simulation` | one run of an experiment, in steps |
//! | `sweep` | an experiment whose parts may be run elsewhere |
//! | `tuning` | the equations for buffer sizes, on arrays |
//! | `waiting` | work on a thread of its own, while Python may be interrupted |
//! | `error` | errors as the exceptions of the package |
//!
//! Not here: what Python can say as well. The package's Python files accept what users give, and start the command for
//! what would change this process.

mod batch;
mod capture;
#[cfg(feature = "parquet")]
mod captures;
mod error;
mod experiment;
mod simulation;
mod sweep;
mod tuning;
mod waiting;

use pyo3::prelude::*;

/// What the package's Python files are built on.
#[pymodule]
mod _native {
    use std::{
        ffi::OsString,
        io::{self, Write},
        path::PathBuf,
    };

    use ackwise_text::output_file;
    use pyo3::prelude::*;

    use crate::error;

    #[pymodule_export]
    use crate::{
        batch::{Batch, restore, stacked, table},
        capture::{Explained, Request, no_exchanges},
        experiment::Rows,
        simulation::Simulation,
        sweep::{Sweep, build},
        tuning::{e_atbt, max_min, pftk},
    };

    #[pymodule_export]
    #[cfg(feature = "parquet")]
    use crate::captures::Captures;

    /// The version of Ackwise.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The command line; returns its exit code. It may change this process for good.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| {
            let code = ackwise::run(arguments);
            // A program of Rust's own does that when it ends. What cannot be written any more has no reader.
            let _ = io::stdout().flush();
            code
        })
    }

    /// The document of `ackwise model --json`.
    #[pyfunction]
    fn model(py: Python<'_>, options: Vec<OsString>) -> PyResult<String> {
        py.detach(|| ackwise::model(options)).map_err(|message| error::error(py, &message))
    }

    /// The JSON Schema of a format; `None` if there is none of this name.
    #[pyfunction]
    fn schema(name: &str) -> Option<String> {
        ackwise::schema(name)
    }

    /// The names of all formats.
    #[pyfunction]
    fn schema_names() -> Vec<&'static str> {
        ackwise::schema_names()
    }

    /// Writes a whole file or none.
    #[pyfunction]
    fn write_file(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
        Ok(py.detach(|| output_file::write(&path, text.as_bytes()))?)
    }
}
