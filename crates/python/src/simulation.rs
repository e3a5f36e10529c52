//! One run of an experiment in steps, whose windows Python may set.

use std::{
    process,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use ackwise_lab::run::{
    export::MeasureFilter,
    steps::{StepError, Steps},
};
use ackwise_units::parse;
use pyo3::{exceptions::PyValueError, prelude::*};
use serde::Serialize;

use crate::{
    error,
    experiment::{Rows, read},
    waiting::receive,
};

/// A run on a thread of its own, which this asks to go on.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Simulation {
    run: Steps,
    filter: MeasureFilter,
    /// A thread does not follow into a process that was forked.
    process: u32,
}

#[pymethods]
impl Simulation {
    /// As [`Rows`] reads an experiment; a case by its number from 1, which an experiment of one case does not need.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        document: Option<&str>,
        settings: Vec<String>,
        case: Option<i64>,
    ) -> PyResult<Self> {
        let experiment = read(py, name, document, &settings)?;
        let cases = experiment.cases().len();
        let only = (cases == 1).then_some(0);
        let place = case.map_or(only, |case| usize::try_from(case).ok()?.checked_sub(1));
        let place = place.filter(|place| *place < cases).ok_or_else(|| {
            let found = case.map_or_else(|| "None".to_owned(), |case| case.to_string());
            PyValueError::new_err(format!("case is {found} (expected 1 to {cases})"))
        })?;
        let filter = MeasureFilter::of(&experiment);
        let run = Steps::begin(Arc::new(experiment), place, 0)?;
        Ok(Self { run, filter, process: process::id() })
    }

    /// What happens next, as JSON; `None` if it is `until` before, or the run is over.
    fn step(&self, py: Python<'_>, until: Option<Until>) -> PyResult<Option<String>> {
        let until = until.map(Until::span).transpose()?;
        self.answer(py, self.run.step(until))?.map(|event| json(&event)).transpose()
    }

    /// How the run stands, as JSON.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.answer(py, self.run.state())?)
    }

    fn set_window(
        &self,
        py: Python<'_>,
        connection: i64,
        window: u64,
        threshold: u64,
        host: Option<String>,
    ) -> PyResult<()> {
        // No number that a connection has.
        let connection = u64::try_from(connection).unwrap_or(u64::MAX);
        self.answer(py, self.run.set_windows(connection, host, window, threshold))
    }

    /// The row of the whole run.
    fn finish(&self, py: Python<'_>) -> PyResult<Rows> {
        Ok(Rows::of(vec![self.answer(py, self.run.finish())?], self.filter.clone()))
    }
}

impl Simulation {
    /// Waits for an answer. Ctrl-C ends the run.
    fn answer<T: Send>(
        &self,
        py: Python<'_>,
        answer: Receiver<Result<T, StepError>>,
    ) -> PyResult<T> {
        if process::id() != self.process {
            return Err(error::error(py, "a simulation cannot go on in a process that was forked"));
        }
        let answer = receive(py, || self.run.stop(), answer)?;
        answer.map_err(|error| error::of_run(py, &error.to_string()))
    }
}

/// A time in seconds, or in words.
#[derive(FromPyObject)]
enum Until {
    Seconds(f64),
    Text(String),
}

impl Until {
    fn span(self) -> PyResult<Duration> {
        match self {
            Self::Seconds(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!("until is {seconds} (expected seconds from 0)"))
            }),
            Self::Text(text) => parse(&text).map_err(|expected| {
                PyValueError::new_err(format!("until is {text:?} (expected {expected})"))
            }),
        }
    }
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
