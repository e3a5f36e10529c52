//! Why a request has no response, or not the expected one, with names for reports.

use std::time::Duration;

use ackwise_cause::{ConnectOutcome, FailureKind, Outcome};
use ackwise_http::{ResponseError, ResponseErrorKind, client::ClientError};
use ackwise_net::{ConnectionError, Heard};

/// Why a request has no response. The server or the path is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The connection broke.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// No response, or no connection, within the client's timeout.
    #[error("no response in time")]
    TimedOut,
    /// The server closed without a response.
    #[error("closed without a response")]
    Closed,
    /// The connection closed within a response.
    #[error(transparent)]
    ShortBody(ResponseError),
    /// The received bytes are not HTTP.
    #[error(transparent)]
    Malformed(ResponseError),
    /// More bytes than the response's announced length.
    #[error("bytes after the end of the response")]
    Unasked,
    /// A status that reports a failure.
    #[error("status {0}")]
    Status(u16),
    /// Content of another size than the workload's.
    #[error("content of {found} bytes (expected {expected})")]
    Size {
        /// Bytes of the content.
        found: u64,
        /// The size that was asked for.
        expected: u64,
    },
    /// A response to GETWEB without an index, or with other files than its index says.
    #[error("content is not what GETWEB's index says")]
    Index,
    /// Content with another hash than expected.
    #[error("content with another SHA-256 than expected")]
    Content,
}

/// What happened to a failed request, and why, by the names of docs/failures.md.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct Fault {
    /// Why; what if the reason does not show.
    pub kind: &'static str,
    /// What.
    pub outcome: &'static str,
    /// What looks the same to this client; without it, the kind is a fact.
    pub rival: Option<&'static str>,
}

impl Fault {
    /// Whether the request crossed the server's close of a connection that had been in use.
    #[must_use]
    pub fn is_crossed_close(&self) -> bool {
        self.kind == FailureKind::CloseRace.name()
    }
}

/// How far a request was when it failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Nothing had been written on its connection.
    pub(super) is_new: bool,
    /// It had been written.
    pub(super) is_asked: bool,
    /// Its response had begun.
    pub(super) is_answering: bool,
    /// The time since the response before it on the same connection.
    pub(super) idle: Option<Duration>,
    /// What the server has acknowledged; `None` if unknown.
    pub(super) heard: Option<Heard>,
}

impl Progress {
    /// Of a request on a connection of which no more is known.
    pub(super) const UNKNOWN: Self = Self {
        is_new: true,
        is_asked: true,
        is_answering: false,
        idle: None,
        heard: Some(Heard::All),
    };
}

impl Failure {
    /// All kinds of failures of single requests.
    pub const KINDS: [&str; 17] = [
        FailureKind::CloseRace.name(),
        FailureKind::ClosedUnanswered.name(),
        FailureKind::Truncated.name(),
        FailureKind::RequestCutOff.name(),
        FailureKind::Reset.name(),
        FailureKind::Abandoned.name(),
        FailureKind::Silent.name(),
        FailureKind::ConnectRefused.name(),
        FailureKind::ConnectUnanswered.name(),
        FailureKind::ConnectUnreachable.name(),
        MALFORMED,
        TLS,
        STATUS_4XX,
        STATUS_5XX,
        WRONG_SIZE,
        WRONG_CONTENT,
        SYSTEM,
    ];

