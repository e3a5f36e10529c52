//! Bodies of which a capture with a snap length shows only parts.

use ackwise_http::{BodyEnd, Framing};

/// A chunked body whose first chunk of five bytes has begun: its size line and `shown` were
/// captured.
fn in_a_chunk_of_five(shown: &str) -> BodyEnd {
    let mut body = BodyEnd::new(Framing::Chunked);
    let seen = format!("5\r\n{shown}");
    assert_eq!(body.advance(&mut seen.as_bytes()), Ok(false));
    body
}

#[test]
fn unseen_bytes_belong_to_the_body_up_to_its_length() {
    let mut body = BodyEnd::new(Framing::Length(10));
    assert_eq!(body.skip(4), Some(4));
    assert_eq!(body.skip(7), Some(6), "the seventh is of the next message");
    assert_eq!(body.skip(1), Some(0));
    let mut next = &b"HTTP/1.1"[..];
    assert_eq!(body.advance(&mut next), Ok(true));
    assert_eq!(next, b"HTTP/1.1");
}

#[test]
fn the_end_is_lost_when_unseen_bytes_may_be_framing() {
    for (shown, bytes, expected) in [
        ("", 5, Some(5)),
        ("he", 3, Some(3)),
        ("he", 2, Some(2)),
        ("he", 0, Some(0)),
        ("he", 4, None),
        ("hello", 1, None),
        ("hello", 0, Some(0)),
    ] {
        let mut body = in_a_chunk_of_five(shown);
        assert_eq!(body.skip(bytes), expected, "{shown:?}, and {bytes} unseen");
    }
}

#[test]
fn reading_resumes_at_the_right_byte_after_unseen_ones() {
    for (shown, unseen, rest) in [
        ("he", 3, "\r\n0\r\n\r\nnext"),
        ("h", 2, "lo\r\n0\r\n\r\nnext"),
        ("hello", 0, "\r\n0\r\n\r\nnext"),
    ] {
        let mut body = in_a_chunk_of_five(shown);
        assert_eq!(body.skip(unseen), Some(unseen));
        let mut rest = rest.as_bytes();
        assert_eq!(body.advance(&mut rest), Ok(true), "{shown:?}, and {unseen} unseen");
        assert_eq!(rest, b"next");
    }
}

#[test]
fn bytes_are_passed_over_only_if_the_body_continues_after_them() {
    let passed = |framing, bytes| BodyEnd::new(framing).pass(bytes);
    assert!(passed(Framing::Length(10), 9));
    assert!(!passed(Framing::Length(10), 10), "the end of the body has to be noticed");
    assert!(!passed(Framing::Length(10), 11));
    assert!(passed(Framing::UntilClose, u64::MAX));
    assert!(!passed(Framing::Chunked, 1), "any byte may be framing");

    let mut body = BodyEnd::new(Framing::Length(10));
    assert!(body.pass(6));
    assert!(!body.pass(4), "six of ten are over, so the other four end it");
    assert!(body.pass(3));
}
