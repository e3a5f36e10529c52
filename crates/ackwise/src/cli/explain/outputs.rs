//! The files that are written beside the report. All are begun before a packet is read: what cannot be written is said
//! before the work, and no path is opened afterwards.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
};

use ackwise_explain::Reading;
use ackwise_text::OutputFile;

use super::Explain;
use crate::cli::outcome::Failure;

/// Those that were asked for.
pub(super) struct Outputs<'a> {
    pub(super) stripped: Option<Output<'a>>,
    pub(super) exported: Option<Output<'a>>,
    pub(super) html: Option<Output<'a>>,
    #[cfg(feature = "parquet")]
    pub(super) parquet: Option<Output<'a>>,
}

impl<'a> Outputs<'a> {
    pub(super) fn begin(explain: &'a Explain) -> Result<Self, Failure> {
        let begin = |path: Option<&'a Path>| path.map(Output::begin).transpose();
        Ok(Self {
            stripped: begin(explain.save_stripped.as_deref())?,
            exported: begin(explain.exported())?,
            html: begin(explain.html.as_deref())?,
            #[cfg(feature = "parquet")]
            parquet: begin(explain.parquet.as_deref())?,
        })
    }
}

/// One of them, not complete yet.
pub(super) struct Output<'a> {
    path: &'a Path,
    file: OutputFile,
}

impl<'a> Output<'a> {
    fn begin(path: &'a Path) -> Result<Self, Failure> {
        let file = OutputFile::create(path);
        let file = file.map_err(|error| Failure::File { path: path.to_owned(), error })?;
        Ok(Self { path, file })
    }

    /// Writes all of it.
    pub(super) fn complete(self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { path, file } = self;
        named(path, file.complete(bytes))
    }

    /// Keeps others from reading it, for it will have secrets.
    pub(super) fn restrict(&self) -> Result<(), Failure> {
        named(self.path, self.file.restrict())
    }

    /// Lets `reading` write the stripped copy to it.
    pub(super) fn save_stripped(&self, reading: &Reading) -> Result<(), Failure> {
        let save = || reading.save_stripped(Box::new(BufWriter::new(self.file.handle()?)));
        named(self.path, save())
    }

    /// Completes it if `write` succeeds.
    pub(super) fn complete_with(
        self,
        write: impl FnOnce(File) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Self { path, file } = self;
        let written = file.handle().and_then(write).and_then(|()| file.finish().map(drop));
        named(path, written)
    }
}

fn named(path: &Path, written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| Failure::File { path: path.to_owned(), error })
}
