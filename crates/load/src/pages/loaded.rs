//! What became of the pages.

use std::time::Duration;

use crate::generator::Failure;

/// The pages that were loaded, in the order of their ends.
#[derive(Clone, Debug, Default)]
pub struct LoadedPages {
    /// At most [`PAGES_LIMIT`].
    pub pages: Vec<LoadedPage>,
    /// From the first start to the last end of a page.
    pub elapsed: Duration,
    /// Whether local ports ran out, which ended the run.
    pub ran_out_of_ports: bool,
    /// Connections that the server did not close in time although it was asked to, so that the client reset them.
    pub not_closed: u64,
}

/// One page that was loaded, or was not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LoadedPage {
    /// The user, from 0.
    pub user: usize,
    /// Its index in [`PageLoad::site`](super::PageLoad::site).
    pub page: usize,
    /// Start of the page since the start of the run.
    pub began: Duration,
    /// From its start to the last byte of its last response, without think time.
    pub took: Duration,
    /// Connections that were opened for it.
    pub connections: u32,
    /// Requests sent, repeated ones included.
    pub requests: u32,
    /// Files received.
    pub files: u32,
    /// Bytes of content received. For GETWEB, the index is among them.
    pub content: u64,
    /// Bytes of requests.
    pub sent: u64,
    /// Bytes received: heads and content.
    pub received: u64,
    /// Why it is not complete: the first failure.
    pub failure: Option<Failure>,
}

/// Most pages of one run (our choice: their times are kept for the percentiles, in 100 MB).
pub const PAGES_LIMIT: usize = 1 << 20;
