//! A store of many captures' exchanges.

use std::{path::PathBuf, sync::Arc};

use ackwise_lab::run::store::{
    StoreError,
    captures::{CaptureKey, CaptureStore, FileStamp},
};
use pyo3::prelude::*;

use crate::{batch::Batch, capture::Explained, error, waiting::wait};

/// A directory with the exchanges of captures.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Captures {
    store: Arc<CaptureStore>,
}

/// A file's path or an object's URL, its size, a file's time in nanoseconds, and an object's ETag.
type Stamp = (String, i64, Option<i64>, Option<String>);
/// A capture, and files of secrets.
type Key = (Stamp, Vec<Stamp>);

#[pymethods]
impl Captures {
    /// Opens a store, or begins one.
    #[staticmethod]
    fn open(py: Python<'_>, directory: PathBuf, filter: Option<String>) -> PyResult<Self> {
        Self::of(py, move || CaptureStore::open(&directory, filter.as_deref()))
    }

    /// Opens a store that another process has begun.
    #[staticmethod]
    fn join(py: Python<'_>, directory: PathBuf, filter: Option<String>) -> PyResult<Self> {
        Self::of(py, move || CaptureStore::join(&directory, filter.as_deref()))
    }

    /// The places of captures that are not there, each with the files that its exchanges replace.
    fn missing(&self, py: Python<'_>, keys: Vec<Key>) -> PyResult<Vec<(usize, Vec<String>)>> {
        let keys: Vec<_> = keys.into_iter().map(capture_key).collect();
        self.on_a_thread(py, move |store| store.missing(&keys))
    }

    fn has(&self, key: Key) -> bool {
        self.store.has(&capture_key(key))
    }

    /// Writes the exchanges of a capture, unless they are there, and removes the files that they replace.
    #[allow(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn write(
        &self,
        py: Python<'_>,
        key: Key,
        explained: Bound<'_, Explained>,
        earlier: Vec<String>,
    ) -> PyResult<()> {
        let exchanges = explained.get().exchange_columns(py)?;
        self.on_a_thread(py, move |store| store.write(&capture_key(key), exchanges, &earlier))
    }

    /// The exchanges of captures; `None` for those that are not there.
    fn read(&self, py: Python<'_>, keys: Vec<Key>) -> PyResult<Vec<Option<Batch>>> {
        let tables = self.on_a_thread(py, move |store| {
            keys.into_iter().map(|it| store.read(&capture_key(it))).collect::<Result<Vec<_>, _>>()
        })?;
        tables.into_iter().map(|columns| columns.map(Batch::of).transpose()).collect()
    }
}

impl Captures {
    fn of(
        py: Python<'_>,
        open: impl FnOnce() -> Result<CaptureStore, StoreError> + Send + 'static,
    ) -> PyResult<Self> {
        let store = wait(py, || {}, open)?.map_err(|error| error::of_store(py, &error))?;
        Ok(Self { store: Arc::new(store) })
    }

    fn on_a_thread<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&CaptureStore) -> Result<T, StoreError> + Send + 'static,
    ) -> PyResult<T> {
        let store = Arc::clone(&self.store);
        wait(py, || {}, move || work(&store))?.map_err(|error| error::of_store(py, &error))
    }
}

fn capture_key((capture, secrets): Key) -> CaptureKey {
    let stamp =
        |(path, size, modified_ns, etag): Stamp| FileStamp { path, size, modified_ns, etag };
    CaptureKey { capture: stamp(capture), secrets: secrets.into_iter().map(stamp).collect() }
}
