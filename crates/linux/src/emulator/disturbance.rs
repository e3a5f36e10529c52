//! What makes a run doubtful, and what to do about it.

use std::{fmt, time::Duration};

use super::Scheduling;

/// Why what was measured over a link may not be what the link was to be like.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Disturbance {
    /// Packets were dropped that the model would have delivered.
    DroppedByAccident {
        /// How many, in both directions.
        packets: u64,
    },
    /// One packet of a hundred was later than [`Disturbance::LATE`].
    Late {
        /// How late 99 % of them were at most.
        p99: Duration,
        /// How the thread was scheduled.
        scheduling: Scheduling,
    },
    /// A processor was away for longer than [`Disturbance::PAUSE`]: programs may have paused.
    Paused {
        /// For how long.
        longest: Duration,
    },
}

impl Disturbance {
    /// What counts as late. Ours: a fortieth of the shortest delayed-ACK timer of Linux, 40 ms, so it
    /// cannot make one cause of waiting look like another.
    pub const LATE: Duration = Duration::from_millis(1);

    /// What counts as a pause. Our choice: a tenth of the same 40 ms.
    pub const PAUSE: Duration = Duration::from_millis(4);

    /// The disturbance that a pause of this length is, if it is long enough.
    #[must_use]
    pub fn of_pause(longest: Duration) -> Option<Self> {
        (longest > Self::PAUSE).then_some(Self::Paused { longest })
    }
}

/// One sentence, with what to do.
impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DroppedByAccident { packets } => write!(
                f,
                "the emulator dropped {packets} packets that the link would have delivered: send \
                 slower, \
                 or set a rate for the link"
            ),
            Self::Late { p99, scheduling: Scheduling::RoundRobin } => write!(
                f,
                "1 % of the packets were more than {p99:.1?} late: measure on a less loaded machine"
            ),
            Self::Late { p99, scheduling: Scheduling::Normal { .. } } => write!(
                f,
                "1 % of the packets were more than {p99:.1?} late: allow SCHED_RR, or measure on a \
                 less loaded machine"
            ),
            Self::Paused { longest } => write!(
                f,
                "a processor ran nothing of ours for {longest:.1?}: measure on a machine that nobody \
                 else uses"
            ),
        }
    }
}
