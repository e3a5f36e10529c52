//! The files of a store of rows: which there are, and who is writing which.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use ackwise_text::OutputFile;

use super::{
    super::chunks::Chunks,
    StoreError,
    directory::{self, PARQUET},
};

/// A directory, and the chunks that belong there.
#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    chunks: Chunks,
}

/// What a directory had at one time.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Chunks that are there.
    present: BTreeSet<usize>,
    /// Chunks that a process is writing, this one included.
    begun: BTreeSet<usize>,
}

impl Contents {
    /// The chunks that are not there; `of` is how many there should be.
    pub(super) fn missing(&self, of: usize) -> impl Iterator<Item = usize> {
        (0..of).filter(|chunk| !self.present.contains(chunk))
    }

    pub(super) fn has_begun(&self, chunk: usize) -> bool {
        self.begun.contains(&chunk)
    }
}

impl Files {
    pub(super) fn new(directory: &Path, chunks: Chunks) -> Self {
        Self { directory: directory.to_owned(), chunks }
    }

    pub(super) const fn chunks(&self) -> Chunks {
        self.chunks
    }

    pub(super) fn path_of(&self, chunk: usize) -> PathBuf {
        self.directory.join(format!("chunk-{chunk:05}.parquet"))
    }

    /// Looks what is there. Removes what is of no use any more: begun files of chunks that others have finished.
    pub(super) fn look(&self) -> Result<Contents, StoreError> {
        let mut contents = Contents::default();
        let mut parts = Vec::new();
        for name in directory::names(&self.directory)? {
            if let Some(chunk) = directory::part_of(&name).and_then(|whole| self.chunk_of(whole)) {
                parts.push((chunk, self.directory.join(&name)));
            } else if let Some(chunk) = self.chunk_of(&name) {
                contents.present.insert(chunk);
            } else if name.ends_with(PARQUET) && !name.starts_with('.') {
                return Err(StoreError::Foreign(self.directory.join(name)));
            }
        }
        for (chunk, path) in parts {
            if directory::is_locked(&path) {
                contents.begun.insert(chunk);
            } else if contents.present.contains(&chunk) {
                // A process that has no lock, as on some network file systems, finds its chunk finished.
                let _ = fs::remove_file(path);
            }
        }
        Ok(contents)
    }

    /// Begins a chunk, so that others see it.
    pub(super) fn begin(&self, chunk: usize) -> Result<OutputFile, StoreError> {
        directory::begin(self.path_of(chunk))
    }

    fn chunk_of(&self, name: &str) -> Option<usize> {
        let digits = name.strip_prefix("chunk-")?.strip_suffix(PARQUET)?;
        let chunk = digits.parse().ok().filter(|chunk| *chunk < self.chunks.count())?;
        // `chunk-7.parquet` and `chunk-+0007.parquet` are names that no store writes.
        (self.path_of(chunk).file_name()? == name).then_some(chunk)
    }
}
