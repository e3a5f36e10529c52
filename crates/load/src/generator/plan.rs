//! The messages of the connections, encoded once.

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder, client_close};

/// Which end closes a connection first, and how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Close {
    /// The server: the last request has `Connection: close`.
    Server,
    /// The client, after the last response, without an announcement.
    Client,
    /// The client, after a CLIENT_CLOSE ([`ackwise_http::client_close`]).
    ClientClose(Drain),
}

/// How a client handles a possible response to its CLIENT_CLOSE.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Drain {
    /// Closes its half and reads to the end: the client holds TIME-WAIT with any server.
    HalfClose,
    /// Closes without reading: a response triggers an RST, after which neither end may hold
    /// TIME-WAIT.
    Plain,
}

/// What is asked for, in turn, over all connections; and how connections end.
///
/// ```
/// use ackwise_load::generator::{Ask, Close, Plan};
///
/// let mut plan = Plan::new("localhost:8080", "/page?a=b", Close::Server)?;
/// plan.add(&Ask::get("localhost:8080", "/other"))?;
/// assert_eq!(plan.len(), 2);
/// # Ok::<(), ackwise_http::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    close: Close,
    requests: Vec<Planned>,
    client_close: Vec<u8>,
    hashed: bool,
}

/// A request and what its response must be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ask {
    /// The method.
    pub method: Method,
    /// The server's name, with its port if that is not the default.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// Further fields, in their order.
    pub fields: Vec<(String, String)>,
    /// The content, if the request has one.
    pub content: Option<Vec<u8>>,
    /// Expected bytes of the response's content; `None`: any number.
    pub expected: Option<u64>,
    /// Whether it is the last one of a document: what one user of a closed loop requests in order.
    pub ends_document: bool,
}

/// An encoded request.
#[derive(Clone, Debug)]
struct Planned {
    method: Method,
    expected: Option<u64>,
    ends_document: bool,
    kept: Vec<u8>,
    last: Vec<u8>,
}

/// One of a plan's messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Message {
    /// The request with this index, followed by another one, or by the client's close.
    Request(usize),
    /// The request with this index, followed by the server's close.
    LastRequest(usize),
    ClientClose,
}

impl Ask {
    /// GET `target` from `host`.
    #[must_use]
    pub fn get(host: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            method: Method::Get,
            host: host.into(),
            target: target.into(),
            fields: Vec::new(),
            content: None,
            expected: None,
            ends_document: true,
        }
    }

    pub(crate) fn encode(&self, option: Option<ConnectionOption>) -> Result<Vec<u8>, EncodeError> {
        let named = |name: &str| self.fields.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        let host = named(HOST).map_or(&self.host, |(_, value)| value);
        let mut builder = RequestBuilder::new(self.method, host, &self.target);
        if let Some(option) = option {
            builder = builder.connection(option);
        }
        for (name, value) in self.fields.iter().filter(|(it, _)| !it.eq_ignore_ascii_case(HOST)) {
            builder = builder.field(name, value);
        }
        if let Some(content) = &self.content {
            builder = builder.field("Content-Length", content.len().to_string());
        }
        let mut bytes = builder.encode()?;
        bytes.extend(self.content.iter().flatten());
        Ok(bytes)
    }
}

impl Plan {
    /// GET `target` from `host` (with its port, if it is not the default).
    ///
    /// # Errors
    ///
    /// If `host` or `target` is not allowed in a head.
    pub fn new(host: &str, target: &str, close: Close) -> Result<Self, EncodeError> {
        Self::of(&[Ask::get(host, target)], host, close)
    }

    /// These requests, in turn; `host` is asked to close.
    ///
    /// # Errors
    ///
    /// If a name, target or field is not allowed in a head.
    ///
    /// # Panics
    ///
    /// Without requests.
    pub fn of(asks: &[Ask], host: &str, close: Close) -> Result<Self, EncodeError> {
        assert!(!asks.is_empty(), "a plan has at least one request");
        let client_close = client_close::encode(host)?;
        let mut plan = Self { close, requests: Vec::new(), client_close, hashed: false };
        asks.iter().try_for_each(|ask| plan.add(ask))?;
        Ok(plan)
    }

