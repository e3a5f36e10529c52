//! Progress reported to the caller during a run.

use super::Sample;

/// The state of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// The host is about to be changed.
    ChangingHost(String),
    /// Everything that needs privileges is open. Not reported if the server's process was named: to look
    /// into its namespace needs them until the end.
    Ready,
    /// A periodic update.
    Loading {
        /// Connections started.
        connections: u64,
        /// Requests answered.
        answered: u64,
        /// Requests that failed.
        failed: u64,
        /// TIME-WAIT at both ends, as far as known.
        held: Sample,
    },
    /// A periodic update of a run that loads whole pages.
    LoadingPages {
        /// Pages loaded.
        loaded: u64,
        /// Pages that failed.
        failed: u64,
    },
}
