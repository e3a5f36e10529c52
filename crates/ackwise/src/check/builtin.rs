//! The built-in servers: what `check` looks at when nobody names a server.

mod page;

pub use page::{PageError, PageTimes};
