//! What a protocol looks like in its first bytes. Few are needed, because a capture may show few.

/// Whether bytes begin something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Guess {
    Yes,
    No,
    /// They are too few.
    Maybe,
}

/// The client's preface of HTTP/2, RFC 9113, section 3.4, as far as it differs from every request.
pub(super) fn http2_preface(bytes: &[u8]) -> Guess {
    begins(bytes, b"PRI *")
}

/// A status line of HTTP/1.
pub(super) fn status_line(bytes: &[u8]) -> Guess {
    begins(bytes, b"HTTP/1.")
}

/// A request line of HTTP/1: a method in capitals and the beginning of a target (RFC 9112, section
/// 3.2). Protocols of other line-based servers have neither slash, scheme nor asterisk there.
pub(super) fn request_line(bytes: &[u8]) -> Guess {
    let is_of_method = |byte: &&u8| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_');
    let length = bytes.iter().take(METHOD_LIMIT + 1).take_while(is_of_method).count();
    let target = match bytes.get(length) {
        None if length <= METHOD_LIMIT => return Guess::Maybe,
        Some(b' ') if (1..=METHOD_LIMIT).contains(&length) => &bytes[length + 1..],
        _ => return Guess::No,
    };
    match target.first() {
        None => Guess::Maybe,
        Some(b'/' | b'*') => Guess::Yes,
        Some(_) if &bytes[..length] == b"CONNECT" => Guess::Yes,
        Some(_) => begins(target, b"http"),
    }
}

/// A TLS record, RFC 8446, section 5.1, of one of `types`.
pub(super) fn tls_record(bytes: &[u8], types: core::ops::RangeInclusive<u8>) -> Guess {
    let parts = [
        bytes.first().map(|kind| types.contains(kind)),
        bytes.get(1).map(|&major| major == 3),
        bytes.get(2).map(|&minor| minor <= 4),
        // 2^14 bytes and what encryption adds: high byte only.
        bytes.get(3).map(|&high| high <= 0x48),
        bytes.get(4).map(|_| true),
    ];
    if parts.contains(&Some(false)) {
        Guess::No
    } else if parts.contains(&None) {
        Guess::Maybe
    } else {
        Guess::Yes
    }
}

/// SETTINGS, with which a server of HTTP/2 may begin before it was asked anything.
pub(super) fn http2_settings(bytes: &[u8]) -> Guess {
    // Length below 256, type 4, no flag, stream 0 (RFC 9113, sections 4.1 and 6.5).
    let ends = begins(bytes.get(3..).unwrap_or(&[]), &[4, 0, 0, 0, 0, 0]);
    match (begins(bytes, &[0, 0]), ends) {
        (Guess::No, _) | (_, Guess::No) => Guess::No,
        (_, ends) => ends,
    }
}

fn begins(bytes: &[u8], prefix: &[u8]) -> Guess {
    if bytes.starts_with(prefix) {
        Guess::Yes
    } else if prefix.starts_with(bytes) {
        Guess::Maybe
    } else {
        Guess::No
    }
}

/// Longest method that is taken for one; IANA's longest is UPDATEREDIRECTREF, 17.
const METHOD_LIMIT: usize = 20;

/// Bytes that are enough for each guess: a method, a space, a scheme.
pub(super) const GUESS_LIMIT: usize = METHOD_LIMIT + 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_from_other_lines() {
        for (line, guess) in [
            ("GET / HTTP/1.1", Guess::Yes),
            ("OPTIONS * HTTP/1.1", Guess::Yes),
            ("CONNECT a:443 HTTP/1.1", Guess::Yes),
            ("GET http://a/", Guess::Yes),
            ("VERSION-CONTROL /a", Guess::Yes),
            ("", Guess::Maybe),
            ("GET", Guess::Maybe),
            ("GET ", Guess::Maybe),
            ("GET htt", Guess::Maybe),
            ("GET key\r\n", Guess::No),
            ("get / HTTP/1.1", Guess::No),
            ("EHLO a", Guess::No),
            (" /", Guess::No),
            ("ABCDEFGHIJKLMNOPQRSTU", Guess::No),
            ("SSH-2.0-OpenSSH", Guess::No),
            ("\x16\x03\x01", Guess::No),
        ] {
            assert_eq!(request_line(line.as_bytes()), guess, "{line:?}");
        }
    }

    #[test]
    fn every_prefix_is_a_maybe() {
        let settings = [0, 0, 18, 4, 0, 0, 0, 0, 0];
        for length in 0..9 {
            assert_eq!(http2_settings(&settings[..length]), Guess::Maybe, "{length}");
        }
        assert_eq!(http2_settings(&settings), Guess::Yes);
        for length in 0..5 {
            let hello = [22, 3, 1, 2, 0];
            assert_eq!(tls_record(&hello[..length], 22..=22), Guess::Maybe, "{length}");
            assert_eq!(tls_record(&hello, 22..=22), Guess::Yes);
        }
    }
}