    /// Adds a request after the others.
    ///
    /// # Errors
    ///
    /// As for [`of`](Self::of).
    pub fn add(&mut self, ask: &Ask) -> Result<(), EncodeError> {
        let close = (self.close == Close::Server).then_some(ConnectionOption::Close);
        self.requests.push(Planned {
            method: ask.method,
            expected: ask.expected,
            ends_document: ask.ends_document,
            kept: ask.encode(None)?,
            last: ask.encode(close)?,
        });
        Ok(())
    }

    /// Computes the SHA-256 of each response's content.
    #[must_use]
    pub const fn hashed(mut self) -> Self {
        self.hashed = true;
        self
    }

    /// Which end closes first.
    #[must_use]
    pub const fn close(&self) -> Close {
        self.close
    }

    /// Number of requests before the first one is repeated.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(&self) -> usize {
        self.requests.len()
    }

    /// The index of the last request of the document that request `index` is part of. The plan ends with
    /// the end of one.
    pub(super) fn end_of_document(&self, index: usize) -> usize {
        let rest = self.requests.iter().skip(index).position(|it| it.ends_document);
        rest.map_or(self.requests.len() - 1, |rest| index + rest)
    }

    pub(super) const fn is_hashed(&self) -> bool {
        self.hashed
    }

    /// The message for request `index`; the connection has `left` requests to send.
    pub(super) const fn message(&self, index: usize, left: u64) -> Message {
        match (self.close, left) {
            (Close::Server, 0) => Message::LastRequest(index),
            _ => Message::Request(index),
        }
    }

    pub(super) fn method(&self, message: Message) -> Method {
        match message {
            Message::Request(index) | Message::LastRequest(index) => self.requests[index].method,
            Message::ClientClose => Method::ClientClose,
        }
    }

    /// Expected bytes of the response's content.
    pub(super) fn expected(&self, message: Message) -> Option<u64> {
        match message {
            Message::Request(index) | Message::LastRequest(index) => self.requests[index].expected,
            Message::ClientClose => None,
        }
    }

    pub(super) fn bytes(&self, message: Message) -> &[u8] {
        match message {
            Message::Request(index) => &self.requests[index].kept,
            Message::LastRequest(index) => &self.requests[index].last,
            Message::ClientClose => &self.client_close,
        }
    }
}

const HOST: &str = "Host";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(plan: &Plan, message: Message) -> &str {
        std::str::from_utf8(plan.bytes(message)).unwrap()
    }

    #[test]
    fn only_a_server_that_is_to_close_is_told_so_and_only_at_last() {
        for (close, told) in [
            (Close::Server, [false, true]),
            (Close::Client, [false, false]),
            (Close::ClientClose(Drain::Plain), [false, false]),
        ] {
            let plan = Plan::new("h", "/", close).unwrap();
            let messages = [1, 0].map(|left| text(&plan, plan.message(0, left)));
            assert_eq!(messages.map(|it| it.contains("close")), told, "{close:?}");
        }
    }

    #[test]
    fn a_request_has_its_fields_and_its_content() {
        let ask = Ask {
            method: Method::Post,
            fields: vec![("host".into(), "other".into()), ("X".into(), "y".into())],
            content: Some(b"a=b".to_vec()),
            ..Ask::get("h:80", "/form")
        };
        let plan = Plan::of(&[ask], "h:80", Close::Server).unwrap();
        let expected = "POST /form HTTP/1.1\r\nHost: other\r\nConnection: close\r\nX: y\r\n\
                        Content-Length: 3\r\n\r\na=b";
        assert_eq!(text(&plan, plan.message(0, 0)), expected);
        assert_eq!(plan.method(plan.message(0, 1)), Method::Post);
    }
}
