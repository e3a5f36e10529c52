//! How the files of a page are transferred: plans as data, and the state machine that executes a
//! plan.
//!
//! It has no sockets and no clock. A driver polls a [`PageFetch`] for the next [`Step`], applies
//! its pause, executes it, and passes in responses and closes:
//!
//! ```
//! use ackwise_http::page::{Connections, Page, PageFetch, Pause, Step, Transfer};
//!
//! let page = Page { primary: 6651, inlines: vec![3883, 1866] };
//! let mut fetch = PageFetch::new(Transfer::Persistent, &page, Connections::OfThePage, |_| false);
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

/// A page: one primary document and its inline files. All lengths are in bytes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Page {
    /// The primary document: file 0.
    pub primary: u64,
    /// The inline files in the primary's order: files 1, 2 and so on.
    pub inlines: Vec<u64>,
}

/// What a client's cache has of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LocalCopy {
    /// Nothing: the file is requested.
    None,
    /// A copy that is used without asking the server.
    Fresh,
    /// A copy that the server is asked about, and that has not changed: the request is conditional, and the
    /// response is a 304 (Not Modified), which has no body (RFC 9110, section 15.4.5).
    Validated,
}

/// A file is cached and used without asking, or is not cached.
impl From<bool> for LocalCopy {
    fn from(cached: bool) -> Self {
        if cached { Self::Fresh } else { Self::None }
    }
}

/// How the files of a page are transferred.
///
/// Every plan requests the primary first and knows the inlines when its response is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transfer {
    /// A new connection for each file, one after the other (HTTP/1.0). With [`Connections::Kept`]
    /// the next file reuses the previous connection.
    Serial,
    /// The primary on one connection, then each inline on its own new connection. With
    /// [`Connections::Kept`] an inline uses a free connection, as in current browsers, and a new
    /// one only if none is free.
    Parallel {
        /// Number of concurrent inline transfers.
        connections: NonZeroU16,
    },
    /// One connection; each request follows the complete previous response.
    ///
    /// The thesis calls this "pipelined", but the gaps in its Table 4.5 are round trips.
    Persistent,
    /// One connection; all inlines are requested at once (RFC 9112, section 9.3.2).
    Pipelined,
    /// One connection, two exchanges: the primary, then all inlines as one response.
    ///
    /// As in the thesis' Table 4.7, the primary is a whole number of segments; the other lengths
    /// are not.
    SegmentFilled {
        /// The primary is rounded down to a multiple of this many bytes, at least one.
        segment: NonZeroU32,
    },
    /// One connection, one exchange: the server sends the primary and all inlines as one response
    /// (GETWEB, the thesis' chapter 5).
    GetWeb,
}

impl Transfer {
    /// Whether each file has its own connection, unless connections are kept.
    const fn has_a_connection_for_each_file(self) -> bool {
        match self {
            Self::Serial | Self::Parallel { .. } => true,
            Self::Persistent | Self::Pipelined | Self::SegmentFilled { .. } | Self::GetWeb => false,
        }
    }

    /// How many requests may be outstanding once the inlines are known.
    const fn unanswered_at_once(self) -> u32 {
        match self {
            Self::Serial | Self::Persistent | Self::SegmentFilled { .. } | Self::GetWeb => 1,
            Self::Parallel { connections } => connections.get() as u32,
            Self::Pipelined => u32::MAX,
        }
    }
}

/// Which existing connections a page may use, and whether connections are closed after use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Connections {
    /// None. [`Transfer::Serial`] and [`Transfer::Parallel`] request a close after each response.
    OfThePage,
    /// Those left open by earlier pages. No request asks for a close.
    Kept {
        /// Number of open connections. They are numbered from 0, the most recently used last, and
        /// need no setup.
        open: u32,
    },
}
