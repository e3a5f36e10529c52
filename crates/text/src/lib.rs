#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`words`] | numbers in words |
//! | [`layout`] | text filled to the width of a terminal |
//! | [`escape`] | text from outside, made safe for each place where it is written |
//! | [`name`] | one name for a variant in JSON, in text and on the command line |
//! | [`mod@format`] | what a JSON document says of itself, and its schema |
//! | `rows` | JSON with a line for each row |
//! | `bars` | groups of bars as an SVG file |
//! | [`output_file`] | the files that commands write: whole or not at all, never through a link |
//!
//! Not here: what a command says. That belongs to the command.

mod bars;
pub mod escape;
pub mod format;
pub mod layout;
pub mod name;
pub mod output_file;
mod rows;
pub mod words;

pub use bars::Bars;
pub use escape::line as printable;
pub use name::Name;
pub use output_file::OutputFile;
