//! The checks that `check` runs against a server or a client, and their names.

use core::{fmt, str::FromStr};

use crate::Cause;

/// What a check grades.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Role {
    /// A server, which `check URL` asks.
    #[default]
    Server,
    /// A client, which `check --listen` answers.
    Client,
    /// A server's stream of events, which `check --stream` reads.
    Stream,
}

impl Role {
    /// The name in reports and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Stream => "stream",
        }
    }
}

/// Serializes the [`name`](Role::name).
impl serde::Serialize for Role {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A check of a live server or client; its result, a finding, has the same name.
///
/// Seven of them check for a [`Cause`], and share its name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FindingId {
    /// Whether the response head is sent in a separate segment.
    SplitHead,
    /// Whether the start of the response waits for the client's delayed ACK.
    ShortInitialSegment,
    /// Whether a small last segment is held until the client's ACK.
    NagleDelayedAck,
    /// Whether it is held until a timer fires, whatever the client does.
    CorkTimer,
    /// How long the server takes to begin its responses.
    FirstByte,
    /// Whether the server pauses in the middle of its responses, whatever the client does.
    ResponsePause,
    /// Segments sent before the first ACK.
    InitialWindow,
    /// The window before and after an idle period.
    IdleRestart,
    /// What limits the data in flight.
    SendBuffer,
    /// Whether the connection is kept, how long, and for how many requests.
    KeepAlive,
    /// Two requests in one segment.
    Pipelining,
    /// Which end closes first, and the effect of an RST.
    Close,
    /// A request that arrives in two segments.
    RequestSegments,
    /// Whether connections fitted into the server's accept queue.
    AcceptQueueFull,
    /// A response before the end of a request, and what becomes of the connection.
    EarlyResponse,
    /// How much a client may send before HTTP/2's windows make it wait.
    H2FlowControl,
    /// How many streams HTTP/2 may have open, and whether PING is answered.
    H2Streams,
    /// Whether the end of a client's request waits for the server's delayed ACK.
    RequestNagle,
    /// How long a client that sends `Expect: 100-continue` waits for the 100.
    ExpectContinue,
    /// Whether a client reuses its connection.
    ConnectionReuse,
    /// What a client does about a request that meets the server's close.
    CloseRace,
    /// Which end closes first, if it is left to the client.
    FirstClose,
    /// Whether a client notices the response to an upload before its end.
    RefusedUpload,
    /// How long a client waits for an IPv6 address that does not answer.
    HappyEyeballs,
    /// How much of a response a client lets be under way.
    WindowUpdates,
    /// How long a stream takes to begin.
    StreamFirstEvent,
    /// How the events of a stream follow each other.
    StreamGaps,
    /// Whether something holds events back.
    StreamHeld,
    /// Whether events come later if the stream is compressed.
    StreamGzip,
}

impl FindingId {
    /// All findings, in the order of the report card.
    pub const ALL: [Self; 29] = [
        Self::SplitHead,
        Self::ShortInitialSegment,
        Self::NagleDelayedAck,
        Self::CorkTimer,
        Self::FirstByte,
        Self::ResponsePause,
        Self::InitialWindow,
        Self::IdleRestart,
        Self::SendBuffer,
        Self::KeepAlive,
        Self::Pipelining,
        Self::Close,
        Self::RequestSegments,
        Self::AcceptQueueFull,
        Self::EarlyResponse,
        Self::H2FlowControl,
        Self::H2Streams,
        Self::RequestNagle,
        Self::ExpectContinue,
        Self::ConnectionReuse,
        Self::CloseRace,
        Self::FirstClose,
        Self::RefusedUpload,
        Self::HappyEyeballs,
        Self::WindowUpdates,
        Self::StreamFirstEvent,
        Self::StreamGaps,
        Self::StreamHeld,
        Self::StreamGzip,
    ];

