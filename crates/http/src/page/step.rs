//! What a plan wants done.

use core::ops::Range;

use crate::ConnectionOption;

/// What may be done now. Connections are counted from 0 within the page, and never used again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Open a connection. The request that is for it comes next: no need to wait until it is open.
    Open {
        /// Which one.
        connection: u32,
        /// What comes before.
        pause: Pause,
    },
    /// Send a request.
    Request {
        /// On which connection.
        connection: u32,
        /// The files that its response carries, cached ones excepted; 0 is the primary.
        files: Range<u32>,
        /// Bytes of the response's body.
        response: u64,
        /// What the request says about the connection: with `Close` the server closes it after the
        /// response, with `KeepAlive` it stays open, also when the page is complete.
        option: ConnectionOption,
        /// What comes before.
        pause: Pause,
    },
}

/// What a driver may put before a step: think time, or the client's own pace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// Nothing: the step belongs to the one before.
    None,
    /// The page begins.
    Document,
    /// A response has just been completed, and a further file is turned to.
    File,
    /// Another connection is opened right after a request on a new one.
    OpenGap,
}
