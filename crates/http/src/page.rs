//! How the files of a page travel: plans as data, and the state machine that carries one out.
//!
//! It has no sockets and no clock. A driver polls a [`PageFetch`] for the next [`Step`], pauses as the
//! step says, carries it out, and tells of responses and closes:
//!
//! ```
//! use ackwise_http::page::{FirstConnection, Page, PageFetch, Pause, Step, Transfer};
//!
//! let page = Page { primary: 6651, inlines: vec![3883, 1866] };
//! let mut fetch = PageFetch::new(Transfer::Persistent, &page, FirstConnection::New, |_| false);
//! let mut requests = 0;
//! while !fetch.is_complete() {
//!     match fetch.poll() {
//!         Some(Step::Open { .. }) => {}
//!         Some(Step::Request { .. }) => requests += 1,
//!         None => fetch.on_response(0), // Nothing may be done before the next response.
//!     }
//! }
//! assert_eq!(requests, 3);
//! ```

mod exchange;
mod fetch;
mod step;
#[cfg(test)]
mod tests;

pub use fetch::PageFetch;
pub use step::{Pause, Step};

use alloc::vec::Vec;
use core::num::{NonZeroU16, NonZeroU32};

/// A page: one primary document and the files that it names. All lengths in bytes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Page {
    /// The primary document: file 0.
    pub primary: u64,
    /// The inline files, in the order in which the primary names them: files 1, 2 and so on.
    pub inlines: Vec<u64>,
}

/// How the files of a page travel.
///
/// All plans ask for the primary first and know the inlines when its response is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transfer {
    /// A new connection for each file, one after the other (HTTP/1.0).
    Serial,
    /// The primary on one connection; then each inline on a new connection of its own.
    Parallel {
        /// How many inlines travel at once.
        connections: NonZeroU16,
    },
    /// One connection; a request follows when the previous response is complete.
    ///
    /// What the thesis calls "pipelined": the gaps in its Table 4.5 are round trips.
    Persistent,
    /// One connection; all inlines are asked for at once (RFC 9112, section 9.3.2).
    Pipelined,
    /// One connection, two exchanges: the primary, then all inlines as one response.
    ///
    /// As the thesis' Table 4.7 shows it: primaries are whole segments, the other lengths are not.
    SegmentFilled {
        /// The primary is rounded down to a multiple of this many bytes, but not to nothing.
        segment: NonZeroU32,
    },
    /// One connection, one exchange: the server sends the primary and all inlines as one response
    /// (GETWEB, the thesis' chapter 5).
    GetWeb,
}

impl Transfer {
    /// Whether each file has a connection of its own, which the server closes after its response.
    #[must_use]
    pub const fn closes_after_response(self) -> bool {
        match self {
            Self::Serial | Self::Parallel { .. } => true,
            Self::Persistent | Self::Pipelined | Self::SegmentFilled { .. } | Self::GetWeb => false,
        }
    }

    /// How many requests may be unanswered at once, when the inlines are known.
    const fn unanswered_at_once(self) -> u32 {
        match self {
            Self::Serial | Self::Persistent | Self::SegmentFilled { .. } | Self::GetWeb => 1,
            Self::Parallel { connections } => connections.get() as u32,
            Self::Pipelined => u32::MAX,
        }
    }
}

/// What the first request of a page travels on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FirstConnection {
    /// A new connection.
    New,
    /// One that an earlier page has left open: it is connection 0 and needs no opening.
    Kept,
}
