//! Recognises a response whose head was parsed before. Pure.
//!
//! A server under load sends the same head again and again, but for its `Date`, which changes once a
//! second. Comparing it with the last one takes a tenth of the time of parsing it, and equal bytes
//! have equal meanings.
//!
//! Recognised are only responses that arrive in one piece and with a length. All others are parsed.

use ackwise_http::{Framing, Method, Persistence, Response};

/// The last head that was parsed.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownResponse {
    /// Empty: none is known.
    head: Vec<u8>,
    /// The method of its request, on which the framing depends.
    method: Option<Method>,
    content: usize,
    status: u16,
    persistence: Option<Persistence>,
}

/// What a recognised response is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Recognised<'b> {
    pub(super) status: u16,
    pub(super) content: &'b [u8],
    pub(super) persistence: Persistence,
}

impl KnownResponse {
    /// The response, if `bytes` are exactly one with the known head.
    pub(super) fn recognise<'b>(&self, method: Method, bytes: &'b [u8]) -> Option<Recognised<'b>> {
        let is_known = self.method == Some(method)
            && bytes.len() == self.head.len() + self.content
            && bytes.starts_with(&self.head);
        let persistence = self.persistence.filter(|_| is_known)?;
        Some(Recognised { status: self.status, content: &bytes[self.head.len()..], persistence })
    }

    /// Keeps the head of `response` to a request with `method`, if `bytes` are all of it.
    pub(super) fn learn(&mut self, method: Method, bytes: &[u8], response: &Response) {
        let head = &response.head;
        if !matches!(head.framing, Framing::Length(_)) {
            return;
        }
        let Ok(content) = usize::try_from(response.content) else { return };
        let size = usize::try_from(head.end - head.start).unwrap_or(usize::MAX);
        if bytes.len() != size.saturating_add(content) {
            return;
        }
        self.head.clear();
        self.head.extend_from_slice(&bytes[..size]);
        (self.method, self.content, self.status) = (Some(method), content, head.status);
        self.persistence = Some(head.persistence);
    }
}

#[cfg(test)]
mod tests {
    use ackwise_http::{ResponseEvent, ResponseParser};

    use super::*;

    const ONE: &str = "HTTP/1.1 200 OK\r\nDate: 1\r\nContent-Length: 2\r\n\r\n";

    /// What is known after `response` to a GET has arrived in one piece.
    fn after(response: &str) -> KnownResponse {
        let mut known = KnownResponse::default();
        let mut parser = ResponseParser::new();
        parser.expect(Method::Get);
        let mut rest = response.as_bytes();
        while let Ok(Some(event)) = parser.advance(&mut rest) {
            if let ResponseEvent::End(answered) = event {
                known.learn(Method::Get, response.as_bytes(), &answered);
            }
        }
        known
    }

    #[test]
    fn the_same_head_with_other_content_is_recognised() {
        let known = after(&format!("{ONE}ab"));
        let again = format!("{ONE}cd");
        let found = known.recognise(Method::Get, again.as_bytes()).unwrap();
        assert_eq!((found.status, found.content), (200, &b"cd"[..]));
        assert_eq!(found.persistence, Persistence::Persists);
        let closing = format!("{}ef", ONE.replace("Date", "Connection: close\r\nDate"));
        let found = after(&closing).recognise(Method::Get, closing.as_bytes()).unwrap().persistence;
        assert!(matches!(found, Persistence::Closes(_)), "{found:?}");
        let later = again.replace("Date: 1", "Date: 2");
        for (method, bytes) in [
            (Method::Head, &again[..]),
            (Method::Get, &later),
            (Method::Get, &again[..again.len() - 1]),
            (Method::Get, &format!("{again}e")),
        ] {
            assert_eq!(known.recognise(method, bytes.as_bytes()), None, "{method:?} {bytes:?}");
        }
    }

    #[test]
    fn only_a_whole_response_with_a_length_is_learnt() {
        for response in [
            "HTTP/1.0 200 OK\r\n\r\na",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
        ] {
            let known = after(response);
            assert_eq!(known.recognise(Method::Get, response.as_bytes()), None, "{response}");
        }
        let nothing = KnownResponse::default();
        assert_eq!(nothing.recognise(Method::Get, b""), None);
    }
}
