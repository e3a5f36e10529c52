//! HTTP/1 with nothing left in it but what delimits messages.

use std::hash::RandomState;

use ackwise_http::ChunkSyntax;

use super::{METHODS, path};

/// The head, or its beginning: method or status, version, and the values of the fields that say
/// where messages end, as far as they are known words or lengths. A letter stands for each other
/// byte.
pub(super) fn head(bytes: &[u8], key: &RandomState) -> Vec<u8> {
    let mut masked = Vec::with_capacity(bytes.len());
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let content = line.trim_ascii_end();
        let content = &line[..content.len()];
        // One that was cut may end within the version.
        let is_status = content.starts_with(VERSION) || VERSION.starts_with(content);
        match (number, is_status) {
            (0, true) => status_line(content, &mut masked),
            (0, false) => request_line(content, key, &mut masked),
            _ => field(content, &mut masked),
        }
        masked.extend(line[content.len()..].iter().map(|&end| match end {
            b'\r' | b'\n' => end,
            _ => b' ',
        }));
    }
    masked
}

/// Chunk framing: sizes and line ends stay.
pub(super) fn chunk(syntax: ChunkSyntax, bytes: Vec<u8>) -> Vec<u8> {
    match syntax {
        ChunkSyntax::Size | ChunkSyntax::LineEnd => bytes,
        // The first of them ends the size.
        ChunkSyntax::Extension => vec![b';'; bytes.len()],
        _ => vec![FILLER; bytes.len()],
    }
}

/// Something as unreadable as this byte.
pub(super) fn unreadable(byte: u8) -> Vec<u8> {
    // In a chunk extension or a trailer a bare LF is unreadable, and zero is not.
    vec![if byte == b'\n' { byte } else { 0 }]
}

/// Version and status; what comes after them is for people.
fn status_line(line: &[u8], masked: &mut Vec<u8>) {
    const STATUS_ENDS: usize = "HTTP/1.1 200".len();
    masked.extend(line.iter().enumerate().map(|(place, &byte)| match byte {
        b' ' => byte,
        _ if place < VERSION.len() => byte,
        b'0'..=b'9' if place < STATUS_ENDS => byte,
        _ => FILLER,
    }));
}

/// Method and version; the target is a name for its path.
fn request_line(line: &[u8], key: &RandomState, masked: &mut Vec<u8>) {
    let (method, rest) = line.split_at(end_of_word(line));
    if METHODS.iter().any(|known| known.starts_with(method)) {
        masked.extend(method);
    } else {
        masked.extend(method.iter().map(|_| FILLER.to_ascii_uppercase()));
    }
    let Some((space, rest)) = rest.split_first() else { return };
    masked.push(*space);
    let (target, version) = rest.split_at(end_of_word(rest));
    if target == b"*" {
        masked.extend(target);
    } else if !target.is_empty() {
        let ends = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
        let end = masked.len() + target.len();
        masked.extend(path(&target[..ends], target.len(), key));
        masked.resize(end, b'0');
    }
    if b" HTTP/1.0".starts_with(version) || b" HTTP/1.1".starts_with(version) {
        masked.extend(version);
    } else {
        masked.extend(version.iter().map(|_| FILLER));
    }
}

fn end_of_word(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b' ').unwrap_or(bytes.len())
}

/// Name and value of a field that delimits messages; else the colon alone.
fn field(line: &[u8], masked: &mut Vec<u8>) {
    let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    if name.eq_ignore_ascii_case(b"Content-Length") {
        masked.extend(name);
        masked.extend(value.iter().map(|&byte| match byte {
            b'0'..=b'9' | b',' | b' ' | b'\t' | b':' => byte,
            _ => FILLER,
        }));
    } else if FRAMING.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        masked.extend(name);
        words(value, masked);
    } else {
        masked.extend(name.iter().map(|_| FILLER));
        let rest = value.len().saturating_sub(1);
        masked.extend(value.first());
        masked.extend(std::iter::repeat_n(FILLER, rest));
    }
}

