//! Heads of an exact size, for captures of simulated runs, in which only the size is known.

use alloc::{format, string::String, vec::Vec};

use crate::{EncodeError, RequestBuilder, ResponseBuilder, Version};

/// The head of a GET of `target` that is exactly `size` bytes long.
///
/// `None` if `size` is too small, or if `target` is not allowed in a head.
///
/// ```
/// let head = ackwise_http::padded_request_head("/", 210).expect("there is room for a `/`");
/// assert_eq!(head.len(), 210);
/// assert!(head.starts_with(b"GET / HTTP/1.1\r\nHost: "));
/// assert_eq!(ackwise_http::padded_request_head("/", 10), None);
/// ```
#[must_use]
pub fn padded_request_head(target: &str, size: usize) -> Option<Vec<u8>> {
    padded(size, |few, field| {
        let request = RequestBuilder::get(format!("h{}", "o".repeat(few)), target);
        match field {
            Some(padding) => request.field(PADDING, padding).encode(),
            None => request.encode(),
        }
    })
}

/// The head of a response with `body` bytes of content that is exactly `size` bytes long.
///
/// `None` if `size` is too small.
#[must_use]
pub fn padded_response_head(body: u64, size: usize) -> Option<Vec<u8>> {
    padded(size, |few, field| {
        // Leading zeros are valid: RFC 9110, section 8.6, "Content-Length = 1*DIGIT".
        let length = format!("{}{body}", "0".repeat(few));
        let head = ResponseBuilder::new(Version::Http11, 200).field("Content-Length", length);
        match field {
            Some(padding) => head.field(PADDING, padding).encode(),
            None => head.encode(),
        }
    })
}

/// Finds the padding that makes a head `size` bytes long. A padding field takes a few bytes at
/// least; a smaller gap is filled by the part of `head` whose length is arbitrary.
fn padded(
    size: usize,
    head: impl Fn(usize, Option<String>) -> Result<Vec<u8>, EncodeError>,
) -> Option<Vec<u8>> {
    let missing = size.checked_sub(head(0, None).ok()?.len())?;
    let padded = match missing.checked_sub(PADDING.len() + ": \r\n".len()) {
        Some(value) => head(0, Some(".".repeat(value))),
        None => head(missing, None),
    };
    padded.ok()
}

const PADDING: &str = "X-Padding";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Framing, Persistence, RequestParser, response::responses};

    #[test]
    fn every_size_from_the_smallest_on_is_met_and_parsed() {
        let smallest = b"GET /6651 HTTP/1.1\r\nHost: h\r\n\r\n".len();
        assert_eq!(padded_request_head("/6651", smallest - 1), None);
        for size in smallest..400 {
            let head = padded_request_head("/6651", size).unwrap();
            assert_eq!(head.len(), size);
            let request = RequestParser::new().advance(&mut &head[..]).unwrap().unwrap();
            assert_eq!((request.end, request.target.as_str()), (size as u64, "/6651"));
        }
        for size in 39..400 {
            let mut stream = padded_response_head(12, size).unwrap();
            assert_eq!(stream.len(), size);
            stream.extend_from_slice(&[0; 12]);
            let response = responses(&stream).unwrap().remove(0);
            assert_eq!(response.head.end, size as u64);
            assert_eq!(response.head.framing, Framing::Length(12));
            assert_eq!(response.head.persistence, Persistence::Persists);
        }
        assert_eq!(padded_response_head(12, 39).map(|head| head.len()), Some(39));
        assert_eq!(padded_response_head(12, 38), None);
    }

    #[test]
    fn a_target_that_is_none_gets_no_head() {
        assert_eq!(padded_request_head("/ HTTP/1.1\r\nX: y", 400), None);
    }

    #[test]
    fn the_largest_simulated_head_is_met_too() {
        assert_eq!(padded_response_head(u64::MAX, 100_000).unwrap().len(), 100_000);
    }
}
