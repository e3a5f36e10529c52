//! A capture, explained.

use std::{
    fs::File,
    io::{self, Cursor, Read},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    thread,
};

use ackwise_capture::{analysis::Analyser, filter::Filter, keys::KeyLog, read::Source};
use ackwise_explain::{
    End, Explained as Analysed, Frames, Reading, ReportOptions, columns, html, json, sentence, text,
};
#[cfg(feature = "parquet")]
use ackwise_report::columns::Column;
use pyo3::prelude::*;

use crate::{batch::Batch, error, waiting::wait};

/// What is to be explained, and how. It can be explained more than once.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Request {
    input: Input,
    keys: Vec<PathBuf>,
    filter: Option<Filter>,
    threads: NonZeroUsize,
}

#[derive(Clone)]
enum Input {
    /// Files that count as one capture.
    Files(Vec<PathBuf>),
    /// A file's content.
    Bytes(Arc<[u8]>),
    /// The client's capture and the server's.
    Pair([PathBuf; 2]),
}

/// Why there is no report.
enum Failed {
    Capture(String),
    Keys(PathBuf, io::Error),
    Stopped,
}

/// What a report draws besides what it says.
#[derive(Clone, Copy)]
enum Series {
    Kept,
    NotKept,
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (files, content, pair, keys, filter, threads))]
    fn new(
        py: Python<'_>,
        files: Vec<PathBuf>,
        content: Option<Vec<u8>>,
        pair: Option<[PathBuf; 2]>,
        keys: Vec<PathBuf>,
        filter: Option<&str>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let input = match (content, pair) {
            (Some(content), _) => Input::Bytes(content.into()),
            (None, Some(pair)) => Input::Pair(pair),
            (None, None) => Input::Files(files),
        };
        let filter = filter.map(Filter::from_str).transpose();
        let filter = filter.map_err(|it| error::error(py, &format!("filter: {it}")))?;
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let most = NonZeroUsize::new(Analyser::MOST_THREADS).unwrap_or(NonZeroUsize::MIN);
        let threads = threads.unwrap_or_else(cores).min(most);
        Ok(Self { input, keys, filter, threads })
    }

    /// Reads the capture.
    fn explain(&self, py: Python<'_>) -> PyResult<Explained> {
        self.read(py, Series::NotKept)
    }

    /// Reads the capture again, and draws the page of `--html`; `name` says of what.
    fn html(&self, py: Python<'_>, name: String) -> PyResult<String> {
        let explained = self.read(py, Series::Kept)?.explained;
        wait(py, || {}, move || html(&explained, &ReportOptions::default(), &name))
    }
}

impl Request {
    fn read(&self, py: Python<'_>, series: Series) -> PyResult<Explained> {
        let readings = [self.reading(series), self.reading(series)];
        let (input, keys, begun) = (self.input.clone(), self.keys.clone(), readings.clone());
        let read = wait(
            py,
            || readings.iter().for_each(Reading::stop),
            move || explain(&input, &keys, begun),
        )?;
        let explained = read.map_err(|failed| match failed {
            Failed::Capture(message) => error::of_capture(py, &message),
            Failed::Keys(path, error) => {
                error::error(py, &format!("keys: {}: {error}", path.display()))
            }
            Failed::Stopped => error::of_capture(py, "interrupted"),
        })?;
        Ok(Explained { explained: Arc::new(explained) })
    }

    fn reading(&self, series: Series) -> Reading {
        let reading = match series {
            Series::Kept => Reading::with_series(),
            Series::NotKept => Reading::new().with_threads(self.threads),
        };
        // As `--pair` of the command: both together keep what one may keep.
        let reading = match self.input {
            Input::Pair(_) => reading.with_limits_divided(SHARED),
            Input::Files(_) | Input::Bytes(_) => reading,
        };
        if let Some(filter) = &self.filter {
            reading.set_filter(filter.clone());
        }
        reading.with_measures()
    }
}

