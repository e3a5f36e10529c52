//! How rows leave: what `run` and `merge` have in common.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use ackwise_lab::run::{
    Row,
    export::{self, MeasureFilter, PageNotes, warnings},
};
use clap::Args;

use super::{
    outcome::{Failure, Outcome},
    output,
};

/// Where rows go, and in which form.
#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Write all rows with all metrics to this file, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write all rows with all metrics to this file, as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Write a self-contained HTML page that plots each metric against the first variable, or shows the
    /// packets if there is only one run
    #[arg(long, value_name = "FILE", groups = ["recorded", "captured"])]
    html: Option<PathBuf>,

    /// Print JSON instead of a table: all rows with all metrics, and their means over seeds
    #[arg(long)]
    json: bool,
}

impl Formats {
    /// The files that are written when all rows are there.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        #[cfg(feature = "parquet")]
        let parquet = self.parquet.as_deref();
        #[cfg(not(feature = "parquet"))]
        let parquet = None;
        self.csv.as_deref().into_iter().chain(parquet).chain(self.html.as_deref())
    }

    pub(crate) const fn html(&self) -> bool {
        self.html.is_some()
    }

    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Writes the files, then prints.
    pub(crate) fn export(
        &self,
        rows: &[Row],
        filter: &MeasureFilter,
        about: &PageNotes<'_>,
    ) -> Result<Outcome, Failure> {
        if let Some(path) = &self.csv {
            write(path, export::csv(rows).as_bytes())?;
        }
        #[cfg(feature = "parquet")]
        if let Some(path) = &self.parquet {
            write(
                path,
                &export::parquet(rows).map_err(|error| Failure::Usage(error.to_string()))?,
            )?;
        }
        if let Some(path) = &self.html {
            write(path, export::html(rows, filter, about).as_bytes())?;
        }
        if !self.json {
            for warning in warnings(rows) {
                eprintln!("warning: {warning}");
            }
        }
        let text = if self.json { export::json(rows) } else { export::table(rows, filter) };
        output::print(&text, Outcome::Good)
    }
}

/// Whole or not at all: what is there is replaced when the new file is complete.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: path.to_owned(), error };
    if path == Path::new(STANDARD_OUTPUT) {
        // Opened by this name, a file would be written from its beginning twice.
        let mut stdout = io::stdout().lock();
        return match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // A reader that has seen enough is a success.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(failure),
        };
    }
    if !is_plain(path) {
        return fs::write(path, bytes).map_err(failure);
    }
    // What a symbolic link leads to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let unfinished = beside(&path, ".part");
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
    written.map_err(failure)
}

const STANDARD_OUTPUT: &str = "/dev/stdout";

/// Whether this is a file, or will be one: something that has a place beside it, and that a better one
/// can be put in the place of. Pipes and terminals are not, nor what the system keeps links to them in.
pub(crate) fn is_plain(path: &Path) -> bool {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    let of_the_system = directory
        .is_some_and(|directory| directory == Path::new("/dev") || directory.starts_with("/proc"));
    !of_the_system && (path.is_file() || !path.exists())
}

/// A file whose name goes on after that of `path`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
