//! Maps a request to the bytes sent. Pure: the date is an argument.

use std::{io::IoSlice, ops::Range, time::SystemTime};

use ackwise_http::{
    Behaviour, Method, RangeRequest, Request, RequestErrorKind, ResponseBuilder, Version,
    behaviour::{Answer, Outlook},
};

use crate::{Document, document::GATHER_LIMIT};

/// The response to one request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reply {
    pub(crate) head: Vec<u8>,
    pub(crate) content: Option<Content>,
    pub(crate) outlook: Outlook,
}

/// The document range that follows a head.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Content {
    pub(crate) document: Document,
    pub(crate) range: Range<u64>,
}

impl Reply {
    /// The reply to the `nth` request of a connection, counted from one.
    pub(crate) fn to(request: &Request, behaviour: &Behaviour, nth: u32, now: SystemTime) -> Self {
        let outlook = behaviour.keep_alive.after(request.version, request.connection, nth);
        let version = behaviour.keep_alive.version_for(request.version);
        let start = |status| common(version, status, now);
        let (head, content) = match (behaviour.answer, request.method) {
            (Answer::RedirectLoop, _) => {
                (start(302).field("Location", request.target.as_str()), None)
            }
            (_, Method::Get | Method::Head) => match Document::at_path(request.path()) {
                Some(document) => serve(document, request, start),
                None => (start(404), None),
            },
            // Forwarded by a proxy, so the connection stays open: see `Request::is_client_close`.
            (_, Method::ClientClose) => (start(501), None),
            _ => (start(405).field("Allow", "GET, HEAD"), None),
        };
        let length = content.as_ref().map_or(0, |Content { range, .. }| range.end - range.start);
        let head = outlook.announce(head.field("Content-Length", length.to_string()));
        Self {
            head: encode(&head),
            content: content.filter(|_| request.method != Method::Head),
            outlook,
        }
    }

    /// The reply to a malformed request. The start of the next request is unknown, so the
    /// connection closes.
    pub(crate) fn to_error(error: &RequestErrorKind, now: SystemTime) -> Self {
        let outlook = Outlook::Closes;
        let head = common(Version::Http11, error.status(), now).field("Content-Length", "0");
        Self { head: encode(&outlook.announce(head)), content: None, outlook }
    }

    /// Length of the content in bytes.
    pub(crate) fn content_length(&self) -> u64 {
        self.content.as_ref().map_or(0, |Content { range, .. }| range.end - range.start)
    }

    /// Length of head and content in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.head.len() as u64 + self.content_length()
    }

    /// Appends the bytes in `range`, up to the limit of one gathering write, without copying them.
    pub(crate) fn gather<'s>(&'s self, range: Range<u64>, slices: &mut Vec<IoSlice<'s>>) {
        let of_head =
            |at| usize::try_from(at).map_or(self.head.len(), |at| at.min(self.head.len()));
        let head = &self.head[of_head(range.start)..of_head(range.end)];
        if !head.is_empty() && slices.len() < GATHER_LIMIT {
            slices.push(IoSlice::new(head));
        }
        if let Some(Content { document, range: content }) = &self.content {
            let of_content = |at: u64| content.start + at.saturating_sub(self.head.len() as u64);
            document.gather(of_content(range.start)..of_content(range.end), slices);
        }
    }
}

fn serve(
    document: Document,
    request: &Request,
    start: impl FnOnce(u16) -> ResponseBuilder,
) -> (ResponseBuilder, Option<Content>) {
    let length = document.length();
    // RFC 9110, section 14.2: "A server MUST ignore a Range header field received with a request
    // method that is unrecognized or for which range handling is not defined". It is defined for
    // GET only.
    let range = request.fields.text("Range").filter(|_| request.method == Method::Get);
    match range.map_or(RangeRequest::Whole, |range| RangeRequest::parse(range, length)) {
        RangeRequest::Whole => {
            (document_head(start(200)), Some(Content { document, range: 0..length }))
        }
        RangeRequest::Part(part) => {
            let said = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            let head = document_head(start(206)).field("Content-Range", said);
            (head, Some(Content { document, range: part }))
        }
        RangeRequest::Unsatisfiable => {
            (start(416).field("Content-Range", format!("bytes */{length}")), None)
        }
    }
}

fn document_head(head: ResponseBuilder) -> ResponseBuilder {
    head.field("Content-Type", "text/plain").field("Accept-Ranges", "bytes")
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
        let reply = Reply::to(&request(builder), behaviour, 1, SystemTime::UNIX_EPOCH);
        (String::from_utf8(reply.head).unwrap(), reply.content.map(|content| content.range))
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
