//! An error for programs: where `--json` was given, standard output has one document in any case.

use std::io::Write;

use ackwise_text::format::{self, Format, to_json};
use schemars::JsonSchema;
use serde::Serialize;

/// What a command prints if `--json` was given and it could not run.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document<'a> {
    /// The same message as on standard error.
    error: &'a str,
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-error");
    const ABOUT: &'static str =
        "What every command prints with `--json` if it ends with exit code 2.";
}

/// Prints the error on standard output.
pub(crate) fn print(error: &str) {
    // Standard error has it already, so that a reader who has gone loses nothing.
    let _ = anstream::stdout().write_all(to_json(&Document { error }).as_bytes());
}
