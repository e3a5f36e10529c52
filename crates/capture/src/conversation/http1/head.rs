//! What a head says that matters here: whole, or as much of it as was captured.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    mem::MaybeUninit,
    num::NonZeroU64,
};

use ackwise_http::{ConnectionOptions, FIELD_LIMIT, Fields, Framing, Method, Version, framing};

use super::super::{
    RequestHead, ResponseHead,
    messages::{Coding, EventEnd, Events},
    target,
};

/// A request's head.
pub(super) struct Asks {
    pub(super) head: RequestHead,
    pub(super) expected: Expected,
    /// `None` if the capture cut the head.
    pub(super) framing: Option<Framing>,
}

/// What the reader of a response has to know of its request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    /// Whether there is a body depends on the response.
    Ordinary,
    /// The same of POST: if the response is a stream of events, it is what was asked for.
    Events,
    /// HEAD: none.
    NoBody,
    /// CONNECT: a tunnel.
    Tunnel,
    /// `Upgrade: websocket`.
    WebSocket,
    /// `Upgrade: h2c`: the rest of the connection, and the response, in HTTP/2.
    Http2,
}

/// A response's head.
pub(super) struct Answers {
    pub(super) head: ResponseHead,
    /// `None` if the capture cut the head.
    pub(super) framing: Option<Framing>,
    /// `Upgrade: websocket`.
    pub(super) upgrades_to_websocket: bool,
    /// What its body is if it is a stream of events.
    pub(super) events: Option<Events>,
}

/// Reads a whole head of a request that ends at `end`; `None` if it is not one.
pub(super) fn request(bytes: &[u8], end: u64) -> Option<Asks> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELD_LIMIT];
    let mut parsed = httparse::Request::new(&mut []);
    match parsed.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return None,
    }
    let version = version(parsed.version);
    let (method, target) = (parsed.method?, parsed.path?);
    let fields = Fields::locate(bytes, parsed.headers);
    let (path, has_query) = target::split(target);
    let head = RequestHead {
        method: Some(method.into()),
        path: Some(path.into()),
        has_query,
        trace: trace(&fields),
        end: Some(end),
        expects_continue: has_element(&fields, "Expect", b"100-continue"),
        wants_close: wants_close(version, &fields),
        grpc: None,
    };
    let expected = match Expected::of_method(method) {
        Expected::Ordinary | Expected::Events if has_element(&fields, "Upgrade", b"h2c") => {
            Expected::Http2
        }
        Expected::Ordinary if has_element(&fields, "Upgrade", b"websocket") => Expected::WebSocket,
        expected => expected,
    };
    Some(Asks { head, expected, framing: framing::of_request(version, &fields).ok() })
}

/// Reads what was captured of a request's head; `None` if that is not even a method.
pub(super) fn cut_request(bytes: &[u8]) -> Option<Asks> {
    if let Some(lines) = whole_lines(bytes) {
        let Asks { head, expected, .. } = request(&lines, 0)?;
        let wants_close = head.wants_close && has_connection_field(&lines);
        let head = RequestHead { end: None, wants_close, ..head };
        return Some(Asks { head, expected, framing: None });
    }
    let mut words = bytes.split(|byte| *byte == b' ');
    let method = String::from_utf8_lossy(words.next()?);
    let target = String::from_utf8_lossy(words.next()?);
    let (path, has_query) = target::split(&target);
    let expected = Expected::of_method(&method);
    let head = RequestHead {
        method: Some(method.as_ref().into()),
        path: Some(path.into()),
        has_query,
        trace: None,
        end: None,
        expects_continue: false,
        wants_close: false,
        grpc: None,
    };
    Some(Asks { head, expected, framing: None })
}

/// Reads a whole head of a response that ends at `end`; `None` if it is not one.
pub(super) fn response(bytes: &[u8], expected: Expected, end: u64) -> Option<Answers> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELD_LIMIT];
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return None,
    }
    let (version, status) = (version(parsed.version), parsed.code?);
    let fields = Fields::locate(bytes, parsed.headers);
    let framing = framing::of_response(expected.method(), status, &fields).ok();
    let becomes_other = status == 101 || expected == Expected::Tunnel;
    let wants_close =
        wants_close(version, &fields) || (framing == Some(Framing::UntilClose) && !becomes_other);
    let head = ResponseHead { status: Some(status), end: Some(end), wants_close };
    let upgrades_to_websocket = status == 101 && has_element(&fields, "Upgrade", b"websocket");
    let events = framing.and_then(|it| events(it, status, &fields));
    Some(Answers { head, framing, upgrades_to_websocket, events })
}

