//! The causes and their names.

use core::{fmt, str::FromStr};

/// Why an exchange makes no progress at some moment.
///
/// Not `non_exhaustive`, so that a new cause breaks the build wherever causes are distinguished.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Cause {
    /// TCP connection setup.
    Handshake,
    /// TLS handshake.
    TlsHandshake,
    /// The link is busy with the request.
    RequestUpload,
    /// The request has arrived, and nothing of the response is written.
    ServerThink,
    /// All data to be sent is in flight, and no link is busy with it.
    Propagation,
    /// The path delivers nothing for more than two round trips, although something is in transit.
    PathStall,
    /// A link is busy with the response, or with what the same connection sent before it.
    Transmission,
    /// A link is busy with packets of other connections, and the message waits behind them.
    Queueing,
    /// The congestion window is full until a delayed acknowledgement opens it.
    ShortInitialSegment,
    /// A small segment is held until a delayed acknowledgement releases it.
    NagleDelayedAck,
    /// A small segment is held for an acknowledgement that is not delayed.
    NagleRtt,
    /// A small segment is held until a timer releases it; no acknowledgement is awaited.
    CorkTimer,
    /// The window allows only a small segment (silly window syndrome).
    SillyWindow,
    /// The congestion window is full, in slow start.
    SlowStart,
    /// The congestion window is full, after slow start.
    CongestionWindow,
    /// The congestion window is full, because it was cut after an idle period.
    IdleRestart,
    /// The sender spreads its segments over time.
    Pacing,
    /// Lost segments are being repaired.
    LossRecovery,
    /// Only the retransmission timer can repair the loss.
    RetransmissionTimeout,
    /// The receiver's window is closed.
    ReceiveWindow,
    /// The sender's application has more to write, and the send buffer is full.
    SendBuffer,
    /// The sender's application has more to write, and HTTP/2 flow control blocks it.
    H2FlowControl,
    /// The response waits behind an earlier one on its connection.
    HeadOfLine,
    /// The sender's application has not written, or the receiver's has not read.
    ApplicationLimited,
    /// The observations do not determine the cause.
    Unknown,
}

impl Cause {
    /// Every cause, in the order of an exchange.
    pub const ALL: [Self; 25] = [
        Self::Handshake,
        Self::TlsHandshake,
        Self::RequestUpload,
        Self::ServerThink,
        Self::Propagation,
        Self::PathStall,
        Self::Transmission,
        Self::Queueing,
        Self::ShortInitialSegment,
        Self::NagleDelayedAck,
        Self::NagleRtt,
        Self::CorkTimer,
        Self::SillyWindow,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::IdleRestart,
        Self::Pacing,
        Self::LossRecovery,
        Self::RetransmissionTimeout,
        Self::ReceiveWindow,
        Self::SendBuffer,
        Self::H2FlowControl,
        Self::HeadOfLine,
        Self::ApplicationLimited,
        Self::Unknown,
    ];

    /// The name in reports, JSON and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::TlsHandshake => "tls-handshake",
            Self::RequestUpload => "request-upload",
            Self::ServerThink => "server-think",
            Self::Propagation => "propagation",
            Self::PathStall => "path-stall",
            Self::Transmission => "transmission",
            Self::Queueing => "queueing",
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
            Self::Unknown => "unknown",
        }
    }
}

/// Formats the [`name`](Cause::name).
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses a [`name`](Cause::name).
impl FromStr for Cause {
    type Err = UnknownCause;

    fn from_str(name: &str) -> Result<Self, UnknownCause> {
        Self::ALL.into_iter().find(|cause| cause.name() == name).ok_or(UnknownCause)
    }
}

/// Not the name of a cause. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not the name of a cause")]
pub struct UnknownCause;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_cause_is_in_the_list_once_and_read_back_by_its_name() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place, "{cause} stands at another place in the list");
            assert_eq!(cause.to_string().parse(), Ok(cause));
        }
        assert_eq!("Handshake".parse::<Cause>(), Err(UnknownCause));
    }
}
