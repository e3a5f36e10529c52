//! Why something failed, and what to do about it.

use super::{ConnectOutcome, Outcome, Party};

/// Why something failed; what failed if the reason does not show.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum FailureKind {
    /// The server closed an idle connection while a request was on its way.
    CloseRace,
    /// The client sent a request on a connection that the server had closed, as the client knew.
    IgnoredClose,
    /// Something on the path has forgotten an idle connection.
    IdleFlowDropped,
    /// The server answered before the end of the request, and did not read the rest: its RST may have come before the
    /// client had read the response.
    EarlyResponseReset,
    /// The server had the request, closed the connection, and did not answer.
    ClosedUnanswered,
    /// The server ended the connection within the response.
    Truncated,
    /// The connection ended within the request.
    RequestCutOff,
    /// The server reset the connection before the response.
    Reset,
    /// The client gave up before the response.
    Abandoned,
    /// The server closed the connection in order, without processing the request.
    Unprocessed,
    /// A gRPC call was cancelled when its own deadline was over, before the server had answered.
    DeadlineExceeded,
    /// The server ended the connection because the client's keepalive pings came too often (gRPC).
    TooManyPings,
    /// Nothing acknowledged the request.
    Silent,
    /// The path drops full segments and lets smaller ones through.
    PathMtuBlackHole,
    /// The server took neither the end of the handshake nor what came after it.
    AcceptQueueFull,
    /// An RST answered the SYN.
    ConnectRefused,
    /// ICMP answered the SYN.
    ConnectUnreachable,
    /// Nothing answered the SYN, which was sent again.
    ConnectUnanswered,
    /// The client had given up when the SYN-ACK came.
    ConnectAbandoned,
    /// The server still held an old connection of the same ports: mostly in TIME-WAIT.
    TimeWaitCollision,
    /// The server reset the connection before anything was sent.
    ConnectReset,
    /// An alert ended TLS's handshake.
    TlsAlert,
    /// The connection ended within TLS's handshake.
    TlsUnfinished,
}

