//! The questions that `check` asks of a server, and their names.

use core::{fmt, str::FromStr};

use crate::Cause;

/// A question about a live server, and the name of its answer: a finding.
///
/// Five of them ask for a [`Cause`], and have its name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FindingId {
    /// Does the response head leave in a segment of its own?
    SplitHead,
    /// Does the response wait for our delayed ACK at its start?
    ShortInitialSegment,
    /// Is a small last segment held until our ACK?
    NagleDelayedAck,
    /// Is it held until a timer fires, whatever we do?
    CorkTimer,
    /// Segments sent before the first ACK.
    InitialWindow,
    /// The window before and after an idle pause.
    IdleRestart,
    /// What bounds the flight.
    SendBuffer,
    /// Is the connection kept, how long, for how many requests?
    KeepAlive,
    /// Two requests in one segment.
    Pipelining,
    /// Who closes first, and what an RST does.
    Close,
    /// A request that comes in two segments.
    RequestSegments,
}

impl FindingId {
    /// All of them, in the order of the report card.
    pub const ALL: [Self; 11] = [
        Self::SplitHead,
        Self::ShortInitialSegment,
        Self::NagleDelayedAck,
        Self::CorkTimer,
        Self::InitialWindow,
        Self::IdleRestart,
        Self::SendBuffer,
        Self::KeepAlive,
        Self::Pipelining,
        Self::Close,
        Self::RequestSegments,
    ];

    /// The cause of lost time that this asks for; `None` for facts that cost nothing by themselves.
    #[must_use]
    pub const fn cause(self) -> Option<Cause> {
        match self {
            Self::ShortInitialSegment => Some(Cause::ShortInitialSegment),
            Self::NagleDelayedAck => Some(Cause::NagleDelayedAck),
            Self::CorkTimer => Some(Cause::CorkTimer),
            Self::IdleRestart => Some(Cause::IdleRestart),
            Self::SendBuffer => Some(Cause::SendBuffer),
            Self::SplitHead
            | Self::InitialWindow
            | Self::KeepAlive
            | Self::Pipelining
            | Self::Close
            | Self::RequestSegments => None,
        }
    }

    /// The name on the command line, in reports and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        if let Some(cause) = self.cause() {
            return cause.name();
        }
        match self {
            Self::SplitHead => "split-head",
            Self::InitialWindow => "initial-window",
            Self::KeepAlive => "keep-alive",
            Self::Pipelining => "pipelining",
            Self::Close => "close",
            Self::RequestSegments => "request-segments",
            Self::ShortInitialSegment
            | Self::NagleDelayedAck
            | Self::CorkTimer
            | Self::IdleRestart
            | Self::SendBuffer => panic!("it has the name of its cause"),
        }
    }
}

/// Its [`name`](FindingId::name).
impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// From its [`name`](FindingId::name).
impl FromStr for FindingId {
    type Err = UnknownFinding;

    fn from_str(name: &str) -> Result<Self, UnknownFinding> {
        Self::ALL.into_iter().find(|id| id.name() == name).ok_or(UnknownFinding)
    }
}

/// Its [`name`](FindingId::name).
impl serde::Serialize for FindingId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Not the name of a finding. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnknownFinding;

/// Names those that there are.
impl fmt::Display for UnknownFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown check (expected one of ")?;
        for (place, id) in FindingId::ALL.into_iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{id}")?;
        }
        f.write_str(")")
    }
}

impl core::error::Error for UnknownFinding {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn every_finding_is_in_the_list_once_and_read_back_by_its_name() {
        for (place, id) in FindingId::ALL.into_iter().enumerate() {
            assert_eq!(id as usize, place, "{id} stands at another place in the list");
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!("Nagle".parse::<FindingId>(), Err(UnknownFinding));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names_that_exist() {
        assert_eq!(
            UnknownFinding.to_string(),
            "unknown check (expected one of split-head, short-initial-segment, \
             nagle-delayed-ack, cork-timer, initial-window, idle-restart, send-buffer, keep-alive, \
             pipelining, close, request-segments)"
        );
    }
}