    /// The name in reports of whole pages, where it is not known how far the request was.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.fault(&Progress::UNKNOWN).kind
    }

    /// What happened, and why.
    pub(super) fn fault(self, at: &Progress) -> Fault {
        let outcome = self.outcome(at);
        let is_truncated = outcome == Outcome::Truncated.name();
        let fault = |kind, rival| Fault { kind, outcome, rival };
        let kind = match self {
            Self::Malformed(_) | Self::Unasked => MALFORMED,
            Self::Connection(ConnectionError::Tls) => TLS,
            Self::Connection(ConnectionError::System(_)) => SYSTEM,
            Self::Status(400..=499) => STATUS_4XX,
            Self::Status(_) => STATUS_5XX,
            Self::Size { .. } => WRONG_SIZE,
            Self::Index => WRONG_INDEX,
            Self::Content => WRONG_CONTENT,
            Self::TimedOut if at.is_asked && !at.is_answering && at.heard == Some(Heard::Part) => {
                FailureKind::Silent.name()
            }
            Self::Closed | Self::Connection(ConnectionError::Reset) if !is_truncated => {
                return match at.idle {
                    None => fault(outcome, None),
                    // A server may acknowledge after its close, until it has closed both ways.
                    Some(_) if at.heard == Some(Heard::All) => {
                        fault(outcome, Some(FailureKind::CloseRace.name()))
                    }
                    Some(idle) if idle < LEAST_TIMEOUT => {
                        fault(FailureKind::CloseRace.name(), Some("request-limit"))
                    }
                    Some(_) => fault(FailureKind::CloseRace.name(), Some("server-restart")),
                };
            }
            _ => outcome,
        };
        fault(kind, None)
    }

    /// What a capture would show: the client resets what it gives up.
    fn outcome(self, at: &Progress) -> &'static str {
        let is_crossed = at.idle.is_some() && at.heard != Some(Heard::All);
        let is_cut_off = !at.is_asked && !at.is_new;
        let outcome = match self {
            Self::Connection(ConnectionError::Refused) => return ConnectOutcome::Refused.name(),
            Self::Connection(ConnectionError::Unreachable) if at.is_new => {
                return ConnectOutcome::Unreachable.name();
            }
            Self::Connection(ConnectionError::TimedOut) if at.is_new => {
                return ConnectOutcome::Unanswered.name();
            }
            Self::TimedOut if at.heard == Some(Heard::Nothing) => {
                return ConnectOutcome::Unanswered.name();
            }
            Self::TimedOut if at.heard.is_none() && at.is_new => {
                return ConnectOutcome::Unanswered.name();
            }
            Self::Status(_) | Self::Size { .. } | Self::Index | Self::Content | Self::Unasked => {
                Outcome::Answered
            }
            Self::ShortBody(_) => Outcome::Truncated,
            Self::Connection(ConnectionError::Reset) if at.is_answering => Outcome::Truncated,
            Self::Closed | Self::Connection(ConnectionError::Reset)
                if is_cut_off && !is_crossed =>
            {
                Outcome::CutOff
            }
            Self::Closed => Outcome::ClosedUnanswered,
            Self::Connection(ConnectionError::Reset) => Outcome::Reset,
            Self::Connection(ConnectionError::TimedOut | ConnectionError::Unreachable) => {
                Outcome::Silent
            }
            Self::TimedOut if is_cut_off => Outcome::CutOff,
            Self::TimedOut | Self::Malformed(_) => Outcome::Abandoned,
            Self::Connection(ConnectionError::Tls | ConnectionError::System(_)) => {
                Outcome::Abandoned
            }
        };
        outcome.name()
    }

    /// Whether a complete response arrived.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        matches!(self, Self::Status(_) | Self::Size { .. } | Self::Content)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unasked => Self::Unasked,
            ClientError::Unanswered => Self::Closed,
            ClientError::Response(error) => match error.kind {
                ResponseErrorKind::UnexpectedEnd(_) => Self::ShortBody(error),
                _ => Self::Malformed(error),
            },
        }
    }
}

