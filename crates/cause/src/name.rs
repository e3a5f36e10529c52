//! The causes and their names.

use core::{fmt, str::FromStr};

/// Why an exchange does not go on at some moment.
///
/// A new cause is meant to stop the build where causes are told apart, so this is not
/// `non_exhaustive`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Cause {
    /// TCP's connection set-up.
    Handshake,
    /// TLS's.
    TlsHandshake,
    /// The link is busy with the request.
    RequestUpload,
    /// The request has arrived, and nothing of the response is written.
    ServerThink,
    /// All that is to be sent is on its way, and no link is busy with it.
    Propagation,
    /// A link is busy with the response, or it waits for its turn there.
    Transmission,
    /// The congestion window is closed until a delayed acknowledgement opens it.
    ShortInitialSegment,
    /// A small segment is held until a delayed acknowledgement releases it.
    NagleDelayedAck,
    /// A small segment is held for an acknowledgement that nobody delays.
    NagleRtt,
    /// A small segment is held until a timer releases it; no acknowledgement is awaited.
    CorkTimer,
    /// The window allows no more than a silly little segment.
    SillyWindow,
    /// The congestion window is closed, in slow start.
    SlowStart,
    /// The congestion window is closed, past slow start.
    CongestionWindow,
    /// The congestion window is closed, because it was cut after an idle time.
    IdleRestart,
    /// The sender spreads its segments over time.
    Pacing,
    /// Lost segments are being repaired.
    LossRecovery,
    /// Nothing but the retransmission timer can repair the loss.
    RetransmissionTimeout,
    /// The receiver's window is closed.
    ReceiveWindow,
    /// The sender's program has more to write, and no room for it in the send buffer.
    SendBuffer,
    /// The sender's program has more to write, and HTTP/2's flow control forbids it.
    H2FlowControl,
    /// The response waits behind an earlier one on its connection.
    HeadOfLine,
    /// The sender's program has not written on, or the receiver's has not read.
    ApplicationLimited,
    /// What was seen does not tell.
    Unknown,
}

impl Cause {
    /// Every cause, in the order of an exchange's life.
    pub const ALL: [Self; 23] = [
        Self::Handshake,
        Self::TlsHandshake,
        Self::RequestUpload,
        Self::ServerThink,
        Self::Propagation,
        Self::Transmission,
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

    /// In a word: for reports, JSON and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::TlsHandshake => "tls-handshake",
            Self::RequestUpload => "request-upload",
            Self::ServerThink => "server-think",
            Self::Propagation => "propagation",
            Self::Transmission => "transmission",
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

/// Its [`name`](Cause::name).
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// From its [`name`](Cause::name).
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
