//! What makes a run doubtful, and what to do about it.

use std::{fmt, time::Duration};

use super::Scheduling;

/// Why what was measured over a link may not be what the link was to be like.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
    /// Packets were dropped that the model would have delivered.
    DroppedByAccident {
        /// How many, in both directions.
        packets: u64,
    },
    /// One packet of a hundred was later than [`Doubt::LATE`].
    Late {
        /// How late 99 % of them were at most.
        p99: Duration,
        /// How the thread was scheduled.
        scheduling: Scheduling,
    },
}

impl Doubt {
    /// What counts as late. Ours: a fortieth of the shortest delayed-ACK timer of Linux, 40 ms, so it
    /// cannot make one cause of waiting look like another.
    pub const LATE: Duration = Duration::from_millis(1);
}

/// One sentence, with what to do.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DroppedByAccident { packets } => write!(
                f,
                "{packets} packets were dropped that the link would have delivered: send slower, or \
                 give the link a rate"
            ),
            Self::Late { p99, scheduling: Scheduling::RoundRobin } => write!(
                f,
                "one packet of 100 was more than {p99:.1?} late: measure on a machine with less to do"
            ),
            Self::Late { p99, scheduling: Scheduling::Normal { .. } } => write!(
                f,
                "one packet of 100 was more than {p99:.1?} late: allow SCHED_RR, or measure on a \
                 machine with less to do"
            ),
        }
    }
}
