//! What the caller is told during a run.

use super::Sample;

/// What a run is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// A change to the host, about to be made.
    ChangingHost(String),
    /// Some time has gone by.
    Loading {
        /// Connections started.
        connections: u64,
        /// Requests answered.
        answered: u64,
        /// Requests that failed.
        failed: u64,
        /// Both ends, as far as they are known.
        held: Sample,
    },
}
