//! Parses requests from a stream that arrives in pieces of any size.
//!
//! Content is discarded, and `Expect: 100-continue` is not answered: the client continues after its
//! own timeout. The servers built on this do not use content.

use core::mem;

use super::{
    ASTERISK, REQUEST_BODY_LIMIT, REQUEST_HEAD_LIMIT, Request, RequestError, RequestErrorKind,
};
use crate::{
    ConnectionOptions, Fields, Framing, Method, Version,
    body::{BodyScanner, BodyStep},
    cursor::Cursor,
    framing,
    head::{FIELD_LIMIT, HeadScanner, HeadStep, malformed_line},
};

/// Parses the requests of one connection.
///
/// Allocates at most [`REQUEST_HEAD_LIMIT`] bytes for the client's input.
#[derive(Clone, Debug)]
pub struct RequestParser {
    offset: u64,
    state: State,
    client_close: bool,
    getweb: bool,
    content_limit: u64,
}

#[derive(Clone, Debug)]
enum State {
    Head { scanner: HeadScanner, empty_lines: usize },
    Body { request: Request, body: BodyScanner, content: u64 },
    Failed(RequestError),
}

impl RequestParser {
    /// A parser for a connection that has not received anything yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            offset: 0,
            state: State::head(),
            client_close: false,
            getweb: false,
            content_limit: REQUEST_BODY_LIMIT,
        }
    }

    /// Also accepts CLIENT_CLOSE; see [`client_close`](crate::client_close).
    #[must_use]
    pub const fn with_client_close(mut self) -> Self {
        self.client_close = true;
        self
    }

    /// Also accepts GETWEB; see [`getweb`](crate::getweb).
    #[must_use]
    pub const fn with_getweb(mut self) -> Self {
        self.getweb = true;
        self
    }

    /// Discards up to `limit` bytes of content instead of [`REQUEST_BODY_LIMIT`].
    #[must_use]
    pub const fn with_content_limit(mut self, limit: u64) -> Self {
        self.content_limit = limit;
        self
    }

    /// The request whose content has not arrived completely; its [`end`](Request::end) is that of its head.
    #[must_use]
    pub const fn pending(&self) -> Option<&Request> {
        match &self.state {
            State::Body { request, .. } => Some(request),
            State::Head { .. } | State::Failed(_) => None,
        }
    }

    /// Whether a request has begun but not ended.
    #[must_use]
    pub fn is_within_request(&self) -> bool {
        match &self.state {
            State::Head { scanner, .. } => !scanner.seen().is_empty(),
            State::Body { .. } => true,
            State::Failed(_) => false,
        }
    }

    /// Consumes bytes from the front of `input` up to the end of a request.
    ///
    /// `None` means that `input` is consumed.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid request. Every later call returns the same error.
    pub fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Request>, RequestError> {
        let mut cursor = Cursor::new(input, self.offset);
        let outcome = self.step(&mut cursor);
        *input = cursor.rest();
        self.offset = cursor.at();
        outcome.inspect_err(|error| self.state = State::Failed(*error))
    }

    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Request>, RequestError> {
        if let State::Head { scanner, empty_lines } = &mut self.state {
            skip_empty_lines(scanner, empty_lines, cursor)?;
            let start = cursor.at() - scanner.seen().len() as u64;
            match scanner.advance(cursor) {
                HeadStep::NeedsMore => return Ok(None),
                HeadStep::TooLarge => return error(start, RequestErrorKind::HeadTooLarge),
                HeadStep::Whole(head) => {
                    let (request, framing) = parse_head(&head, start, self.content_limit)?;
                    self.check_extension(&request, framing)?;
                    let body = BodyScanner::new(framing);
                    self.state = State::Body { request, body, content: 0 };
                }
            }
        }
        self.step_body(cursor)
    }

    fn step_body(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Request>, RequestError> {
        let limit = self.content_limit;
        loop {
            let (body, content) = match &mut self.state {
                State::Head { .. } => return Ok(None),
                State::Body { body, content, .. } => (body, content),
                State::Failed(error) => return Err(*error),
            };
            match body.advance(cursor) {
                Ok(BodyStep::NeedsMore) => return Ok(None),
                Ok(BodyStep::Content(bytes)) => *content += bytes.len() as u64,
                Ok(BodyStep::End) => return Ok(self.end_request(cursor.at())),
                Err(broken) => return error(cursor.at(), RequestErrorKind::Chunk(broken)),
            }
            if *content > limit {
                return error(cursor.at(), RequestErrorKind::BodyTooLarge);
            }
        }
    }

    /// Checks a method that is not of RFC 9110.
    fn check_extension(&self, request: &Request, framing: Framing) -> Result<(), RequestError> {
        let Request { start, method, version, target, .. } = request;
        match method {
            Method::ClientClose if self.client_close => {
                let plain = *version == Version::Http11
                    && target == ASTERISK
                    && matches!(framing, Framing::None | Framing::Length(0));
                if plain { Ok(()) } else { error(*start, RequestErrorKind::ClientClose) }
            }
            Method::GetWeb if self.getweb => Ok(()),
            Method::ClientClose | Method::GetWeb => error(*start, RequestErrorKind::Method),
            _ => Ok(()),
        }
    }

    fn end_request(&mut self, end: u64) -> Option<Request> {
        match mem::replace(&mut self.state, State::head()) {
            State::Body { request, .. } => Some(Request { end, ..request }),
            State::Head { .. } | State::Failed(_) => None,
        }
    }
}

