//! Maps a request to the bytes sent. Pure: the date is an argument.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ackwise_http::{
    Behaviour, Method, RangeRequest, Request, RequestErrorKind, ResponseBuilder, Version,
    behaviour::{Answer, HeadFlush, Outlook},
};

use crate::{
    Document, Documents,
    answered::Answered,
    content::{Content, Part},
    getweb,
    site::Stored,
};

/// The response to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) head: Vec<u8>,
    /// Empty for HEAD, and where there is no content.
    pub(crate) content: Content,
    pub(crate) outlook: Outlook,
    /// Whether the head leaves in a segment of its own for this client.
    pub(crate) head_flush: HeadFlush,
    /// How long a page was parsed for this reply.
    pub(crate) parsed_in: Option<Duration>,
}

impl Reply {
    /// The reply to the `nth` request of a connection, counted from one.
    pub(crate) fn to(
        request: &Request,
        documents: &Documents,
        behaviour: &Behaviour,
        nth: u32,
        now: SystemTime,
    ) -> Self {
        let outlook = behaviour.keep_alive.after(request.version, request.connection, nth);
        let version = behaviour.keep_alive.version_for(request.version);
        let start = |status| common(version, status, now);
        let answered = match (behaviour.answer, request.method) {
            (Answer::RedirectLoop, _) => {
                Answered::empty(start(302).field("Location", request.target.as_str()))
            }
            (_, Method::Get | Method::Head) => get(request, documents, start),
            (_, Method::GetWeb) => getweb::answer(request, documents, start),
            // Forwarded by a proxy, so the connection stays open: see `Request::is_client_close`.
            (_, Method::ClientClose) => Answered::empty(start(501)),
            _ => Answered::empty(start(405).field("Allow", "GET, HEAD")),
        };
        let Answered { head, content, parsed_in } = answered;
        let head = encode(&outlook.announce(head));
        let content = if request.method == Method::Head { Content::EMPTY } else { content };
        Self { head, content, outlook, head_flush: behaviour.head_flush, parsed_in }
    }

    /// The reply to a malformed request. The start of the next request is unknown, so the
    /// connection closes.
    pub(crate) fn to_error(error: &RequestErrorKind, now: SystemTime) -> Self {
        let outlook = Outlook::Closes;
        let head = common(Version::Http11, error.status(), now).field("Content-Length", "0");
        let head = encode(&outlook.announce(head));
        let head_flush = HeadFlush::Joined;
        Self { head, content: Content::EMPTY, outlook, head_flush, parsed_in: None }
    }

    /// Length of head and content in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.head.len() as u64 + self.content.length()
    }
}

/// Answers GET and HEAD.
fn get(
    request: &Request,
    documents: &Documents,
    start: impl Fn(u16) -> ResponseBuilder,
) -> Answered {
    match documents {
        Documents::Generated => match Document::at_path(request.path()) {
            Some(document) => part_of(
                request,
                document.length(),
                |status| start(status).field("Content-Type", "text/plain"),
                |range| Part::Generated { document, range },
            ),
            None => Answered::empty(start(404)),
        },
        Documents::Stored(site) => match site.find(request.path()) {
            // It has no content, and "Content-Length: 0" would be the file's.
            Some(stored) if is_current(request, &stored) => Answered {
                head: about(&stored, start(304)),
                content: Content::EMPTY,
                parsed_in: None,
            },
            Some(stored) => part_of(
                request,
                stored.length,
                |status| about(&stored, start(status)),
                |range| Part::Stored { site: Arc::clone(site), stored: stored.clone(), range },
            ),
            None => Answered::empty(start(404)),
        },
    }
}

/// The fields that describe a file.
fn about(stored: &Stored, head: ResponseBuilder) -> ResponseBuilder {
    let head = head.field("Content-Type", stored.media_type.as_str());
    match stored.modified {
        Some(modified) => head.field("Last-Modified", httpdate::fmt_http_date(modified)),
        None => head,
    }
}

/// Whether the client's copy is still good (RFC 9110, section 13.1.3).
fn is_current(request: &Request, stored: &Stored) -> bool {
    let since = request.fields.text("If-Modified-Since");
    let since = since.and_then(|date| httpdate::parse_http_date(date).ok());
    let unconditional = request.fields.first("If-None-Match").is_some();
    matches!((since, stored.modified), (Some(since), Some(modified)) if modified <= since)
        && !unconditional
}

