//! What users load, and the limits.

use std::time::Duration;

use ackwise_http::{page::Transfer, workload::Span};
use ackwise_link::Seed;

use super::WebPage;
use crate::generator::Think;

/// Users who load pages.
#[derive(Clone, Debug)]
pub struct PageLoad {
    /// The pages, which are loaded in turn; at least one, each with at least one file.
    pub site: Vec<WebPage>,
    /// How the files of a page are transferred.
    pub transfer: Transfer,
    /// Which connections a page may use.
    pub connections: KeptConnections,
    /// Which end closes the connections that a plan leaves open.
    pub close: PageClose,
    /// Number of users, each with one page at a time.
    pub users: usize,
    /// Number of pages of all users together; `None`: until [`duration`](Self::duration) has passed.
    pub pages: Option<u64>,
    /// No page begins after this time since the start of the run.
    pub duration: Option<Duration>,
    /// How long users think; `None`: not at all.
    pub think: Option<Think>,
    /// The pause between opening two connections of one page.
    pub open_gap: Span,
    /// What the clients have already.
    pub cache: Cache,
    /// A page that takes longer than this fails. Also the limit for a server to close after it was asked to.
    pub timeout: Duration,
}

/// Which connections a page may use.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum KeptConnections {
    /// Its own only.
    #[default]
    PerPage,
    /// Also those that the user's earlier pages left open.
    Kept,
}

/// How connections end that the plan leaves open.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PageClose {
    /// The client closes.
    #[default]
    Client,
    /// The client sends CLIENT_CLOSE and closes ([`ackwise_http::client_close`]).
    ClientClose,
    /// The client resets the connection.
    ClientByReset,
}

/// Which files a client has already, and does not ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cache {
    /// The share of files in the cache, in millionths; drawn anew for each page.
    pub per_million: u32,
    /// Which files may be among them.
    pub of: CachedFiles,
    /// Selects the files.
    pub seed: Seed,
}

/// Which files may be in a cache.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CachedFiles {
    /// The inline files: the page itself is always asked for, as when a user reloads it.
    #[default]
    Inlines,
    /// All files of a page, as in the simulator.
    All,
}

impl PageLoad {
    /// One user who loads the pages of `site` once each, on their own connections, with 10 s for a page
    /// (our choice).
    #[must_use]
    pub fn new(site: Vec<WebPage>, transfer: Transfer) -> Self {
        Self {
            pages: Some(site.len() as u64),
            site,
            transfer,
            connections: KeptConnections::PerPage,
            close: PageClose::Client,
            users: 1,
            duration: None,
            think: None,
            open_gap: Span::Fixed(Duration::ZERO),
            cache: Cache::default(),
            timeout: Duration::from_secs(10),
        }
    }

    /// Number of places for connections that a transport needs.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.users.saturating_mul(self.slots_per_user())
    }

    /// Connections of one page at once, and as many that are closing; one of which is reset when that
    /// is not enough.
    fn slots_per_user(&self) -> usize {
        let open = match self.transfer {
            Transfer::Parallel { connections } => usize::from(connections.get()),
            Transfer::Serial
            | Transfer::Persistent
            | Transfer::Pipelined
            | Transfer::SegmentFilled { .. }
            | Transfer::GetWeb => 1,
        };
        2 * open + 2
    }
}
