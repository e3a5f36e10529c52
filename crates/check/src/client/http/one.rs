//! HTTP/1.

use ackwise_http::{ConnectionOption, RequestParser, Version};

use super::{Arrival, Response, content};
use crate::client::observed::{Content, Request};

/// The requests of one connection.
pub(in crate::client) struct Http1 {
    parser: RequestParser,
    /// Bytes that the parser has consumed.
    offset: u64,
    /// Requests so far.
    begun: u32,
    /// The content of a request that is not complete.
    within: Option<Content>,
    /// How much of it has arrived.
    content: u64,
}

impl Http1 {
    pub(super) const fn new() -> Self {
        let parser = RequestParser::new().with_content_limit(u64::MAX);
        Self { parser, offset: 0, begun: 0, within: None, content: 0 }
    }

    pub(super) fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Arrival>, String> {
        if input.is_empty() {
            return Ok(None);
        }
        let before = input.len();
        let advanced = self.parser.advance(input).map_err(|error| error.to_string())?;
        self.offset += (before - input.len()) as u64;
        let is_whole = advanced.is_some();
        let Some(parsed) = advanced.as_ref().or_else(|| self.parser.pending()) else {
            return Ok(None);
        };
        let head = self.within.is_none().then(|| begun(parsed));
        if let Some(head) = &head {
            self.begun += 1;
            self.content = 0;
            self.within = Some(head.content);
        }
        self.content = match (is_whole, self.within) {
            (false, _) => self.offset - parsed.end,
            (true, Some(Content::Length(length))) => length,
            (true, Some(Content::Unknown)) => self.content.max(1),
            (true, Some(Content::None) | None) => 0,
        };
        if is_whole {
            self.within = None;
        }
        Ok(Some(Arrival { stream: self.begun, head, content: self.content, is_whole }))
    }
}

/// The record of a request whose head has just arrived.
fn begun(parsed: &ackwise_http::Request) -> Request {
    let fields = &parsed.fields;
    let length = fields.text("Content-Length").and_then(|it| it.trim().parse().ok());
    let content = match (fields.first("Transfer-Encoding"), length) {
        (Some(_), _) => Content::Unknown,
        (None, Some(length @ 1..)) => Content::Length(length),
        _ => Content::None,
    };
    let is_http10 = parsed.version == Version::Http10;
    let persists = !parsed.connection.close && (!is_http10 || parsed.connection.keep_alive);
    let expects = fields.list("Expect").any(|it| it.eq_ignore_ascii_case(b"100-continue"));
    Request {
        expects: expects && !is_http10,
        last: !persists,
        is_http10,
        ..Request::new(parsed.method, &parsed.target, content)
    }
}

pub(super) fn response(response: Response, option: ConnectionOption) -> Vec<u8> {
    let status = match response {
        Response::Continue => return b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
        Response::Refusal => "413 Content Too Large",
        Response::Small | Response::Large | Response::Empty => "200 OK",
    };
    let content = content(response);
    let length = if response == Response::Empty { 3 } else { content.len() };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: {}\r\n\r\n",
        option.as_str()
    );
    [head.as_bytes(), &content].concat()
}
