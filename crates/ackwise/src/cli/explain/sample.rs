//! `--sample` and `--save-sample`: a capture that is part of the program, for a first look without one of one's own.
//!
//! `samples/sample.toml` says what is in it; `tests/sample.rs` records it anew and compares.

use std::{io::Cursor, path::Path};

use ackwise_capture::read::Source;
use ackwise_text::OutputFile;

use crate::cli::outcome::{Failure, Outcome};

const CAPTURE: &[u8] = include_bytes!("../../../samples/sample.pcap");

/// What reports call it.
pub(super) const NAME: &str = "sample.pcap";

/// Reads it.
pub(super) fn source() -> Source {
    Source::of(NAME, Cursor::new(CAPTURE))
}

/// Writes it to `path`, for Wireshark and for options that read files.
pub(super) fn save(path: &Path) -> Result<Outcome, Failure> {
    let written = OutputFile::create(path).and_then(|file| file.complete(CAPTURE));
    written.map_err(|error| Failure::File { path: path.to_owned(), error })?;
    Ok(Outcome::Good)
}