impl FailureKind {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::CloseRace,
        Self::IgnoredClose,
        Self::IdleFlowDropped,
        Self::EarlyResponseReset,
        Self::ClosedUnanswered,
        Self::Truncated,
        Self::RequestCutOff,
        Self::Reset,
        Self::Abandoned,
        Self::Unprocessed,
        Self::DeadlineExceeded,
        Self::TooManyPings,
        Self::Silent,
        Self::PathMtuBlackHole,
        Self::AcceptQueueFull,
        Self::ConnectRefused,
        Self::ConnectUnreachable,
        Self::ConnectUnanswered,
        Self::ConnectAbandoned,
        Self::TimeWaitCollision,
        Self::ConnectReset,
        Self::TlsAlert,
        Self::TlsUnfinished,
    ];

    /// The kind of a failure with this outcome, if nothing shows the reason.
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::AnsweredEarly => Self::EarlyResponseReset,
            Outcome::ClosedUnanswered => Self::ClosedUnanswered,
            Outcome::Truncated => Self::Truncated,
            Outcome::CutOff => Self::RequestCutOff,
            Outcome::Reset => Self::Reset,
            Outcome::Abandoned => Self::Abandoned,
            Outcome::Unprocessed => Self::Unprocessed,
            _ => Self::Silent,
        }
    }

    /// The same of an attempt to connect.
    #[must_use]
    pub const fn of_connect(outcome: ConnectOutcome) -> Self {
        match outcome {
            ConnectOutcome::Refused => Self::ConnectRefused,
            ConnectOutcome::Unreachable => Self::ConnectUnreachable,
            ConnectOutcome::Abandoned => Self::ConnectAbandoned,
            ConnectOutcome::Collided => Self::TimeWaitCollision,
            ConnectOutcome::Reset => Self::ConnectReset,
            ConnectOutcome::TlsAlert => Self::TlsAlert,
            ConnectOutcome::TlsUnfinished => Self::TlsUnfinished,
            _ => Self::ConnectUnanswered,
        }
    }

    /// `close-race`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CloseRace => "close-race",
            Self::IgnoredClose => "ignored-close",
            Self::IdleFlowDropped => "idle-flow-dropped",
            Self::EarlyResponseReset => "early-response-reset",
            Self::ClosedUnanswered => Outcome::ClosedUnanswered.name(),
            Self::Truncated => Outcome::Truncated.name(),
            Self::RequestCutOff => Outcome::CutOff.name(),
            Self::Reset => Outcome::Reset.name(),
            Self::Abandoned => Outcome::Abandoned.name(),
            Self::Unprocessed => Outcome::Unprocessed.name(),
            Self::DeadlineExceeded => "deadline-exceeded",
            Self::TooManyPings => "too-many-pings",
            Self::Silent => Outcome::Silent.name(),
            Self::PathMtuBlackHole => "path-mtu-black-hole",
            Self::AcceptQueueFull => "accept-queue-full",
            Self::ConnectRefused => ConnectOutcome::Refused.name(),
            Self::ConnectUnreachable => ConnectOutcome::Unreachable.name(),
            Self::ConnectUnanswered => ConnectOutcome::Unanswered.name(),
            Self::ConnectAbandoned => ConnectOutcome::Abandoned.name(),
            Self::TimeWaitCollision => "time-wait-collision",
            Self::ConnectReset => ConnectOutcome::Reset.name(),
            Self::TlsAlert => ConnectOutcome::TlsAlert.name(),
            Self::TlsUnfinished => ConnectOutcome::TlsUnfinished.name(),
        }
    }

    /// Who can change it; `None` if that is not known.
    #[must_use]
    pub const fn party(self) -> Option<Party> {
        match self {
            Self::CloseRace
            | Self::EarlyResponseReset
            | Self::ClosedUnanswered
            | Self::Truncated
            | Self::Reset
            | Self::Unprocessed
            | Self::AcceptQueueFull
            | Self::ConnectRefused
            | Self::ConnectReset => Some(Party::Server),
            Self::IgnoredClose
            | Self::Abandoned
            | Self::TooManyPings
            | Self::ConnectAbandoned
            | Self::TimeWaitCollision => Some(Party::Client),
            Self::IdleFlowDropped | Self::PathMtuBlackHole => Some(Party::Path),
            // Either end can: a longer deadline, or a faster answer.
            Self::DeadlineExceeded
            | Self::RequestCutOff
            | Self::Silent
            | Self::ConnectUnreachable
            | Self::ConnectUnanswered
            | Self::TlsAlert
            | Self::TlsUnfinished => None,
        }
    }

    /// Whether nothing but the client's next attempt shows that it had given up.
    #[must_use]
    pub const fn ends_with_next_try(self) -> bool {
        matches!(
            self,
            Self::Silent
                | Self::IdleFlowDropped
                | Self::ConnectUnanswered
                | Self::TimeWaitCollision
        )
    }

    /// What happened, of requests and connections to a server.
    #[must_use]
    pub const fn happened(self) -> &'static str {
        match self {
            Self::CloseRace => "closed idle connections while requests were on their way",
            Self::IgnoredClose => "had closed connections before the client sent requests on them",
            Self::IdleFlowDropped => "received nothing on connections that had been idle",
            Self::EarlyResponseReset => {
                "answered before the end of requests, and reset connections with the rest unread, which may take the answer \
                 from the client"
            }
            Self::ClosedUnanswered => {
                "closed connections without answering requests that had arrived"
            }
            Self::Truncated => "closed connections in the middle of responses",
            Self::RequestCutOff => {
                "did not receive complete requests before their connections ended"
            }
            Self::Reset => "reset connections without answering requests",
            Self::Abandoned => "had not answered requests when the client gave up",
            Self::Unprocessed => {
                "closed connections (GOAWAY) while requests were in transit, and did not process them"
            }
            Self::DeadlineExceeded => "had not answered gRPC calls when their deadlines expired",
            Self::TooManyPings => {
                "ended connections because clients' keepalive pings came too often (GOAWAY, too_many_pings)"
            }
            Self::Silent => "did not acknowledge requests or their retransmissions",
            Self::PathMtuBlackHole => {
                "and its clients exchanged small segments, but full ones did not get through"
            }
            Self::AcceptQueueFull => {
                "answered SYNs, but ignored the ACKs that complete the handshakes and all later segments"
            }
            Self::ConnectRefused => "refused connections",
            Self::ConnectUnreachable => "could not be reached (ICMP error)",
            Self::ConnectUnanswered => "did not answer attempts to connect",
            Self::ConnectAbandoned => "answered attempts to connect that the client had given up",
            Self::TimeWaitCollision => "still held old connections from the same ports",
            Self::ConnectReset => "reset new connections before anything was sent",
            Self::TlsAlert => "and its clients did not agree on a TLS session",
            Self::TlsUnfinished => "had connections that ended during the TLS handshake",
        }
    }

    /// What to change, or where to look.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::CloseRace => {
                "let the server keep idle connections longer than the client does, or let the client retry at once"
            }
            Self::IgnoredClose => {
                "let the client close connections that the server has closed, and not reuse them"
            }
            Self::IdleFlowDropped => {
                "close idle connections before the path forgets them (a NAT or firewall timeout), or set SO_KEEPALIVE \
                 with a shorter TCP_KEEPIDLE"
            }
            Self::EarlyResponseReset => {
                "let the server read and discard what is left of the request before it closes (lingering close), or answer \
                 100 (Continue) only to what it will read"
            }
            Self::ClosedUnanswered | Self::Reset => {
                "look at the server's log: a crash, a killed worker, or a limit"
            }
            Self::Truncated => {
                "look at the server's log: a crash, a timeout, or a response cut off by a server behind it"
            }
            Self::RequestCutOff => "look at the log of the end that closed the connection",
            Self::Abandoned => {
                "compare the client's timeout with the time that the server needs for these requests"
            }
            Self::Unprocessed => {
                "let the client repeat them, which is safe; to make this rarer, raise the server's limit on requests or time \
                 per connection"
            }
            Self::DeadlineExceeded => {
                "compare the client's deadline with the time that the server needs for these calls"
            }
            Self::TooManyPings => {
                "let the client send keepalive pings less often (keepalive.ClientParameters.Time in Go, \
                 GRPC_ARG_KEEPALIVE_TIME_MS in C++ and Python, keepAliveTime in Java) and none without calls \
                 (PermitWithoutStream), or let the server allow them (EnforcementPolicy.MinTime and PermitWithoutStream \
                 in Go, permitKeepAliveTime in Java; by default it allows one in 5 minutes)"
            }
            Self::Silent => "capture at the server to see whether the requests arrive",
            Self::PathMtuBlackHole => {
                "let routers and firewalls pass ICMP \"fragmentation needed\" and \"packet too big\", set the MTU of the tunnel or \
                 VPN on its interfaces, clamp the MSS there, or set net.ipv4.tcp_mtu_probing=1 at the sender"
            }
            Self::AcceptQueueFull => {
                "let the server accept faster, or enlarge its queue: the backlog of listen(2) and net.core.somaxconn \
                 (`nstat TcpExtListenOverflows` counts what it drops, `ss -ltn` shows the queue)"
            }
            Self::ConnectRefused => "check that the server listens on this address and port",
            Self::ConnectUnreachable => {
                "look at the router or firewall that sent the ICMP error, and at routes to the server"
            }
            Self::ConnectAbandoned => {
                "compare the client's timeout for connecting with the time to the SYN-ACK"
            }
            Self::TimeWaitCollision => {
                "let the client use other ports for new connections (SO_REUSEADDR and bind with a fixed port do not), use \
                 timestamps (RFC 7323, which let Linux replace such a connection), and keep connections"
            }
            Self::ConnectReset => {
                "look at the server's limit on connections, and at firewalls and balancers in front of it"
            }
            Self::TlsAlert => {
                "compare certificates, names, protocol versions and cipher suites of both ends: the end that sent the alert \
                 refused what the other one offered"
            }
            Self::TlsUnfinished => "look at the log of the end that closed the connection",
            Self::ConnectUnanswered => {
                "capture at the server: a firewall drops the SYNs, the host is gone, or its accept queue is full"
            }
        }
    }
}
