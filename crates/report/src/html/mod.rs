//! One self-contained HTML page: what a command found, to read, to zoom into, to print.
//!
//! The page needs no network and asks for none: its policy forbids that, and allows exactly the
//! scripts and styles that are in it. What matters is in its text; scripts add the plots.
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
//!
//! ```
//! use ackwise_report::{Block, Cell, HtmlTable, Page};
//!
//! let mut table = HtmlTable::new("Totals", ["cause", "ms"]);
//! table.add([Cell::text("server-think"), Cell::number("12.5")]);
//! let mut page = Page::new("explain: capture.pcap");
//! page.add_section("Where the time went", [Block::Table(table)]);
//! assert!(page.render().contains("server-think"));
//! ```

mod bundle;
mod markup;
mod packed;
mod page;
mod plot;
mod table;
mod timeline;

pub use page::{Block, Page};
pub use plot::{Line, Plot, Style};
pub use table::{Cell, HtmlTable, Verdict};
pub use timeline::{Span, Timeline, TimelineConnection, TimelineExchange, TimelineShare};
