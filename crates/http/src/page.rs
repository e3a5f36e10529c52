//! How the files of a page travel: plans as data, and the state machine that carries one out.
//!
//! It has no sockets and no clock. A driver polls a [`PageFetch`] for the next [`Step`], pauses as the
//! step says, carries it out, and tells of responses and closes:
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
    /// A new connection for each file, one after the other (HTTP/1.0). With [`Connections::Kept`] the
    /// next file takes the connection of the last one.
    Serial,
    /// The primary on one connection; then each inline on a new connection of its own. With
    /// [`Connections::Kept`] an inline takes a connection that is free, as in today's browsers, and a
    /// new one only if none is.
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
    /// Whether each file has a connection of its own, unless connections are kept.
    const fn has_a_connection_for_each_file(self) -> bool {
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

/// Which connections a page may use beside those that it opens, and what becomes of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Connections {
    /// None. [`Transfer::Serial`] and [`Transfer::Parallel`] have each one closed after its response.
    OfThePage,
    /// Those that earlier pages have left open, and no request has a connection closed.
    Kept {
        /// How many are open: they are connections 0, 1 and so on, the one that was used last at the
        /// end, and need no opening.
        open: u32,
    },
}
