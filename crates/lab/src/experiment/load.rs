//! Experiments from files.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{Draft, ExperimentError};

/// There is no experiment in a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The file is wrong.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

impl Draft {
    /// Reads TOML from a file of at most 16 MiB.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not TOML.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = read_text(path, MOST);
        let text = text.map_err(|error| LoadError::Io { path: path.to_owned(), error })?;
        Ok(Self::parse(&path.to_string_lossy(), &text)?)
    }
}

/// More than people write.
const MOST: u64 = 16 << 20;

/// Reads a text that is not longer than `most` bytes, whatever the file is: a device may have no end.
fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(most + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            io::Error::new(error.kind(), "not a text file (expected UTF-8)")
        }
        _ => error,
    })?;
    if u64::try_from(text.len()).is_ok_and(|length| length > most) {
        let what = format!("file too long (expected at most {most} bytes)");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}
