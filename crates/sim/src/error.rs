//! Why a scenario was not run to its end.

use std::time::Duration;

use thiserror::Error;

/// Why a scenario was not run to its end.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario makes no sense.
    #[error("{what}: {problem}")]
    Scenario {
        /// Which part of it.
        what: String,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// No links lead from one host to the other and back.
    #[error("no links lead from the client of \"{application}\" to its server and back")]
    NoWay {
        /// The application's name.
        application: String,
    },
    /// The run does not get anywhere.
    #[error("more than {limit} events in {since_start:?} of virtual time")]
    TooManyEvents {
        /// [`Scenario::max_events`](crate::Scenario::max_events).
        limit: u64,
        /// How far it came.
        since_start: Duration,
    },
    /// Virtual time does not pass.
    #[error(
        "virtual time stands still after {since_start:?}: more than {limit} steps at one moment \
         (expected something that takes time: a link's rate or delay, or a pause)"
    )]
    TimeStandsStill {
        /// Most steps allowed at one moment, given the number of users.
        limit: u64,
        /// When.
        since_start: Duration,
    },
    /// More connections than the scenario allows.
    #[error("more than {limit} connections at once after {since_start:?} of virtual time")]
    TooManyConnections {
        /// [`Scenario::max_connections`](crate::Scenario::max_connections).
        limit: u32,
        /// When.
        since_start: Duration,
    },
    /// The observer ended it.
    #[error("stopped")]
    Stopped,
}