fn explain(input: &Input, keys: &[PathBuf], readings: [Reading; 2]) -> Result<Analysed, Failed> {
    let readings = match keys {
        [] => readings,
        files => {
            let keys = secrets(files)?;
            readings.map(|reading| reading.with_keys(&keys))
        }
    };
    let [reading, other] = &readings;
    match input {
        Input::Files(files) => read(reading, &mut Source::open(files)),
        Input::Bytes(bytes) => {
            read(reading, &mut Source::of("capture", Cursor::new(Arc::clone(bytes))))
        }
        Input::Pair([client, server]) => {
            let ends = [End::default(), End::default()];
            let client = read(reading, &mut ends[0].record(Source::open([client])))?;
            let server = read(other, &mut ends[1].record(Source::open([server])))?;
            let joined = End::join((&ends[0], client), (&ends[1], server));
            joined.map_err(|error| Failed::Capture(format!("pair: {error}")))
        }
    }
}

/// A capture without a single packet is an error if it could not be read, as it is for the command.
fn read(reading: &Reading, frames: &mut impl Frames) -> Result<Analysed, Failed> {
    reading.read(frames);
    if reading.is_stopped() {
        return Err(Failed::Stopped);
    }
    let explained = reading.end().ok_or(Failed::Stopped)?;
    match &explained.nothing_read {
        Some(error) if explained.packets == 0 => Err(Failed::Capture(error.clone())),
        _ => Ok(explained),
    }
}

fn secrets(files: &[PathBuf]) -> Result<Arc<KeyLog>, Failed> {
    let keys = Arc::new(KeyLog::default());
    for file in files {
        let failed = |error| Failed::Keys(file.clone(), error);
        let found = keys.add_text(&content(file).map_err(failed)?);
        if found.secrets + found.beyond_limit == 0 {
            let what = "no TLS secrets (expected lines such as `CLIENT_RANDOM …`)";
            return Err(failed(io::Error::other(what)));
        }
    }
    Ok(keys)
}

fn content(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MOST_KEY_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

/// The longest key log, as for the command.
const MOST_KEY_BYTES: u64 = 1 << 29;

/// Each capture of a pair has this part of what the limits allow, as for the command.
const SHARED: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

/// What a capture said.
#[pyclass(frozen, module = "ackwise._native")]
pub(crate) struct Explained {
    explained: Arc<Analysed>,
}

impl Explained {
    /// The columns of [`Self::exchanges`].
    #[cfg(feature = "parquet")]
    pub(crate) fn exchange_columns(&self, py: Python<'_>) -> PyResult<Vec<Column>> {
        self.make(py, columns::exchanges)
    }

    /// What is made of it, without the GIL.
    fn make<T: Send + 'static>(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&Analysed) -> T + Send + 'static,
    ) -> PyResult<T> {
        let explained = Arc::clone(&self.explained);
        wait(py, || {}, move || make(&explained))
    }
}

#[pymethods]
impl Explained {
    /// The sentences that come first.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.make(py, |it| plain(&sentence(&it.analysis)))
    }

    /// What the command prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.make(py, |it| plain(&text(it, &ReportOptions::default())))
    }

    /// What the command prints with `--json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.make(py, |it| json(it, &ReportOptions::default()))
    }

    fn exchanges(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, columns::exchanges)?)
    }

    fn causes(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, columns::causes)?)
    }

    fn connections(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, columns::connections)?)
    }

    fn failures(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, columns::failures)?)
    }

    fn totals(&self, py: Python<'_>) -> PyResult<Batch> {
        Batch::of(self.make(py, |it| columns::totals(it, &ReportOptions::default()))?)
    }
}

/// The table of exchanges without rows.
#[pyfunction]
pub(crate) fn no_exchanges() -> PyResult<Batch> {
    let nothing = Reading::new().end();
    Batch::of(nothing.as_ref().map(columns::exchanges).unwrap_or_default())
}

/// Without colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
