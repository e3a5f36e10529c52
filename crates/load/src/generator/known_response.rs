//! Recognises a response whose head was parsed before. Pure.
//!
//! A server under load sends the same head again and again, but for its `Date`, which changes once a
//! second. Comparing it with the last one takes a tenth of the time of parsing it, and equal bytes
//! have equal meanings.
//!
//! Recognised are only responses that arrive in one piece, with a length, on connections that
//! persist. All others are parsed.

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
}

impl KnownResponse {
    /// The status and the content, if `bytes` are exactly one response with the known head.
    pub(super) fn recognise<'b>(&self, method: Method, bytes: &'b [u8]) -> Option<(u16, &'b [u8])> {
        let is_known = self.method == Some(method)
            && bytes.len() == self.head.len() + self.content
            && bytes.starts_with(&self.head);
        is_known.then(|| (self.status, &bytes[self.head.len()..]))
    }

    /// Keeps the head of `response` to a request with `method`, if `bytes` are all of it.
    pub(super) fn learn(&mut self, method: Method, bytes: &[u8], response: &Response) {
        let head = &response.head;
        let (Framing::Length(_), Persistence::Persists) = (head.framing, head.persistence) else {
            return;
        };
        let Ok(content) = usize::try_from(response.content) else { return };
        let size = usize::try_from(head.end - head.start).unwrap_or(usize::MAX);
        if bytes.len() != size.saturating_add(content) {
            return;
        }
        self.head.clear();
        self.head.extend_from_slice(&bytes[..size]);
        (self.method, self.content, self.status) = (Some(method), content, head.status);
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
        let found = known.recognise(Method::Get, again.as_bytes());
        assert_eq!(found, Some((200, &b"cd"[..])));
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
    fn only_a_whole_response_with_a_length_on_a_kept_connection_is_learnt() {
        for response in [
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
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
