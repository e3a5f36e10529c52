//! The causes that a kernel run can prove.

use ackwise_cause::Cause;

/// A cause by its name, so that the truth does not depend on how `explain` and the simulator come to
/// theirs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Reason {
    Handshake,
    TlsHandshake,
    RequestUpload,
    ServerThink,
    Propagation,
    Transmission,
    Queueing,
    PathStall,
    ShortInitialSegment,
    NagleDelayedAck,
    NagleRtt,
    CorkTimer,
    SillyWindow,
    SlowStart,
    CongestionWindow,
    IdleRestart,
    Pacing,
    LossRecovery,
    RetransmissionTimeout,
    ReceiveWindow,
    SendBuffer,
    H2FlowControl,
    HeadOfLine,
    ApplicationLimited,
}

impl Reason {
    /// `None` if `explain` has no such cause: time with that reason alone is not judged.
    pub(super) fn cause(self) -> Option<Cause> {
        self.name().parse().ok()
    }

    /// Whether only an acknowledgement ends the wait.
    pub(super) const fn ends_with_an_ack(self) -> bool {
        matches!(
            self,
            Self::ShortInitialSegment
                | Self::NagleDelayedAck
                | Self::NagleRtt
                | Self::SlowStart
                | Self::CongestionWindow
                | Self::IdleRestart
                | Self::ReceiveWindow
                | Self::SendBuffer
                | Self::H2FlowControl
        )
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::TlsHandshake => "tls-handshake",
            Self::RequestUpload => "request-upload",
            Self::ServerThink => "server-think",
            Self::Propagation => "propagation",
            Self::Transmission => "transmission",
            Self::Queueing => "queueing",
            Self::PathStall => "path-stall",
            Self::ShortInitialSegment => "short-initial-segment",
            Self::NagleDelayedAck => "nagle-delayed-ack",
            Self::NagleRtt => "nagle-rtt",
            Self::CorkTimer => "cork-timer",
            Self::SillyWindow => "silly-window",
            Self::SlowStart => "slow-start",
            Self::CongestionWindow => "congestion-window",
            Self::IdleRestart => "idle-restart",
            Self::Pacing => "pacing",
            Self::LossRecovery => "loss-recovery",
            Self::RetransmissionTimeout => "retransmission-timeout",
            Self::ReceiveWindow => "receive-window",
            Self::SendBuffer => "send-buffer",
            Self::H2FlowControl => "h2-flow-control",
            Self::HeadOfLine => "head-of-line",
            Self::ApplicationLimited => "application-limited",
        }
    }
}
