//! What fails, and what only looks as if it failed.

use serde::{Deserialize, Serialize};

/// A way to fail, by the names of `docs/failures.md` and of the table that it is to have.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    CloseRace,
    IgnoredClose,
    IdleFlowDropped,
    EarlyResponseReset,
    ClosedUnanswered,
    Reset,
    Truncated,
    RequestCutOff,
    Abandoned,
    Silent,
    ConnectRefused,
    ConnectUnanswered,
    ConnectAbandoned,
    ConnectUnreachable,
    AcceptQueueFull,
    PathMtuBlackHole,
    TimeWaitCollision,
    TlsAlert,
    TlsUnfinished,
}

impl Kind {
    pub(super) const ALL: [Self; 19] = [
        Self::CloseRace,
        Self::IgnoredClose,
        Self::IdleFlowDropped,
        Self::EarlyResponseReset,
        Self::ClosedUnanswered,
        Self::Reset,
        Self::Truncated,
        Self::RequestCutOff,
        Self::Abandoned,
        Self::Silent,
        Self::ConnectRefused,
        Self::ConnectUnanswered,
        Self::ConnectAbandoned,
        Self::ConnectUnreachable,
        Self::AcceptQueueFull,
        Self::PathMtuBlackHole,
        Self::TimeWaitCollision,
        Self::TlsAlert,
        Self::TlsUnfinished,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CloseRace => "close-race",
            Self::IgnoredClose => "ignored-close",
            Self::IdleFlowDropped => "idle-flow-dropped",
            Self::EarlyResponseReset => "early-response-reset",
            Self::ClosedUnanswered => "closed-unanswered",
            Self::Reset => "reset",
            Self::Truncated => "truncated",
            Self::RequestCutOff => "request-cut-off",
            Self::Abandoned => "abandoned",
            Self::Silent => "silent",
            Self::ConnectRefused => "connect-refused",
            Self::ConnectUnanswered => "connect-unanswered",
            Self::ConnectAbandoned => "connect-abandoned",
            Self::ConnectUnreachable => "connect-unreachable",
            Self::AcceptQueueFull => "accept-queue-full",
            Self::PathMtuBlackHole => "path-mtu-black-hole",
            Self::TimeWaitCollision => "time-wait-collision",
            Self::TlsAlert => "tls-alert",
            Self::TlsUnfinished => "tls-unfinished",
        }
    }

    /// The shortest round trip, in milliseconds, on which threads hit the moment that it needs.
    pub(super) const fn least_rtt(self) -> f64 {
        match self {
            Self::CloseRace => 4.0,
            Self::AcceptQueueFull => 2.0,
            Self::ConnectAbandoned => 20.0,
            _ => 0.0,
        }
    }
}

/// Traffic in which nothing fails.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Plain {
    /// Connections that are kept, with pauses.
    Kept,
    /// Connections that are opened and never used, beside some that are.
    Preconnects,
    /// A SYN, a SYN-ACK, and an RST or a FIN, as from a balancer.
    HealthChecks,
    /// `shutdown(SHUT_WR)` behind the request, and a response.
    HalfClose,
    /// An RST after complete exchanges.
    ResetAfter,
    /// Either end closes an idle connection, and nobody uses it again.
    IdleCloses,
    /// Responses that end with the connection.
    CloseDelimited,
    /// HEAD, 204 and 304.
    NoBody,
    /// Event streams, which their clients end.
    Events,
    /// `::1` refuses, `127.0.0.1` answers.
    Localhost,
    /// Connections to several addresses at once, of which one is used.
    Eyeballs,
    /// 401 and 417 before the request's end, which is read, too.
    EarlyKept,
    /// nginx ends HTTP/2 connections with GOAWAY(NO_ERROR).
    Goaway,
    /// curl and nginx, HTTP/1.
    Curl,
    /// A pool in Python and one in Node, against nginx.
    Pools,
    /// haproxy in front of nginx.
    Proxied,
}

impl Plain {
    pub(super) const ALL: [Self; 16] = [
        Self::Kept,
        Self::Preconnects,
        Self::HealthChecks,
        Self::HalfClose,
        Self::ResetAfter,
        Self::IdleCloses,
        Self::CloseDelimited,
        Self::NoBody,
        Self::Events,
        Self::Localhost,
        Self::Eyeballs,
        Self::EarlyKept,
        Self::Goaway,
        Self::Curl,
        Self::Pools,
        Self::Proxied,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Preconnects => "preconnects",
            Self::HealthChecks => "health-checks",
            Self::HalfClose => "half-close",
            Self::ResetAfter => "reset-after",
            Self::IdleCloses => "idle-closes",
            Self::CloseDelimited => "close-delimited",
            Self::NoBody => "no-body",
            Self::Events => "events",
            Self::Localhost => "localhost",
            Self::Eyeballs => "eyeballs",
            Self::EarlyKept => "early-kept",
            Self::Goaway => "goaway",
            Self::Curl => "curl",
            Self::Pools => "pools",
            Self::Proxied => "proxied",
        }
    }
}

/// What a case is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Family {
    Fails(Kind),
    Plain(Plain),
}

impl Family {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fails(kind) => kind.name(),
            Self::Plain(plain) => plain.name(),
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let kinds = Kind::ALL.into_iter().map(Self::Fails);
        let all = kinds.chain(Plain::ALL.into_iter().map(Self::Plain));
        all.into_iter().find(|it| it.name() == name)
    }
}
