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

/// A command of Redis: an array of bulk strings whose first begins with a letter (RESP, "Sending commands to a Redis
/// server").
pub(super) fn resp_command(bytes: &[u8]) -> Guess {
    let name = match after_number(bytes, b'*') {
        Ok(length) => after_number(length, b'$'),
        Err(guess) => Err(guess),
    };
    match name.map(<[u8]>::first) {
        Ok(Some(first)) if first.is_ascii_alphabetic() => Guess::Yes,
        Ok(Some(_)) => Guess::No,
        Ok(None) => Guess::Maybe,
        Err(guess) => guess,
    }
}

/// What comes behind a line of this type with a number above 0, or what else that may be.
fn after_number(bytes: &[u8], kind: u8) -> Result<&[u8], Guess> {
    /// Longer ones are numbers of nothing that a client begins with. Our choice.
    const DIGITS: usize = 7;
    let Some((&first, rest)) = bytes.split_first() else { return Err(Guess::Maybe) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if first != kind || digits > DIGITS || rest.first() == Some(&b'0') {
        return Err(Guess::No);
    }
    match &rest[digits..] {
        [] => Err(Guess::Maybe),
        [b'\r'] if digits > 0 => Err(Guess::Maybe),
        [b'\r', b'\n', rest @ ..] if digits > 0 => Ok(rest),
        _ => Err(Guess::No),
    }
}

/// The first message of PostgreSQL: a length, and the version of the protocol or a request instead of it.
pub(super) fn postgres_startup(bytes: &[u8]) -> Guess {
    /// `MAX_STARTUP_PACKET_LENGTH`.
    const LONGEST: u32 = 10_000;
    let &[a, b, c, d, ref rest @ ..] = bytes else { return begins(bytes, &[0, 0]) };
    let length = u32::from_be_bytes([a, b, c, d]);
    let codes: [(&[u8], core::ops::RangeInclusive<u32>); 4] = [
        // Version 3.0, and 3.2 with keys of up to 256 bytes to cancel.
        (&[0, 3, 0, 0], 9..=LONGEST),
        (&[0, 3, 0, 2], 9..=LONGEST),
        // SSLRequest, GSSENCRequest.
        (&[4, 210, 22, 47], 8..=8),
        (&[4, 210, 22, 48], 8..=8),
    ];
    let cancel: (&[u8], _) = (&[4, 210, 22, 46], 13..=268);
    let guesses =
        codes.into_iter().chain([cancel]).map(|(code, lengths)| match begins(rest, code) {
            Guess::No => Guess::No,
            _ if !lengths.contains(&length) => Guess::No,
            guess => guess,
        });
    best(guesses)
}

/// A segment of messages of PostgreSQL's client that ends with a whole Query or Sync, and has nothing else in it.
pub(super) fn postgres_unit(bytes: &[u8]) -> Guess {
    const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
    let mut rest = bytes;
    while let &[kind, a, b, c, d, ref body @ ..] = rest {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some((body, next)) = length.checked_sub(4).and_then(|it| body.split_at_checked(it))
        else {
            return Guess::No;
        };
        match (kind, body.last(), next.is_empty()) {
            (b'Q', Some(0), true) => return Guess::Yes,
            (b'S', None, true) if rest == SYNC => return Guess::Yes,
            (b'P' | b'B' | b'E' | b'D' | b'C', Some(_), false) => rest = next,
            _ => return Guess::No,
        }
    }
    Guess::No
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

/// The first record of TLS: a handshake that begins with a ClientHello (RFC 8446, section 4).
pub(super) fn client_hello(bytes: &[u8]) -> Guess {
    match tls_record(bytes, 22..=22) {
        Guess::Yes => bytes.get(5).map_or(Guess::Maybe, |&it| begins(&[it], &[1])),
        guess => guess,
    }
}

/// What it is if it may be any of these.
pub(super) fn best(guesses: impl IntoIterator<Item = Guess>) -> Guess {
    guesses.into_iter().fold(Guess::No, |best, guess| match (best, guess) {
        (Guess::Yes, _) | (_, Guess::Yes) => Guess::Yes,
        (Guess::Maybe, _) | (_, Guess::Maybe) => Guess::Maybe,
        _ => Guess::No,
    })
}

/// Bytes of which the first `length` fit, each by its place.
pub(super) fn fits(bytes: &[u8], length: usize, fits: impl Fn(usize, u8) -> bool) -> Guess {
    let mut seen = bytes.iter().take(length).enumerate();
    match seen.all(|(at, &byte)| fits(at, byte)) {
        false => Guess::No,
        true if bytes.len() < length => Guess::Maybe,
        true => Guess::Yes,
    }
}

/// A word in capitals, which may be written in small letters.
pub(super) fn begins_word(bytes: &[u8], word: &[u8]) -> Guess {
    fits(bytes, word.len(), |at, byte| byte.to_ascii_uppercase() == word[at])
}

pub(super) fn begins(bytes: &[u8], prefix: &[u8]) -> Guess {
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
    fn commands_of_redis_are_told_from_other_lines() {
        let command = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n";
        for length in 0..9 {
            assert_eq!(resp_command(&command.as_bytes()[..length]), Guess::Maybe, "{length}");
        }
        for (line, guess) in [
            (command, Guess::Yes),
            ("*1000\r\n$11\r\nunsubscribe", Guess::Yes),
            ("PING\r\n", Guess::No),
            ("*0\r\n", Guess::No),
            ("*-1\r\n", Guess::No),
            ("*\r\n", Guess::No),
            ("*1\n$4\n", Guess::No),
            ("*12345678\r\n", Guess::No),
            ("*1\r\n*1\r\n", Guess::No),
            ("*1\r\n$4\r\n\0\0", Guess::No),
            ("$3\r\nGET", Guess::No),
            ("+OK\r\n", Guess::No),
        ] {
            assert_eq!(resp_command(line.as_bytes()), guess, "{line:?}");
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
