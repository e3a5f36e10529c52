//! The steps of a plan.

use core::ops::Range;

use crate::ConnectionOption;

/// A step that is possible now. Connections are numbered from 0 within the page; numbers are not
/// reused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Open a connection. Its request is the next step and need not wait for the connection setup.
    Open {
        /// The connection's number.
        connection: u32,
        /// The pause before this step.
        pause: Pause,
    },
    /// Send a request.
    Request {
        /// The connection's number.
        connection: u32,
        /// The files in its response, except cached ones; 0 is the primary.
        files: Range<u32>,
        /// Length of the response body in bytes.
        response: u64,
        /// The connection option of the request: with `Close` the server closes the connection
        /// after the response, with `KeepAlive` it stays open, even after the page is complete.
        option: ConnectionOption,
        /// The pause before this step.
        pause: Pause,
    },
}

/// What a driver may insert before a step: think time, or the client's processing time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// Nothing: the step follows the previous one directly.
    None,
    /// The page begins.
    Document,
    /// A response is complete and the next file is requested.
    File,
    /// Another connection is opened right after a request on a new one.
    OpenGap,
}
