//! How rows leave.

use std::path::{Path, PathBuf};

use ackwise_lab::run::{
    Row,
    export::{self, MeasureFilter, PageNotes, warnings},
};
use ackwise_text::{output_file, printable};
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
    #[arg(long, value_name = "FILE", group = "recorded")]
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
                eprintln!("warning: {}", printable(&warning));
            }
        }
        let text = if self.json { export::json(rows) } else { export::table(rows, filter) };
        output::print(&text, Outcome::Good)
    }
}

/// Writes one file, see [`output_file`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    output_file::write(path, bytes).map_err(|error| Failure::File { path: path.to_owned(), error })
}