    /// What it grades.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::RequestNagle
            | Self::ExpectContinue
            | Self::ConnectionReuse
            | Self::CloseRace
            | Self::FirstClose
            | Self::RefusedUpload
            | Self::HappyEyeballs
            | Self::WindowUpdates => Role::Client,
            Self::StreamFirstEvent | Self::StreamGaps | Self::StreamHeld | Self::StreamGzip => {
                Role::Stream
            }
            _ => Role::Server,
        }
    }

    /// Those that grade the same, in the order of the report card.
    pub fn of(role: Role) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |id| id.role() == role)
    }

    /// The cause of lost time that this checks for; `None` for facts without a direct cost.
    #[must_use]
    pub const fn cause(self) -> Option<Cause> {
        match self {
            Self::ShortInitialSegment => Some(Cause::ShortInitialSegment),
            Self::NagleDelayedAck => Some(Cause::NagleDelayedAck),
            Self::CorkTimer => Some(Cause::CorkTimer),
            Self::IdleRestart => Some(Cause::IdleRestart),
            Self::SendBuffer => Some(Cause::SendBuffer),
            Self::AcceptQueueFull => Some(Cause::AcceptQueueFull),
            Self::H2FlowControl => Some(Cause::H2FlowControl),
            Self::SplitHead
            | Self::FirstByte
            | Self::ResponsePause
            | Self::InitialWindow
            | Self::KeepAlive
            | Self::Pipelining
            | Self::Close
            | Self::RequestSegments
            | Self::EarlyResponse
            | Self::H2Streams
            | Self::RequestNagle
            | Self::ExpectContinue
            | Self::ConnectionReuse
            | Self::CloseRace
            | Self::FirstClose
            | Self::RefusedUpload
            | Self::HappyEyeballs
            | Self::WindowUpdates
            | Self::StreamFirstEvent
            | Self::StreamGaps
            | Self::StreamHeld
            | Self::StreamGzip => None,
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
            Self::FirstByte => "first-byte",
            Self::ResponsePause => "response-pause",
            Self::InitialWindow => "initial-window",
            Self::KeepAlive => "keep-alive",
            Self::Pipelining => "pipelining",
            Self::Close => "close",
            Self::RequestSegments => "request-segments",
            Self::EarlyResponse => "early-response",
            Self::H2Streams => "h2-streams",
            Self::RequestNagle => "request-nagle",
            Self::ExpectContinue => "expect-continue",
            Self::ConnectionReuse => "connection-reuse",
            Self::CloseRace => "close-race",
            Self::FirstClose => "first-close",
            Self::RefusedUpload => "refused-upload",
            Self::HappyEyeballs => "happy-eyeballs",
            Self::WindowUpdates => "window-updates",
            Self::StreamFirstEvent => "stream-first-event",
            Self::StreamGaps => "stream-gaps",
            Self::StreamHeld => "stream-held",
            Self::StreamGzip => "stream-gzip",
            Self::ShortInitialSegment
            | Self::NagleDelayedAck
            | Self::CorkTimer
            | Self::IdleRestart
            | Self::SendBuffer
            | Self::AcceptQueueFull
            | Self::H2FlowControl => panic!("it has the name of its cause"),
        }
    }
}

/// Formats the [`name`](FindingId::name).
impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses a [`name`](FindingId::name).
impl FromStr for FindingId {
    type Err = UnknownFinding;

    fn from_str(name: &str) -> Result<Self, UnknownFinding> {
        Self::ALL.into_iter().find(|id| id.name() == name).ok_or(UnknownFinding)
    }
}

/// Serializes the [`name`](FindingId::name).
impl serde::Serialize for FindingId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Not the name of a finding. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnknownFinding;

/// Lists the valid names.
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
             nagle-delayed-ack, cork-timer, first-byte, response-pause, initial-window, \
             idle-restart, send-buffer, keep-alive, pipelining, close, request-segments, \
             accept-queue-full, early-response, h2-flow-control, h2-streams, request-nagle, \
             expect-continue, connection-reuse, close-race, first-close, refused-upload, \
             happy-eyeballs, window-updates, stream-first-event, stream-gaps, stream-held, \
             stream-gzip)"
        );
    }
}
