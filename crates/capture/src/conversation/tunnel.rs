//! What takes a connection over, so that nobody can say who waits for whom.

/// Something that takes a connection or a stream over once an exchange has opened it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Tunnel {
    /// WebSocket, after a 101 or over HTTP/2 (RFC 8441).
    WebSocket,
    /// A response that goes on as a stream of events: `text/event-stream`, or newline-delimited JSON.
    EventStream,
    /// A call of gRPC with more than one message in a direction.
    GrpcStream,
    /// What a 2xx response to CONNECT begins (RFC 9110, section 9.3.6), unless it is HTTP in the clear.
    Connect,
    /// Another protocol after a 101.
    Upgrade,
    /// The server sends whatever happens: SUBSCRIBE, MONITOR, replication.
    Push,
    /// A command that waits for another client, or for a time.
    Blocking,
    /// Requests without responses: CLIENT REPLY OFF.
    Unanswered,
    /// A client that pipelines, behind a gap of the capture.
    Pipelined,
    /// A client that sent a request before the answer to an earlier one, in a protocol that is judged by TCP alone.
    Overlapping,
    /// SSH: what is typed and printed, or a transfer.
    Session,
    /// PostgreSQL's startup and authentication.
    Startup,
    /// Messages of PostgreSQL that are answered before their unit is over.
    Dialogue,
    /// PostgreSQL's COPY.
    Copy,
}

impl Tunnel {
    /// Whether the connection, or the stream, goes on as before once it is over.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::EventStream
                | Self::GrpcStream
                | Self::Blocking
                | Self::Startup
                | Self::Dialogue
                | Self::Copy
        )
    }

    /// Whether its messages are read, as far as the capture has them.
    #[must_use]
    pub const fn has_messages(self) -> bool {
        matches!(self, Self::WebSocket | Self::EventStream | Self::GrpcStream)
    }

    /// Why it is not divided into exchanges, unless HTTP has opened it.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::WebSocket | Self::EventStream | Self::GrpcStream => None,
            Self::Connect | Self::Upgrade => None,
            Self::Push => Some("the server sends when something happens"),
            Self::Blocking => Some("waiting for another client or a timeout"),
            Self::Unanswered => Some("the client wants no replies"),
            Self::Startup => Some("a dialogue"),
            Self::Dialogue => Some("answered before it is over"),
            Self::Copy => Some("both sides send when they have data"),
            Self::Overlapping => {
                Some("requests were sent before the answers to earlier ones had come")
            }
            Self::Session => Some("keystrokes, output or a transfer"),
            Self::Pipelined => Some(
                "the capture lacks packets or its beginning, so replies cannot be matched to requests",
            ),
        }
    }

    /// `WebSocket`, `CONNECT tunnel`, `upgraded connection`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "WebSocket",
            Self::EventStream => "event stream",
            Self::GrpcStream => "gRPC stream",
            Self::Connect => "CONNECT tunnel",
            Self::Upgrade => "upgraded connection",
            Self::Push => "push stream",
            Self::Blocking => "blocking command",
            Self::Unanswered => "reply-free connection",
            Self::Pipelined | Self::Overlapping => "pipelined connection",
            Self::Session => "SSH session",
            Self::Startup => "authentication",
            Self::Dialogue => "flushed unit",
            Self::Copy => "COPY transfer",
        }
    }
}
