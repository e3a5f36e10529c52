//! A user, and the page that it loads.

use std::{collections::BTreeMap, time::Duration};

use ackwise_http::page::{PageFetch, Step};
use ackwise_link::Stream;
use ackwise_net::Slot;

use super::{LoadedPage, PageLoad, options::CachedFiles};

/// One user.
pub(super) struct User {
    pub(super) state: State,
    /// Connections kept for the next page, the most recently used last.
    pub(super) kept: Vec<Slot>,
    pub(super) thinks: Stream,
    pub(super) caches: Stream,
}

pub(super) enum State {
    /// Begins a page at this time.
    Waiting(Duration),
    Loading(Box<Loading>),
    Gone,
}

/// A page that is being loaded.
pub(super) struct Loading {
    pub(super) fetch: PageFetch,
    pub(super) page: usize,
    pub(super) cached: Vec<bool>,
    pub(super) began: Duration,
    pub(super) deadline: Duration,
    /// By their numbers in the plan.
    pub(super) connections: BTreeMap<u32, Slot>,
    /// The next step, and when.
    pub(super) paused: Option<(Duration, Step)>,
    /// Time in pauses before a file, which is no part of the page's.
    pub(super) thought: Duration,
    pub(super) so_far: LoadedPage,
}

impl User {
    /// Of each of `files` files, whether this user has it.
    pub(super) fn cached(&mut self, load: &PageLoad, files: usize) -> Vec<bool> {
        let share = u64::from(load.cache.per_million);
        (0..files)
            .map(|file| match load.cache.of {
                CachedFiles::Inlines if file == 0 => false,
                _ => share > 0 && self.caches.below(1_000_000) < share,
            })
            .collect()
    }
}
