//! How rows leave: what `run` and `merge` have in common.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ackwise::run::{
    Row,
    export::{self, Shown},
};
use clap::Args;

use super::{
    outcome::{Failure, Outcome},
    output,
};

/// Where rows go, and in which form.
#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Write all rows with all measures to this file, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write all rows with all measures to this file, as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,

    /// Print JSON instead of a table: all rows with all measures, and their means over the seeds
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
        self.csv.as_deref().into_iter().chain(parquet)
    }

    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Writes the files, then prints.
    pub(crate) fn export(&self, rows: &[Row], shown: &Shown) -> Result<Outcome, Failure> {
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
        let text = if self.json { export::json(rows) } else { export::table(rows, shown) };
        output::print(&text, Outcome::Good)
    }
}

/// Whole or not at all: what is there is replaced when the new file is complete.
fn write(path: &Path, octets: &[u8]) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: path.to_owned(), error };
    // What is no file (a pipe, a terminal) cannot be replaced.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, octets).map_err(failure);
    }
    let unfinished = beside(path, ".part");
    let written = fs::write(&unfinished, octets).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(failure)
}

/// A file whose name goes on after that of `path`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