impl Default for RequestParser {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    const fn head() -> Self {
        Self::Head { scanner: HeadScanner::new(REQUEST_HEAD_LIMIT), empty_lines: 0 }
    }
}

/// RFC 9112, section 2.2: "a server that is expecting to receive and parse a request-line SHOULD
/// ignore at least one empty line (CRLF) received prior to the request-line".
fn skip_empty_lines(
    scanner: &HeadScanner,
    skipped: &mut usize,
    cursor: &mut Cursor<'_>,
) -> Result<(), RequestError> {
    while scanner.seen().is_empty() && matches!(cursor.peek(), Some(b'\r' | b'\n')) {
        cursor.skip_one();
        *skipped += 1;
        if *skipped > REQUEST_HEAD_LIMIT {
            return error(cursor.at(), RequestErrorKind::HeadTooLarge);
        }
    }
    Ok(())
}

fn parse_head(
    bytes: &[u8],
    start: u64,
    content_limit: u64,
) -> Result<(Request, Framing), RequestError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return error(start, RequestErrorKind::Head(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => {
            return error(start, RequestErrorKind::TooManyFields);
        }
        Err(problem) => {
            let line = malformed_line(bytes, is_malformed) as u64;
            return error(start + line, RequestErrorKind::Head(problem));
        }
    }
    let fields = Fields::locate(bytes, parsed.headers);
    let version = Version::from_minor(parsed.version.unwrap_or(0));
    let method = Method::from_token(parsed.method.unwrap_or(""))
        .ok_or(RequestError { at: start, kind: RequestErrorKind::Method })?;
    let hosts = fields.all("Host").count();
    if hosts > 1 || (hosts == 0 && version == Version::Http11) {
        return error(start, RequestErrorKind::Host);
    }
    let framing = framing::of_request(version, &fields)
        .map_err(|problem| RequestError { at: start, kind: RequestErrorKind::Framing(problem) })?;
    let request = Request {
        start,
        end: start + bytes.len() as u64,
        method,
        target: parsed.path.unwrap_or("").into(),
        version,
        connection: ConnectionOptions::from_fields(&fields),
        fields,
    };
    match framing {
        Framing::Length(length) if length > content_limit => {
            error(start, RequestErrorKind::BodyTooLarge)
        }
        framing => Ok((request, framing)),
    }
}

fn is_malformed(head: &[u8]) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    httparse::Request::new(&mut fields).parse(head).is_err()
}

const fn error<T>(at: u64, kind: RequestErrorKind) -> Result<T, RequestError> {
    Err(RequestError { at, kind })
}
