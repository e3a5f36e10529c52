#![doc = include_str!("../README.md")]
//!
//! The page needs no network and asks for none: its policy forbids that, and allows exactly the
//! scripts and styles that are in it. What matters is in its text; scripts add the plots.
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `page` | sections of blocks, from the first line to the last |
//! | `table` | figures in rows, with bars |
//! | `plot` | lines over an axis |
//! | `timeline` | exchanges and packets over time: the waterfall and the time-sequence plot |
//! | `packed` | a timeline as the numbers that the page reads |
//! | `markup` | text that stays text |
//! | `bundle` | the scripts and styles, and the policy that allows these only |
//! | `columns` | columns for data frames; as Parquet with the feature `parquet` |
//!
//! Not here: what a report says. That belongs to the command whose report it is.

mod bundle;
pub mod columns;
mod markup;
mod packed;
mod page;
mod plot;
mod table;
mod timeline;

pub use page::{Block, Page};
pub use plot::{Line, Plot, Style};
pub use table::{Cell, Grade, HtmlTable};
pub use timeline::{Span, Timeline, TimelineConnection, TimelineExchange, TimelineShare};
