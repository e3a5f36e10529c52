//! The work of all simulators, and the targets for speed.

use std::fmt;

/// The same work for each simulator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    /// Many packets: 100 long flows each way over 100 Mb/s, 20 ms and 250 packets.
    Dumbbell,
    /// Many connections: 10,000 per second, each for a response of 12 KB, over 10 Gb/s.
    Connections,
}

impl Work {
    pub(super) const ALL: [Self; 2] = [Self::Dumbbell, Self::Connections];

    /// Its name in scripts and experiments.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Dumbbell => "dumbbell",
            Self::Connections => "connections",
        }
    }

    /// Description for the output.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Dumbbell => {
                "100 long flows each way through 100 Mb/s, 20 ms, 250 packets; 1 Gb/s access"
            }
            Self::Connections => "10,000 new connections a second of 12 KB through 10 Gb/s",
        }
    }

    /// Duration of the run in virtual time.
    pub(super) const fn seconds(self) -> Seconds {
        match self {
            Self::Dumbbell => Seconds(60),
            Self::Connections => Seconds(5),
        }
    }

    /// The unit of the speed.
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Dumbbell => "packet-hops",
            Self::Connections => "connections",
        }
    }

    /// Amount of work in `counts`.
    pub(super) const fn amount(self, counts: Counts) -> Option<u64> {
        match self {
            Self::Dumbbell => Some(counts.packet_hops),
            Self::Connections => counts.connections,
        }
    }

    /// Ackwise's target.
    pub(super) const fn target(self) -> Target {
        match self {
            Self::Dumbbell => Target { per_second: Some(6e6), times_ns2: 5.0 },
            Self::Connections => Target { per_second: None, times_ns2: 13.0 },
        }
    }
}

/// Whole seconds of virtual time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Seconds(pub(super) u32);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Counts {
    /// Packets, with or without data, that reached the end of a link.
    pub(super) packet_hops: u64,
    /// Connections whose response was received completely, if the work counts them.
    pub(super) connections: Option<u64>,
}

/// A target for Ackwise (our choice).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    /// Units of the work per second of user time.
    pub(super) per_second: Option<f64>,
    /// Speed relative to ns-2.
    pub(super) times_ns2: f64,
}