/// The known words of a list, letters for the others.
fn words(value: &[u8], masked: &mut Vec<u8>) {
    let ends_word = |byte: &u8| matches!(byte, b',' | b';' | b'=' | b':' | b' ' | b'\t' | b'"');
    for word in value.split_inclusive(ends_word) {
        let (word, end) = match word.split_last() {
            Some((last, word)) if ends_word(last) => (word, Some(*last)),
            _ => (word, None),
        };
        if WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) {
            masked.extend(word);
        } else {
            masked.extend(word.iter().map(|_| FILLER));
        }
        masked.extend(end);
    }
}

/// How a response begins, whatever version of HTTP/1.
const VERSION: &[u8] = b"HTTP/1.";

/// What stands for a byte that is nobody's business.
const FILLER: u8 = b'x';

/// Fields beside Content-Length that say where messages end, or what comes after them.
const FRAMING: [&[u8]; 6] = [
    b"Transfer-Encoding",
    b"Connection",
    b"Expect",
    b"Upgrade",
    b"Content-Type",
    b"Content-Encoding",
];

/// What these say that matters.
const WORDS: [&[u8]; 17] = [
    b"text/event-stream",
    b"application/x-ndjson",
    b"application/ndjson",
    b"br",
    b"zstd",
    b"chunked",
    b"gzip",
    b"deflate",
    b"compress",
    b"identity",
    b"close",
    b"keep-alive",
    b"upgrade",
    b"te",
    b"100-continue",
    b"h2c",
    b"websocket",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let masked = head(text.as_bytes(), &RandomState::new());
        assert_eq!(masked.len(), text.len());
        String::from_utf8(masked).unwrap()
    }

    #[test]
    fn what_delimits_messages_stays_and_nothing_else() {
        let request = "POST /cgi?token=secret HTTP/1.1\r\nHost: a.example\r\nCookie: id=1\r\n\
             Content-Length: 12\r\nConnection: close, Secret\r\nExpect: 100-continue\r\n\r\n";
        let text = masked(request);
        assert!(text.starts_with("POST /"), "{text}");
        assert!(
            text.ends_with(
                "0 HTTP/1.1\r\nxxxx:xxxxxxxxxx\r\nxxxxxx:xxxxx\r\nContent-Length: 12\r\n\
                 Connection: close, xxxxxx\r\nExpect: 100-continue\r\n\r\n"
            ),
            "{text}"
        );
        assert_eq!(
            masked("HTTP/1.1 404 Not Here\r\nTransfer-Encoding: gzip, chunked\r\nA: b\r\n\r\n"),
            "HTTP/1.1 404 xxx xxxx\r\nTransfer-Encoding: gzip, chunked\r\nx:xx\r\n\r\n"
        );
    }

    #[test]
    fn of_chunk_framing_sizes_and_line_ends_stay() {
        for (syntax, bytes, masked) in [
            (ChunkSyntax::Size, "1F", "1F"),
            (ChunkSyntax::Extension, " ;secret=1", ";;;;;;;;;;"),
            (ChunkSyntax::LineEnd, "\r\n", "\r\n"),
            (ChunkSyntax::Trailer, "A: b", "xxxx"),
        ] {
            assert_eq!(chunk(syntax, bytes.into()), masked.as_bytes());
        }
    }

    #[test]
    fn unknown_methods_and_cut_lines_are_masked() {
        assert_eq!(masked("STEAL * HTTP/1.1\n\tfolded"), "XXXXX * HTTP/1.1\nxxxxxxx");
        assert!(!masked("GET /secret").contains("secret"));
        assert_eq!(masked("GET / HTTP/1.1\r\nAuthoriz"), "GET / HTTP/1.1\r\nxxxxxxxx");
        assert_eq!(masked(""), "");
    }

    #[test]
    fn one_path_has_one_name_whatever_the_query() {
        let key = RandomState::new();
        let name = |target: &str| {
            let line = head(format!("GET {target} HTTP/1.1").as_bytes(), &key);
            line[4..13].to_vec()
        };
        assert_eq!(name("/a/long/path?1"), name("/a/long/path?secret"));
        assert_ne!(name("/a/long/path"), name("/a/long/p4th"));
    }
}