const MALFORMED: &str = "malformed";
const TLS: &str = "tls";
const STATUS_4XX: &str = "status-4xx";
const STATUS_5XX: &str = "status-5xx";
const WRONG_SIZE: &str = "wrong-size";
const WRONG_INDEX: &str = "wrong-index";
const WRONG_CONTENT: &str = "wrong-content";
const SYSTEM: &str = "system";
/// The shortest timeouts in use (our choice, as in `ackwise explain`): a server that closes sooner after a response has another
/// reason.
const LEAST_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const RESET: Failure = Failure::Connection(ConnectionError::Reset);
    const GONE: Failure = Failure::Connection(ConnectionError::Unreachable);
    const GIVEN_UP: Failure = Failure::Connection(ConnectionError::TimedOut);
    const LATE: Failure = Failure::TimedOut;

    /// How far requests are: before their connection, within them, before the response, and within that.
    fn progress(heard: Option<Heard>, idle: Option<Duration>) -> [Progress; 4] {
        let after = Progress { is_new: false, heard, idle, ..Progress::UNKNOWN };
        [
            Progress { is_new: true, is_asked: false, heard: Some(Heard::Nothing), ..after },
            Progress { is_asked: false, ..after },
            after,
            Progress { is_answering: true, ..after },
        ]
    }

    #[test]
    fn what_ends_a_request_and_how_far_it_was_tell_its_outcome() {
        for (failure, heard, expected) in [
            (RESET, Heard::All, ["reset", "request-cut-off", "reset", "truncated"]),
            (
                LATE,
                Heard::Part,
                ["connect-unanswered", "request-cut-off", "abandoned", "abandoned"],
            ),
            (LATE, Heard::All, ["connect-unanswered", "request-cut-off", "abandoned", "abandoned"]),
            (GIVEN_UP, Heard::Part, ["connect-unanswered", "silent", "silent", "silent"]),
            (GONE, Heard::Part, ["connect-unreachable", "silent", "silent", "silent"]),
        ] {
            let outcomes = progress(Some(heard), None).map(|at| failure.fault(&at).outcome);
            assert_eq!(outcomes, expected, "{failure:?}, {heard:?}");
            let mut kinds = expected;
            if (failure, heard) == (LATE, Heard::Part) {
                kinds[2] = "silent";
            }
            assert_eq!(progress(Some(heard), None).map(|at| failure.fault(&at).kind), kinds);
        }
        let [_, asking, waiting, _] = progress(Some(Heard::Part), None);
        assert_eq!(Failure::Closed.fault(&asking).kind, "request-cut-off");
        assert_eq!(Failure::Closed.fault(&waiting).kind, "closed-unanswered");
        let [connecting, ..] = progress(None, None);
        let unknown = Progress { heard: None, ..connecting };
        assert_eq!(LATE.fault(&unknown).kind, "connect-unanswered");
    }

    #[test]
    fn only_a_used_connection_whose_request_was_not_heard_is_a_close_race() {
        for (failure, heard, idle, expected) in [
            (Failure::Closed, Some(Heard::Part), None, ("closed-unanswered", None)),
            (
                Failure::Closed,
                Some(Heard::Part),
                Some(SECOND / 2),
                ("close-race", Some("request-limit")),
            ),
            (
                Failure::Closed,
                Some(Heard::Part),
                Some(SECOND),
                ("close-race", Some("server-restart")),
            ),
            (Failure::Closed, None, Some(SECOND), ("close-race", Some("server-restart"))),
            (
                Failure::Closed,
                Some(Heard::All),
                Some(SECOND),
                ("closed-unanswered", Some("close-race")),
            ),
            (RESET, Some(Heard::Part), Some(SECOND), ("close-race", Some("server-restart"))),
            (RESET, Some(Heard::All), Some(SECOND), ("reset", Some("close-race"))),
            (LATE, Some(Heard::Part), Some(SECOND), ("silent", None)),
        ] {
            let [_, _, waiting, answering] = progress(heard, idle);
            let fault = failure.fault(&waiting);
            assert_eq!((fault.kind, fault.rival), expected, "{failure:?}, {heard:?}, {idle:?}");
            if failure == RESET {
                assert_eq!(failure.fault(&answering).kind, "truncated");
            }
        }
    }
}
