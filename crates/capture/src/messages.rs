//! HTTP messages of which only the sizes were ever there, as bytes of a stream.

use ackwise_http::{Method, RequestBuilder, padded_request_head, padded_response_head};

use crate::StreamContents;

impl StreamContents {
    /// A request for `/file` with `size` bytes begins at position `start`; one that is larger than
    /// [`StreamContents::LARGEST_HEAD`] is a head and an upload. Too few bytes for a head are zeros.
    pub fn insert_request(&mut self, start: u64, size: u64, file: u32) {
        let target = format!("/{file}");
        let head = match usize::try_from(size) {
            Ok(size) if size <= Self::LARGEST_HEAD => padded_request_head(&target, size),
            _ => upload_head(&target, size),
        };
        self.insert(start, &head.unwrap_or_default());
    }

    /// A response of `head` and `body` bytes begins at position `start`. One without a head takes a
    /// small one from its body: the workload's lengths then include it. Too few bytes for a head are
    /// zeros.
    pub fn insert_response(&mut self, start: u64, head: u32, body: u64) {
        let size = u64::from(head).saturating_add(body);
        let head = match head {
            0 => INCLUDED_HEAD,
            _ => usize::try_from(head).unwrap_or(Self::LARGEST_HEAD).min(Self::LARGEST_HEAD),
        };
        let head = usize::try_from(size).map_or(head, |size| head.min(size));
        let head = padded_response_head(size - head as u64, head);
        self.insert(start, &head.unwrap_or_default());
    }

    /// Bytes of the largest head: what servers accept at least, and Wireshark shows in one piece.
    /// Our choice.
    pub const LARGEST_HEAD: usize = 8_192;
}

/// The head of a PUT that is `size` bytes long with its content.
fn upload_head(target: &str, size: u64) -> Option<Vec<u8>> {
    // All lengths have as many digits as the longest, so that the head's own does not depend on it.
    let head = |content: u64| {
        let request = RequestBuilder::new(Method::Put, "h", target);
        request.field("Content-Length", format!("{content:020}")).encode().ok()
    };
    head(size.checked_sub(head(0)?.len() as u64)?)
}

/// Bytes of the head of a response whose length includes it. Our choice.
const INCLUDED_HEAD: usize = 128;

#[cfg(test)]
mod tests {
    use ackwise_http::{Framing, RequestParser, ResponseParser};

    use super::*;

    fn bytes(contents: &StreamContents, length: usize) -> Vec<u8> {
        let mut bytes = vec![1; length];
        contents.fill(0, &mut bytes);
        bytes
    }

    #[test]
    fn requests_are_heads_or_uploads() {
        for size in [52, 210, 8_192, 8_193, 60_000] {
            let mut contents = StreamContents::default();
            contents.insert_request(0, size, 3);
            let stream = bytes(&contents, 60_000);
            let request = RequestParser::new().advance(&mut &stream[..]).unwrap().unwrap();
            assert_eq!((request.target.as_str(), request.end), ("/3", size));
        }
    }

    #[test]
    fn responses_have_the_size_that_was_asked_for() {
        for (head, body) in [(226, 6_651), (226, 0), (0, 6_651), (0, 100), (10_000, 5)] {
            let mut contents = StreamContents::default();
            contents.insert_response(0, head, body);
            let stream = bytes(&contents, 12_000);
            let mut parser = ResponseParser::new();
            parser.expect(Method::Get);
            let Some(ackwise_http::ResponseEvent::Head(found)) =
                parser.advance(&mut &stream[..]).unwrap()
            else {
                panic!("no head of {head} bytes");
            };
            let Framing::Length(content) = found.framing else { panic!("{found:?}") };
            assert_eq!(found.end + content, u64::from(head) + body);
            assert!(head == 0 || head > 8_192 || found.end == u64::from(head));
        }
    }

    #[test]
    fn no_size_is_a_trap() {
        for (head, body) in [(0, 0), (0, 1), (1, 0), (u32::MAX, u64::MAX), (0, u64::MAX)] {
            let mut contents = StreamContents::default();
            contents.insert_response(7, head, body);
            contents.insert_request(u64::MAX, body, u32::MAX);
            contents.insert_request(0, body, u32::MAX);
        }
    }
}
