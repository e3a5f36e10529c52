//! The vocabulary of [`crate::wait`] and of events in words, the same in traces, scripts and reports.

use crate::{
    endpoint::{DropReason, Event, RecoveryPhase},
    policy::AckReason,
    segment::TimeWaitHolder,
    wait::{AckWait, TimeWaitReason, Timer, Wait},
};

impl Wait {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Handshake => "handshake",
            Self::SlowStart => "slow-start",
            Self::CongestionWindow => "congestion-window",
            Self::ReceiveWindow { probing: false } => "receive-window",
            Self::ReceiveWindow { probing: true } => "zero-window",
            Self::Nagle => "nagle",
            Self::Minshall => "minshall",
            Self::Cork => "cork",
            Self::SillyWindow => "silly-window",
            Self::Pacing => "pacing",
            Self::Recovery => "recovery",
            Self::RetransmissionTimeout => "retransmission-timeout",
            Self::Closed => "closed",
        }
    }
}

impl AckWait {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delayed { .. } => "delayed",
            Self::HostTick { .. } => "host-tick",
            Self::Interarrival { .. } => "interarrival",
            Self::Withheld { .. } => "withheld",
        }
    }
}

impl AckReason {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EverySegment => "every-segment",
            Self::SegmentCount => "segment-count",
            Self::QuickAck => "quick-ack",
            Self::OutOfOrder => "out-of-order",
            Self::Delayed => "delayed",
            Self::Read => "read",
            Self::Handshake => "handshake",
            Self::Fin => "fin",
            Self::WindowFull => "window-full",
            Self::Unacceptable => "unacceptable",
            Self::Challenge => "challenge",
            Self::Requested => "requested",
        }
    }
}

impl DropReason {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoConnection => "no-connection",
            Self::NotASyn => "not-a-syn",
            Self::UnacceptableAck => "unacceptable-ack",
            Self::UnacceptableReset => "unacceptable-reset",
            Self::UnexpectedSyn => "unexpected-syn",
            Self::RepeatedSyn => "repeated-syn",
            Self::OutsideWindow => "outside-window",
            Self::OldTimestamp => "old-timestamp",
            Self::NoTimestamp => "no-timestamp",
            Self::NoAck => "no-ack",
            Self::BehindFin => "behind-fin",
            Self::TooManyGaps => "too-many-gaps",
            Self::BacklogFull => "backlog-full",
        }
    }
}

impl TimeWaitReason {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClosedFirst => "closed-first",
            Self::BothClosed => "both-closed",
            Self::Swapped => "swapped",
            Self::Agreed => "agreed",
        }
    }
}

impl Timer {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retransmission => "retransmission",
            Self::Persist => "persist",
            Self::SillyWindowOverride => "silly-window-override",
            Self::DelayedAck => "delayed-ack",
            Self::Cork => "cork",
            Self::Pacing => "pacing",
            Self::Reordering => "reordering",
            Self::TailLossProbe => "tail-loss-probe",
            Self::TimeWait => "time-wait",
            Self::UserTimeout => "user-timeout",
        }
    }
}

impl TimeWaitHolder {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mine => "mine",
            Self::Yours => "yours",
        }
    }
}

impl RecoveryPhase {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

impl Event {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Readable => "readable",
            Self::Writable => "writable",
            Self::PeerClosed => "peer-closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::TimedOut(_) => "timed-out",
            Self::UrgentIgnored => "urgent-ignored",
            Self::Congestion => "congestion",
        }
    }
}
