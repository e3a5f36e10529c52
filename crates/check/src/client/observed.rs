//! What one run of the client's command showed, as data: the checks decide from this alone.

use std::time::Duration;

use ackwise_http::Method;

use schemars::JsonSchema;
use serde::Serialize;

use crate::http_client::Protocol;

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// By a FIN.
    Fin,
    /// By an RST.
    Reset,
    /// It was still open when the command had ended.
    Open,
}

/// One run. All times count from its beginning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// In the order in which they were opened.
    pub(crate) connections: Vec<Connection>,
    /// How the command ended; `None` if it was ended at the limit of time.
    pub(crate) exit: Option<Exit>,
    pub(crate) lasted: Duration,
    /// SYNs to the address that does not answer.
    pub(crate) unanswered_syns: Vec<Duration>,
}

impl Observed {
    pub(crate) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.connections.iter().flat_map(|it| &it.requests)
    }

    /// Without what was asked for in another version of HTTP.
    pub(crate) fn in_version(mut self, protocol: Protocol) -> Self {
        self.connections.retain(|it| it.protocol.is_none_or(|it| it == protocol));
        self
    }

    /// Whether a client spoke this version.
    pub(crate) fn has(&self, protocol: Protocol) -> bool {
        self.connections.iter().any(|it| it.protocol == Some(protocol))
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    Success,
    /// By this code; `None` for a signal.
    Failure(Option<i32>),
}

/// One connection of the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) opened: Duration,
    /// The version of HTTP; `None` if too little has arrived to tell.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) requests: Vec<Request>,
    /// When the client ended its direction, and how.
    pub(crate) ended: Option<(Duration, Ending)>,
    /// Why what arrived is not HTTP.
    pub(crate) not_http: Option<String>,
    /// What it showed of its receive windows during a large response.
    pub(crate) download: Option<Download>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) target: String,
    /// Whether it has `Expect: 100-continue`.
    pub(crate) expects: bool,
    /// Whether the connection is to end with the response, as the client says.
    pub(crate) last: bool,
    /// Whether it is one of HTTP/1.0, in which a connection ends with its response by default.
    pub(crate) is_http10: bool,
    pub(crate) content: Content,
    /// The ACK delay while it arrived; `None` if that was not ours to decide.
    pub(crate) delay: Option<Duration>,
    /// Arrivals and our ACKs in order: [`MOST_STEPS`] at most.
    pub(crate) steps: Vec<Step>,
    /// When its head was complete.
    pub(crate) head_at: Duration,
    /// When the first of its content arrived after [`head_at`](Self::head_at), and how much in all.
    pub(crate) content_at: Option<Duration>,
    pub(crate) content_bytes: u64,
    /// When a 100 (Continue) was sent.
    pub(crate) continued_at: Option<Duration>,
    /// When a final response was sent.
    pub(crate) answered_at: Option<Duration>,
    /// Whether it met a close, or HTTP/2's GOAWAY, instead of a response.
    pub(crate) met_close: bool,
    /// Whether it was sent long after a GOAWAY on the same connection.
    pub(crate) after_goaway: bool,
}

impl Request {
    /// What a head alone says.
    pub(crate) fn new(method: Method, target: &str, content: Content) -> Self {
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
pub(crate) struct Download {
    /// TCP's.
    pub(crate) tcp: u64,
    /// HTTP/2's, of the stream and of the connection.
    pub(crate) http2: Option<(u64, u64)>,
    /// Bytes of the response that TCP has delivered.
    pub(crate) delivered: u64,
}

/// The content that a head announces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    None,
    Length(u64),
    /// Its length is not announced.
    Unknown,
}

/// A piece of a request, or our ACK of all before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    Arrived { at: Duration, bytes: usize },
    Acknowledged { at: Duration },
}

/// More steps of one request are not kept. Our choice: a stall is at the beginning of a request.
pub(crate) const MOST_STEPS: usize = 64;

/// Requests for the table tests of the checks.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Answered when its head was complete, at `at`.
    pub(crate) fn get(at: u64) -> Request {
        Request {
            delay: Some(Duration::ZERO),
            steps: vec![Step::Arrived { at: ms(at), bytes: 100 }],
            head_at: ms(at),
            answered_at: Some(ms(at)),
            ..Request::new(Method::Get, "/", Content::None)
        }
    }

    /// Opened at `at`, with these requests, and ended by the client.
    pub(crate) fn connection(at: u64, requests: Vec<Request>) -> Connection {
        let last = requests.last().map_or_else(|| ms(at), |it| it.head_at);
        let ended = Some((last + ms(1), Ending::Fin));
        let protocol = Some(Protocol::Http1);
        Connection { opened: ms(at), protocol, requests, ended, ..Connection::default() }
    }

    pub(crate) fn run(connections: Vec<Connection>) -> Observed {
        Observed {
            connections,
            exit: Some(Exit::Success),
            lasted: ms(10_000),
            unanswered_syns: Vec::new(),
        }
    }
}
