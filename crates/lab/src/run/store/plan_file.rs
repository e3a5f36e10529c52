//! `plan.json` as a file: written once, read by all, and compared.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use ackwise_text::{OutputFile, escape};
use serde::{Serialize, de::DeserializeOwned};

use super::{StoreError, directory::PLAN};

/// What all processes that work on a store agree on.
pub(super) trait Planned: Serialize + DeserializeOwned {
    /// The value of its key `format`.
    const FORMAT: &'static str;
}

/// The plan in this directory, if there is one.
pub(super) fn read<P: Planned>(directory: &Path) -> Result<Option<P>, StoreError> {
    let path = directory.join(PLAN);
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::Io { path, error }),
        Ok(_) => {}
    }
    parse(&text).map(Some).map_err(|what| StoreError::Plan { path, what })
}

/// The format first: the keys of another one say less.
fn parse<P: Planned>(text: &[u8]) -> Result<P, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match value.get("format").and_then(serde_json::Value::as_str) {
        Some(format) if format == P::FORMAT => {
            serde_json::from_value(value).map_err(|error| error.to_string())
        }
        format => {
            Err(format!("format {:?} (expected {:?})", format.unwrap_or_default(), P::FORMAT))
        }
    }
}

/// Writes the plan, unless another process was earlier: then that one's counts.
pub(super) fn write<P: Planned>(plan: P, directory: &Path) -> Result<P, StoreError> {
    let path = directory.join(PLAN);
    let text = serde_json::to_string_pretty(&plan).expect("all keys of a plan are text") + "\n";
    let written = OutputFile::create(&path).and_then(|it| it.complete_once(text.as_bytes()));
    written.map_err(|error| StoreError::Io { path: path.clone(), error })?;
    Ok(read(directory)?.unwrap_or(plan))
}

/// In what this process differs from the store, if it does.
pub(super) fn difference(name: &str, stored: &str, own: &str) -> Option<String> {
    let what = || format!("{name} is {} (the store has {})", cut(own), cut(stored));
    (stored != own).then(what)
}

/// That the store is not of what this process does.
pub(super) fn refused(directory: &Path, of: &'static str, what: &str) -> StoreError {
    let what = escape::line(what).into_owned();
    StoreError::Other { directory: directory.to_owned(), of, what }
}

/// As much of a value as a message can have.
fn cut(value: &str) -> String {
    match value.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// As for experiment files, whose values a plan repeats.
const MOST_BYTES: u64 = 1 << 25;
/// Characters (our choice: two values fit on two lines of a terminal).
const MOST_SHOWN: usize = 60;
