//! Conditions that make a run unreliable, with advice.

use std::{fmt, time::Duration};

use super::Scheduling;

/// Why a measurement over a link may not match the configured link.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Disturbance {
    /// Packets were dropped that the model would have delivered.
    DroppedByAccident {
        /// Number of packets in both directions.
        packets: u64,
    },
    /// One percent of the packets were later than [`Disturbance::LATE`].
    Late {
        /// The 99th percentile of the lateness.
        p99: Duration,
        /// The thread's scheduling.
        scheduling: Scheduling,
    },
    /// A processor did not run its thread for longer than [`Disturbance::PAUSE`]: programs may have
    /// paused.
    Paused {
        /// The longest pause.
        longest: Duration,
    },
}

impl Disturbance {
    /// Lateness threshold (our choice): a fortieth of Linux's shortest delayed-ACK timer, 40 ms, so
    /// that causes cannot be confused.
    pub const LATE: Duration = Duration::from_millis(1);

    /// Pause threshold (our choice): an eighth of the same 40 ms. On an idle virtual machine, pauses of 2
    /// to 4 ms were common.
    pub const PAUSE: Duration = Duration::from_millis(5);

    /// The disturbance of a pause of length `longest`, if above the threshold.
    #[must_use]
    pub fn of_pause(longest: Duration) -> Option<Self> {
        (longest > Self::PAUSE).then_some(Self::Paused { longest })
    }
}

/// One sentence with advice.
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
