//! How exchanges and attempts to connect ended: facts, whatever the reason.

/// How an exchange ended, by the last that was seen of it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Outcome {
    /// The response is complete.
    Answered,
    /// The same, before the request had ended.
    AnsweredEarly,
    /// The server closed or reset the connection within the response.
    Truncated,
    /// The connection ended within the request.
    CutOff,
    /// The server closed the connection in order, and did not answer the request.
    ClosedUnanswered,
    /// The server reset the connection before the response.
    Reset,
    /// The client closed or reset the connection before the end of the response.
    Abandoned,
    /// The server's GOAWAY (HTTP/2) says that it has not processed the request.
    Unprocessed,
    /// The request, or the rest of it, was sent again several times, and never acknowledged.
    Silent,
    /// The capture ends before the exchange.
    Open,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Answered,
        Self::AnsweredEarly,
        Self::Truncated,
        Self::CutOff,
        Self::ClosedUnanswered,
        Self::Reset,
        Self::Abandoned,
        Self::Unprocessed,
        Self::Silent,
        Self::Open,
    ];

    /// `answered`, `closed-unanswered`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::AnsweredEarly => "answered-early",
            Self::Truncated => "truncated",
            Self::CutOff => "request-cut-off",
            Self::ClosedUnanswered => "closed-unanswered",
            Self::Reset => "reset",
            Self::Abandoned => "abandoned",
            Self::Unprocessed => "unprocessed",
            Self::Silent => "silent",
            Self::Open => "open",
        }
    }
}

/// How an attempt to connect ended that brought no connection, or no TLS session on it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum ConnectOutcome {
    /// An RST answered the SYN.
    Refused,
    /// ICMP answered the SYN: the host or the port cannot be reached.
    Unreachable,
    /// The SYN was sent again, and nothing answered.
    Unanswered,
    /// The client's RST answered the SYN-ACK: it had no such connection any more.
    Abandoned,
    /// An ACK of another connection answered the SYN, and the client reset that.
    Collided,
    /// The server reset the connection before either end had sent anything.
    Reset,
    /// An alert ended TLS's handshake.
    TlsAlert,
    /// The connection ended within TLS's handshake.
    TlsUnfinished,
}

impl ConnectOutcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Refused,
        Self::Unreachable,
        Self::Unanswered,
        Self::Abandoned,
        Self::Collided,
        Self::Reset,
        Self::TlsAlert,
        Self::TlsUnfinished,
    ];

    /// `connect-refused`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "connect-refused",
            Self::Unreachable => "connect-unreachable",
            Self::Unanswered => "connect-unanswered",
            Self::Abandoned => "connect-abandoned",
            Self::Collided => "connect-collided",
            Self::Reset => "connect-reset",
            Self::TlsAlert => "tls-alert",
            Self::TlsUnfinished => "tls-unfinished",
        }
    }
}
