//! Counts events of the acceptor and the connections, each on its own thread.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Event counts since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Connections accepted and served.
    pub accepted: u64,
    /// Connections closed immediately because the limit was reached.
    pub refused: u64,
    /// Connections closed to make room for new ones, by a server on Ackwise's own stack.
    pub displaced: u64,
    /// Complete responses sent.
    pub answered: u64,
    /// Connections ended by a CLIENT_CLOSE.
    pub client_closed: u64,
    /// Pages parsed for a GETWEB.
    pub pages: u64,
    /// How long that took in all.
    pub parsing: Duration,
}

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    accepted: AtomicU64,
    refused: AtomicU64,
    displaced: AtomicU64,
    answered: AtomicU64,
    client_closed: AtomicU64,
    pages: AtomicU64,
    parsing_nanos: AtomicU64,
}

impl Counters {
    pub(crate) fn stats(&self) -> Stats {
        let Self { accepted, refused, displaced, answered, client_closed, pages, parsing_nanos } =
            self;
        let counters =
            [accepted, refused, displaced, answered, client_closed, pages, parsing_nanos];
        let [accepted, refused, displaced, answered, client_closed, pages, nanos] =
            counters.map(|counter| counter.load(Ordering::Relaxed));
        let parsing = Duration::from_nanos(nanos);
        Stats { accepted, refused, displaced, answered, client_closed, pages, parsing }
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(crate) fn count_accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn count_displaced(&self) {
        self.displaced.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_answer(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_page(&self, parsed_in: Duration) {
        let nanos = u64::try_from(parsed_in.as_nanos()).unwrap_or(u64::MAX);
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.parsing_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(crate) fn count_client_close(&self) {
        self.client_closed.fetch_add(1, Ordering::Relaxed);
    }
}