/// The range of a document of `length` bytes that is asked for.
fn part_of(
    request: &Request,
    length: u64,
    start: impl Fn(u16) -> ResponseBuilder,
    part: impl FnOnce(Range<u64>) -> Part,
) -> Answered {
    // RFC 9110, section 14.2: "A server MUST ignore a Range header field received with a request
    // method that is unrecognized or for which range handling is not defined". It is defined for
    // GET only.
    let range = request.fields.text("Range").filter(|_| request.method == Method::Get);
    let (head, range) =
        match range.map_or(RangeRequest::Whole, |range| RangeRequest::parse(range, length)) {
            RangeRequest::Whole => (start(200), 0..length),
            RangeRequest::Part(part) => {
                let said = format!("bytes {}-{}/{length}", part.start, part.end - 1);
                (start(206).field("Content-Range", said), part)
            }
            RangeRequest::Unsatisfiable => {
                let head = start(416).field("Content-Range", format!("bytes */{length}"));
                return Answered::empty(head);
            }
        };
    let head = head.field("Accept-Ranges", "bytes");
    Answered::with(head, Content::of([part(range)]))
}

fn common(version: Version, status: u16, now: SystemTime) -> ResponseBuilder {
    ResponseBuilder::new(version, status)
        .field("Date", httpdate::fmt_http_date(now))
        .field("Server", concat!("ackwise/", env!("CARGO_PKG_VERSION")))
}

fn encode(head: &ResponseBuilder) -> Vec<u8> {
    head.encode().expect("the only field from outside is a target that was parsed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackwise_http::{RequestBuilder, RequestParser};

    fn request(builder: &RequestBuilder) -> Request {
        let bytes = builder.encode().unwrap();
        RequestParser::new().advance(&mut &bytes[..]).unwrap().unwrap()
    }

    fn reply(builder: &RequestBuilder, behaviour: &Behaviour) -> (String, Option<Range<u64>>) {
        let request = request(builder);
        let now = SystemTime::UNIX_EPOCH;
        let reply = Reply::to(&request, &Documents::Generated, behaviour, 1, now);
        let range = match reply.content.parts() {
            [] => None,
            [Part::Generated { range, .. }] => Some(range.clone()),
            parts => panic!("{parts:?}"),
        };
        (String::from_utf8(reply.head).unwrap(), range)
    }

    #[test]
    fn documents_parts_and_refusals() {
        let get = |path| RequestBuilder::get("h", path);
        let head = RequestBuilder::new(Method::Head, "h", "/300");
        let post = RequestBuilder::new(Method::Post, "h", "/300");
        #[rustfmt::skip]
        let table: [(RequestBuilder, u16, Option<Range<u64>>, &str); 9] = [
            (get("/300"),                                200, Some(0..300), "Content-Length: 300\r\n"),
            (get("http://h/300?x=/1"),                   200, Some(0..300), "Accept-Ranges: bytes\r\n"),
            (head.clone(),                               200, None,         "Content-Length: 300\r\n"),
            (head.field("Range", "bytes=1-2"),           200, None,         "Content-Length: 300\r\n"),
            (get("/300").field("Range", "bytes=1-2"),    206, Some(1..3),   "Content-Range: bytes 1-2/300\r\n"),
            (get("/300").field("Range", "bytes=300-"),   416, None,         "Content-Range: bytes */300\r\n"),
            (get("/0"),                                  200, Some(0..0),   "Content-Length: 0\r\n"),
            (get("/nothing"),                            404, None,         "Content-Length: 0\r\n"),
            (post,                                       405, None,         "Allow: GET, HEAD\r\n"),
        ];
        for (request, status, content, line) in table {
            let (head, sent) = reply(&request, &Behaviour::FIXED);
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {head}");
            assert!(head.contains(line), "{request:?}: {head}");
            assert_eq!(sent, content, "{request:?}");
        }
    }

    #[test]
    fn the_1996_server_answers_in_the_clients_version_and_announces() {
        use ackwise_http::ConnectionOption::KeepAlive;
        let old = RequestBuilder::get("h", "/1").version(Version::Http10).connection(KeepAlive);
        let (head, _) = reply(&old, &Behaviour::PAPER_1996);
        assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
        assert!(
            head.ends_with("Keep-Alive: timeout=15, max=99\r\nConnection: Keep-Alive\r\n\r\n"),
            "{head}"
        );
        let (head, _) = reply(&old, &Behaviour::FIXED);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.ends_with("Connection: Keep-Alive\r\n\r\n"), "{head}");
    }

    #[test]
    fn a_redirect_loop_leads_to_itself() {
        let behaviour = Behaviour { answer: Answer::RedirectLoop, ..Behaviour::FIXED };
        let (head, content) = reply(&RequestBuilder::get("h", "/a?b"), &behaviour);
        assert!(head.contains("\r\nLocation: /a?b\r\n"), "{head}");
        assert_eq!(content, None);
    }
}