/// Reads what was captured of a response's head; `None` if there is no status.
pub(super) fn cut_response(bytes: &[u8]) -> Option<Answers> {
    let digits = bytes.get("HTTP/1.1 ".len()..)?.get(..3)?;
    let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
    // Read as if without a body: what says how it ends may have been cut off.
    let lines = whole_lines(bytes);
    let shown = lines.as_deref().and_then(|lines| response(lines, Expected::NoBody, 0));
    let wants_close = shown.as_ref().is_some_and(|answers| answers.head.wants_close)
        && lines.is_some_and(|lines| has_connection_field(&lines));
    let upgrades_to_websocket = shown.is_some_and(|answers| answers.upgrades_to_websocket);
    let head = ResponseHead { status: Some(status), end: None, wants_close };
    Some(Answers { head, framing: None, upgrades_to_websocket, events: None })
}

impl Expected {
    fn of_method(method: &str) -> Self {
        match method {
            "HEAD" => Self::NoBody,
            "CONNECT" => Self::Tunnel,
            "POST" => Self::Events,
            _ => Self::Ordinary,
        }
    }

    /// A method whose responses are delimited as this one is.
    const fn method(self) -> Method {
        match self {
            Self::Ordinary | Self::Events | Self::Http2 | Self::WebSocket => Method::Get,
            Self::NoBody => Method::Head,
            Self::Tunnel => Method::Connect,
        }
    }
}

/// The lines that were captured to their ends, and an empty one; `None` if there is none.
fn whole_lines(bytes: &[u8]) -> Option<Vec<u8>> {
    let last = bytes.iter().rposition(|byte| *byte == b'\n')?;
    Some([&bytes[..=last], b"\r\n"].concat())
}

/// Whether it is among the lines: without it, what the version implies may be denied further on.
fn has_connection_field(lines: &[u8]) -> bool {
    let field = b"\nconnection:";
    lines.windows(field.len()).any(|window| window.eq_ignore_ascii_case(field))
}

/// What names a request on all hops. Of `traceparent` (W3C Trace Context, section 3.2), each hop keeps the trace and puts
/// in an identity of its own.
fn trace(fields: &Fields) -> Option<NonZeroU64> {
    let mut named = fields.iter().filter_map(|(name, value)| match name.len() {
        12 if name.eq_ignore_ascii_case(b"X-Request-Id") => Some(value),
        11 if name.eq_ignore_ascii_case(b"traceparent") => value.split(|it| *it == b'-').nth(1),
        _ => None,
    });
    let mut hasher = DefaultHasher::new();
    named.next().filter(|it| !it.is_empty())?.hash(&mut hasher);
    NonZeroU64::new(hasher.finish())
}

/// What a body is if it is a stream of events. One whose length is known was there before it was sent.
fn events(framing: Framing, status: u16, fields: &Fields) -> Option<Events> {
    if !matches!(framing, Framing::Chunked | Framing::UntilClose) || status != 200 {
        return None;
    }
    let ends = EventEnd::of_content_type(fields.first("Content-Type")?)?;
    let is_identity = |it: &[u8]| it.eq_ignore_ascii_case(b"identity");
    let is_plain = fields.list("Content-Encoding").all(is_identity)
        && fields.list("Transfer-Encoding").all(|it| it.eq_ignore_ascii_case(b"chunked"));
    let coding = match (is_plain, framing) {
        (true, _) => Coding::Plain,
        (false, Framing::Chunked) => Coding::CompressedChunks,
        (false, _) => Coding::Compressed,
    };
    Some(Events::new(ends, coding))
}

fn wants_close(version: Version, fields: &Fields) -> bool {
    let ConnectionOptions { close, keep_alive } = ConnectionOptions::from_fields(fields);
    close || (version == Version::Http10 && !keep_alive)
}

fn has_element(fields: &Fields, name: &str, element: &[u8]) -> bool {
    fields.list(name).any(|found| found.eq_ignore_ascii_case(element))
}

fn version(minor: Option<u8>) -> Version {
    if minor == Some(0) { Version::Http10 } else { Version::Http11 }
}
