//! What makes a run doubtful, and what to do about it.

use std::{fmt, time::Duration};

use super::{Lateness, Report, Scheduling};

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

    pub(super) fn of(report: &Report) -> Vec<Self> {
        let Report { to_server, to_client, lateness: Lateness { p99, .. }, scheduling, .. } =
            report;
        let packets = to_server.dropped_by_accident() + to_client.dropped_by_accident();
        let dropped = (packets > 0).then_some(Self::DroppedByAccident { packets });
        let late =
            (*p99 > Self::LATE).then(|| Self::Late { p99: *p99, scheduling: scheduling.clone() });
        dropped.into_iter().chain(late).collect()
    }
}

/// One sentence, with what to do.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DroppedByAccident { packets } => write!(
                f,
                "the emulator dropped {packets} packets that the link would have delivered: send slower, \
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::WayReport;

    #[test]
    fn accidents_and_lateness_are_doubtful_and_losses_on_purpose_are_not() {
        let mut report = Report {
            to_server: WayReport::default(),
            to_client: WayReport::default(),
            lateness: Lateness { p99: Doubt::LATE, ..Lateness::default() },
            scheduling: Scheduling::RoundRobin,
            ran: Duration::ZERO,
        };
        report.to_server.link.dropped_loss = 1;
        assert_eq!(Doubt::of(&report), []);
        report.to_client.unread = 2;
        report.to_server.refused = 1;
        assert_eq!(Doubt::of(&report), [Doubt::DroppedByAccident { packets: 3 }]);
        report.lateness.p99 = Duration::from_micros(1_001);
        assert!(matches!(Doubt::of(&report)[..], [_, Doubt::Late { .. }]));
        assert!(
            report.to_string().contains("doubtful: the emulator dropped 3 packets"),
            "{report}"
        );
    }
}
