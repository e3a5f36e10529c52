#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`html`] | a self-contained page with plots: what `--html` writes |
//! | `bars` | groups of bars as an SVG file |
//! | `columns` | columns for data frames, as Parquet (feature `parquet`) |
//! | [`escape`] | text from outside, made safe for each place where it is written |
//! | [`mod@format`] | what a JSON document says of itself, and its schema |
//! | `indented` | JSON indented, in one write for each line |
//! | [`layout`] | text filled to the width of a terminal |
//! | [`name`] | one name for a variant in JSON, in text and on the command line |
//! | [`output_file`] | the files that commands write: whole or not at all, never through a link |
//! | [`target`] | the server and page that a user names |
//! | [`words`] | numbers in words |
//!
//! Not here: what a report says. That belongs to the command whose report it is.

mod bars;
#[cfg(feature = "parquet")]
pub mod columns;
pub mod escape;
pub mod format;
pub mod html;
pub mod layout;
pub mod name;
pub mod output_file;
mod rows;
pub mod target;
pub mod words;

pub use bars::Bars;
pub use escape::line as printable;
pub use html::{
    Block, Cell, HtmlTable, Line, Page, Plot, Span, Style, Timeline, TimelineConnection,
    TimelineExchange, TimelineShare, Verdict,
};
pub use name::Name;
pub use output_file::OutputFile;
pub use target::{Target, TargetError, Unresolved};
