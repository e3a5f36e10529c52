//! Parses responses from a stream that arrives in pieces of any size.
//!
//! It does not keep content, decode content codings or parse trailer fields: attributing latency
//! needs offsets only.

use alloc::{collections::VecDeque, vec::Vec};
use core::mem;

use super::{
    INTERIM_LIMIT, RESPONSE_HEAD_LIMIT, Response, ResponseError, ResponseErrorKind, ResponseHead,
    error::Found,
};
use crate::{
    ConnectionOptions, Fields, KeepAlive, Method, Missing, Persistence, Version,
    body::{BodyScanner, BodyStep},
    cursor::Cursor,
    framing,
    head::{FIELD_LIMIT, HeadScanner, HeadStep, malformed_line},
    persistence,
};

/// The next event of the stream.
#[derive(Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponseEvent<'a> {
    /// A 1xx response, which has no body; the final response follows.
    Interim(ResponseHead),
    /// The head of a final response is complete.
    Head(&'a ResponseHead),
    /// Content of the body, without the framing around it.
    Content(&'a [u8]),
    /// The body has ended; for a response without a body this follows its head immediately.
    End(Response),
}

/// Parses the responses of one connection.
///
/// Allocates at most [`RESPONSE_HEAD_LIMIT`] bytes for the server's input. The caller bounds the
/// queue of unanswered methods.
#[derive(Clone, Debug)]
pub struct ResponseParser {
    unanswered: VecDeque<Method>,
    offset: u64,
    interim: u32,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Head(HeadScanner),
    Body {
        head: ResponseHead,
        body: BodyScanner,
        content: u64,
    },
    /// After a response that ends the connection.
    Closing,
    Failed(ResponseError),
}

impl ResponseParser {
    /// A parser for a connection without requests so far.
    #[must_use]
    pub fn new() -> Self {
        Self { unanswered: VecDeque::new(), offset: 0, interim: 0, state: State::head() }
    }

    /// Registers a request with `method`: whether a response has a body depends on it.
    ///
    /// Responses are matched in order. A response without a registered request is parsed as a
    /// response to GET.
    pub fn expect(&mut self, method: Method) {
        self.unanswered.push_back(method);
    }

    /// Number of registered requests without a final response head.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Skips a complete final response of `bytes` bytes that the caller has recognised, because it has
    /// parsed the same bytes before.
    ///
    /// # Panics
    ///
    /// If a response has begun, or none may follow.
    pub fn skip_response(&mut self, bytes: u64) {
        assert!(self.is_between_responses(), "a response is skipped within another one");
        self.unanswered.pop_front();
        self.interim = 0;
        self.offset += bytes;
    }

    /// Whether the next byte begins a response.
    #[must_use]
    pub fn is_between_responses(&self) -> bool {
        matches!(&self.state, State::Head(scanner) if scanner.seen().is_empty())
    }

    /// Number of bytes read from the stream.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether a response has begun but not ended.
    #[must_use]
    pub fn is_within_response(&self) -> bool {
        match &self.state {
            State::Head(scanner) => !scanner.seen().is_empty(),
            State::Body { .. } => true,
            State::Closing | State::Failed(_) => false,
        }
    }

    /// Consumes bytes from the front of `input` up to the next event.
    ///
    /// `None` means that `input` is consumed. An event may need no bytes: call until `None`.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid response. Every later call returns the same error.
    pub fn advance<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<ResponseEvent<'a>>, ResponseError> {
        let mut cursor = Cursor::new(input, self.offset);
        let step = self.step(&mut cursor);
        *input = cursor.rest();
        self.offset = cursor.at();
        let step = step.inspect_err(|error| self.state = State::Failed(*error))?;
        Ok(Some(match step {
            Step::NeedsMore => return Ok(None),
            Step::Interim(head) => ResponseEvent::Interim(head),
            Step::Content(content) => ResponseEvent::Content(content),
            Step::End(response) => ResponseEvent::End(response),
            Step::Head => match &self.state {
                State::Body { head, .. } => ResponseEvent::Head(head),
                state => unreachable!("a head was just read, yet {state:?}"),
            },
        }))
    }

    /// Handles the server's close of its half of the connection.
    ///
    /// Returns the response that the close completed, if the close delimits its body.
    ///
    /// # Errors
    ///
    /// If the close is in the middle of a response, or [`advance`](Self::advance) has failed
    /// before.
    pub fn handle_close(&mut self) -> Result<Option<Response>, ResponseError> {
        let offset = self.offset;
        let missing = match mem::replace(&mut self.state, State::Closing) {
            State::Head(scanner) if scanner.seen().is_empty() => None,
            State::Head(_) => Some(Missing::Head),
            State::Body { head, body, content } => match body.missing() {
                None => return Ok(Some(Response { head, content, end: offset })),
                missing => missing,
            },
            State::Closing => None,
            State::Failed(error) => {
                self.state = State::Failed(error);
                return Err(error);
            }
        };
        let Some(missing) = missing else { return Ok(None) };
        let error = ResponseError { at: offset, kind: ResponseErrorKind::UnexpectedEnd(missing) };
        self.state = State::Failed(error);
        Err(error)
    }

    fn step<'i>(&mut self, cursor: &mut Cursor<'i>) -> Result<Step<'i>, ResponseError> {
        match &mut self.state {
            State::Head(scanner) => {
                let start = cursor.at() - scanner.seen().len() as u64;
                match scanner.advance(cursor) {
                    HeadStep::Whole(head) => self.handle_head(&head, start),
                    incomplete => {
                        check_protocol(scanner.seen(), start)?;
                        match incomplete {
                            HeadStep::TooLarge => error(start, ResponseErrorKind::HeadTooLarge),
                            _ => Ok(Step::NeedsMore),
                        }
                    }
                }
            }
            State::Body { body, content, .. } => match body.advance(cursor) {
                Ok(BodyStep::NeedsMore) => Ok(Step::NeedsMore),
                Ok(BodyStep::Content(bytes)) => {
                    *content += bytes.len() as u64;
                    Ok(Step::Content(bytes))
                }
                Ok(BodyStep::End) => Ok(Step::End(self.end_response(cursor.at()))),
                Err(broken) => error(cursor.at(), ResponseErrorKind::Chunk(broken)),
            },
            State::Closing if cursor.rest().is_empty() => Ok(Step::NeedsMore),
            State::Closing => {
                error(cursor.at(), ResponseErrorKind::AfterLast(Found::new(cursor.rest())))
            }
            State::Failed(error) => Err(*error),
        }
    }

    fn handle_head(&mut self, bytes: &[u8], start: u64) -> Result<Step<'static>, ResponseError> {
        check_protocol(bytes, start)?;
        let head = parse_head(bytes, self.unanswered.front().copied(), start)?;
        if is_interim(head.status) {
            self.interim += 1;
            self.state = State::head();
            return if self.interim > INTERIM_LIMIT {
                error(start, ResponseErrorKind::TooManyInterim)
            } else {
                Ok(Step::Interim(head))
            };
        }
        self.interim = 0;
        self.unanswered.pop_front();
        let body = BodyScanner::new(head.framing);
        self.state = State::Body { head, body, content: 0 };
        Ok(Step::Head)
    }

    fn end_response(&mut self, end: u64) -> Response {
        let State::Body { head, content, .. } = mem::replace(&mut self.state, State::Closing)
        else {
            unreachable!("only a body ends")
        };
        if head.persistence == Persistence::Persists {
            self.state = State::head();
        }
        Response { head, content, end }
    }
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    const fn head() -> Self {
        Self::Head(HeadScanner::new(RESPONSE_HEAD_LIMIT))
    }
}

