//! What one run of the client's command showed, as data: the checks decide from this alone.

use std::time::Duration;

use ackwise_http::Method;

use crate::card::{Ending, Protocol};

/// One run. All times count from its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// In the order in which they were opened.
    pub(super) connections: Vec<Connection>,
    /// How the command ended; `None` if it was ended at the limit of time.
    pub(super) exit: Option<Exit>,
    pub(super) lasted: Duration,
    /// SYNs to the address that does not answer.
    pub(super) unanswered_syns: Vec<Duration>,
}

impl Observed {
    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.connections.iter().flat_map(|it| &it.requests)
    }

    /// Without what was asked for in another version of HTTP.
    pub(super) fn in_version(mut self, protocol: Protocol) -> Self {
        self.connections.retain(|it| it.protocol.is_none_or(|it| it == protocol));
        self
    }

    /// Whether a client spoke this version.
    pub(super) fn has(&self, protocol: Protocol) -> bool {
        self.connections.iter().any(|it| it.protocol == Some(protocol))
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Exit {
    Success,
    /// By this code; `None` for a signal.
    Failure(Option<i32>),
}

/// One connection of the client.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    pub(super) opened: Duration,
    /// The version of HTTP; `None` if too little has arrived to tell.
    pub(super) protocol: Option<Protocol>,
    pub(super) requests: Vec<Request>,
    /// When the client ended its direction, and how.
    pub(super) ended: Option<(Duration, Ending)>,
    /// Why what arrived is not HTTP.
    pub(super) not_http: Option<String>,
    /// What it showed of its receive windows during a large response.
    pub(super) download: Option<Download>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) target: String,
    /// Whether it has `Expect: 100-continue`.
    pub(super) expects: bool,
    /// Whether the connection is to end with the response, as the client says.
    pub(super) last: bool,
    /// Whether it is one of HTTP/1.0, in which a connection ends with its response by default.
    pub(super) is_http10: bool,
    pub(super) content: Content,
    /// The ACK delay while it arrived; `None` if that was not ours to decide.
    pub(super) delay: Option<Duration>,
    /// Arrivals and our ACKs in order: [`MOST_STEPS`] at most.
    pub(super) steps: Vec<Step>,
    /// When its head was complete.
    pub(super) head_at: Duration,
    /// When the first of its content arrived after [`head_at`](Self::head_at), and how much in all.
    pub(super) content_at: Option<Duration>,
    pub(super) content_bytes: u64,
    /// When a 100 (Continue) was sent.
    pub(super) continued_at: Option<Duration>,
    /// When a final response was sent.
    pub(super) answered_at: Option<Duration>,
    /// Whether it met a close, or HTTP/2's GOAWAY, instead of a response.
    pub(super) met_close: bool,
    /// Whether it was sent long after a GOAWAY on the same connection.
    pub(super) after_goaway: bool,
}

impl Request {
    /// What a head alone says.
    pub(super) fn new(method: Method, target: &str, content: Content) -> Self {
        Self {
            method,
            target: target.to_owned(),
            expects: false,
            last: false,
            is_http10: false,
            content,
            delay: None,
            steps: Vec::new(),
            head_at: Duration::ZERO,
            content_at: None,
            content_bytes: 0,
            continued_at: None,
            answered_at: None,
            met_close: false,
            after_goaway: false,
        }
    }
}

/// The receive windows that a client showed, the largest of each, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Download {
    /// TCP's.
    pub(super) tcp: u64,
    /// HTTP/2's, of the stream and of the connection.
    pub(super) http2: Option<(u64, u64)>,
    /// Bytes of the response that TCP has delivered.
    pub(super) delivered: u64,
}

/// The content that a head announces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    None,
    Length(u64),
    /// Its length is not announced.
    Unknown,
}

/// A piece of a request, or our ACK of all before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Arrived { at: Duration, bytes: usize },
    Acknowledged { at: Duration },
}

/// More steps of one request are not kept. Our choice: a stall is at the beginning of a request.
pub(super) const MOST_STEPS: usize = 64;

/// Requests for the table tests of the checks.
#[cfg(test)]
pub(super) mod sample {
    use super::*;

    pub(in crate::listen) const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Answered when its head was complete, at `at`.
    pub(in crate::listen) fn get(at: u64) -> Request {
        Request {
            delay: Some(Duration::ZERO),
            steps: vec![Step::Arrived { at: ms(at), bytes: 100 }],
            head_at: ms(at),
            answered_at: Some(ms(at)),
            ..Request::new(Method::Get, "/", Content::None)
        }
    }

    /// Opened at `at`, with these requests, and ended by the client.
    pub(in crate::listen) fn connection(at: u64, requests: Vec<Request>) -> Connection {
        let last = requests.last().map_or_else(|| ms(at), |it| it.head_at);
        let ended = Some((last + ms(1), Ending::Fin));
        let protocol = Some(Protocol::Http1);
        Connection { opened: ms(at), protocol, requests, ended, ..Connection::default() }
    }

    pub(in crate::listen) fn run(connections: Vec<Connection>) -> Observed {
        Observed {
            connections,
            exit: Some(Exit::Success),
            lasted: ms(10_000),
            unanswered_syns: Vec::new(),
        }
    }
}