/// [`ResponseEvent`] without the borrow of the parser.
enum Step<'i> {
    NeedsMore,
    Interim(ResponseHead),
    Head,
    Content(&'i [u8]),
    End(Response),
}

/// All responses of a whole stream that ended with a close, each parsed as a response to GET.
///
/// # Errors
///
/// As for [`ResponseParser::advance`] and [`ResponseParser::handle_close`].
pub fn responses(mut stream: &[u8]) -> Result<Vec<Response>, ResponseError> {
    let mut parser = ResponseParser::new();
    let mut responses = Vec::new();
    while let Some(event) = parser.advance(&mut stream)? {
        if let ResponseEvent::End(response) = event {
            responses.push(response);
        }
    }
    responses.extend(parser.handle_close()?);
    Ok(responses)
}

/// Rejects input that does not begin like HTTP as soon as possible, before an empty line arrives.
fn check_protocol(seen: &[u8], start: u64) -> Result<(), ResponseError> {
    match seen.iter().zip(PROTOCOL).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => error(start + at as u64, ResponseErrorKind::NotHttp(Found::new(seen))),
    }
}

fn parse_head(
    bytes: &[u8],
    answers: Option<Method>,
    start: u64,
) -> Result<ResponseHead, ResponseError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut parsed = httparse::Response::new(&mut fields);
    match lenient().parse_response(&mut parsed, bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return error(start, ResponseErrorKind::Head(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => {
            return error(start, ResponseErrorKind::TooManyFields);
        }
        Err(problem) => {
            let line = malformed_line(bytes, is_malformed) as u64;
            return error(start + line, ResponseErrorKind::Head(problem));
        }
    }
    let fields = Fields::locate(bytes, parsed.headers);
    let version = Version::from_minor(parsed.version.unwrap_or(0));
    let status = parsed.code.unwrap_or(0);
    let method = answers.unwrap_or(Method::Get);
    let framing = framing::of_response(method, status, &fields).map_err(|problem| {
        ResponseError { at: start, kind: ResponseErrorKind::Framing(problem) }
    })?;
    Ok(ResponseHead {
        start,
        end: start + bytes.len() as u64,
        version,
        status,
        answers,
        framing,
        content_length: framing::content_length(&fields).unwrap_or(None),
        persistence: persistence::after_response(
            version,
            ConnectionOptions::from_fields(&fields),
            framing,
            framing::is_faulty(version, &fields),
        ),
        keep_alive: KeepAlive::from_fields(&fields),
        fields,
    })
}

fn is_malformed(head: &[u8]) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    lenient().parse_response(&mut httparse::Response::new(&mut fields), head).is_err()
}

/// The deviations that RFC 9112, section 5, lets a client accept from an old server.
fn lenient() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config.allow_spaces_after_header_name_in_responses(true);
    config.allow_obsolete_multiline_headers_in_responses(true);
    config
}

/// 101 is final: the connection changes its protocol.
const fn is_interim(status: u16) -> bool {
    matches!(status, 100 | 102..=199)
}

const fn error<T>(at: u64, kind: ResponseErrorKind) -> Result<T, ResponseError> {
    Err(ResponseError { at, kind })
}

const PROTOCOL: &[u8] = b"HTTP/1.";
