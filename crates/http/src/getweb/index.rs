//! The index at the start of a GETWEB's response.

use alloc::{format, string::String, vec::Vec};
use core::fmt;

use super::{FILES_LIMIT, INDEX_LIMIT, is_path};
use crate::{
    cursor::Cursor,
    head::{HeadScanner, HeadStep},
};

/// One file of a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its path on the server.
    pub path: String,
    /// Bytes of its content in this response; `None` if the client has the file.
    pub length: Option<u64>,
    /// Its media type.
    pub media_type: String,
}

/// Encodes an index; the page itself comes first.
///
/// # Errors
///
/// If `entries` is empty or has more than [`FILES_LIMIT`] files, if a path or a media type cannot stand in a line,
/// or if the index would be longer than [`INDEX_LIMIT`].
pub fn encode_index(entries: &[Entry]) -> Result<Vec<u8>, IndexErrorKind> {
    if entries.is_empty() {
        return Err(IndexErrorKind::Line);
    }
    if entries.len() > FILES_LIMIT {
        return Err(IndexErrorKind::TooManyFiles);
    }
    let mut index = String::new();
    for Entry { path, length, media_type } in entries {
        if !is_path(path) || !is_media_type(media_type) {
            return Err(IndexErrorKind::Line);
        }
        let length = length.map_or_else(|| HELD.into(), |length| format!("{length}"));
        index.push_str(&format!("{length} {path} {media_type}\r\n"));
    }
    index.push_str("\r\n");
    if index.len() > INDEX_LIMIT { Err(IndexErrorKind::TooLong) } else { Ok(index.into_bytes()) }
}

/// Stands for the length of a file that the client has.
const HELD: &str = "-";

/// Reads an index that arrives in pieces of any size.
///
/// ```
/// use ackwise_http::getweb::IndexParser;
///
/// let mut parser = IndexParser::new();
/// let mut content = &b"5 /p text/html\r\n- /a.gif image/gif\r\n\r\nhello"[..];
/// let entries = parser.advance(&mut content)?.expect("the index is complete");
/// assert_eq!((entries[0].length, entries[1].length), (Some(5), None));
/// assert_eq!(content, b"hello");
/// # Ok::<(), ackwise_http::getweb::IndexError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexParser {
    scanner: HeadScanner,
    at: u64,
}

impl IndexParser {
    /// A parser at the first byte of the content.
    #[must_use]
    pub const fn new() -> Self {
        Self { scanner: HeadScanner::new(INDEX_LIMIT), at: 0 }
    }

    /// Consumes bytes from the front of `input` up to the end of the index. `None` means that `input` is consumed.
    ///
    /// # Errors
    ///
    /// If the bytes are no index.
    pub fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Vec<Entry>>, IndexError> {
        let mut cursor = Cursor::new(input, self.at);
        let step = self.scanner.advance(&mut cursor);
        *input = cursor.rest();
        self.at = cursor.at();
        match step {
            HeadStep::NeedsMore => Ok(None),
            HeadStep::TooLarge => Err(IndexError { at: self.at, kind: IndexErrorKind::TooLong }),
            HeadStep::Whole(bytes) => parse(&bytes).map(Some),
        }
    }
}

impl Default for IndexParser {
    fn default() -> Self {
        Self::new()
    }
}

fn parse(index: &[u8]) -> Result<Vec<Entry>, IndexError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut total: u64 = 0;
    let mut at = 0;
    for line in index.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii_end();
        let wrong = |kind| IndexError { at, kind };
        if text.is_empty() {
            break;
        }
        if entries.len() == FILES_LIMIT {
            return Err(wrong(IndexErrorKind::TooManyFiles));
        }
        let entry = parse_line(text).ok_or_else(|| wrong(IndexErrorKind::Line))?;
        total = total
            .checked_add(entry.length.unwrap_or(0))
            .ok_or_else(|| wrong(IndexErrorKind::Line))?;
        entries.push(entry);
        at += line.len() as u64;
    }
    Ok(entries)
}

fn parse_line(line: &[u8]) -> Option<Entry> {
    let mut parts = core::str::from_utf8(line).ok()?.splitn(3, ' ');
    let (length, path, media_type) = (parts.next()?, parts.next()?, parts.next()?);
    let length = if length == HELD {
        None
    } else {
        // `parse` would accept a sign.
        length.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        Some(length.parse().ok()?)
    };
    (is_path(path) && is_media_type(media_type)).then(|| Entry {
        path: path.into(),
        length,
        media_type: media_type.into(),
    })
}

/// Visible ASCII and spaces, not at the ends: parameters may be part of it.
fn is_media_type(text: &str) -> bool {
    !text.is_empty()
        && text.trim_ascii() == text
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// What is wrong with an index, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IndexError {
    /// Offset in the content of the line, or of the byte, at fault.
    pub at: u64,
    /// What is wrong, and what was expected instead.
    pub kind: IndexErrorKind,
}

/// The kinds of [`IndexError`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexErrorKind {
    /// A malformed line.
    #[error("expected a line `LENGTH PATH MEDIA-TYPE`")]
    Line,
    /// More files than a page may have.
    #[error("expected at most {FILES_LIMIT} files")]
    TooManyFiles,
    /// The index does not end within the limit.
    #[error("expected the end of the index within {INDEX_LIMIT} bytes")]
    TooLong,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the content)", self.kind, self.at)
    }
}

impl core::error::Error for IndexError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn entry(path: &str, length: Option<u64>, media_type: &str) -> Entry {
        Entry { path: path.into(), length, media_type: media_type.into() }
    }

    /// Parses `content` byte by byte; returns the entries and what follows them.
    fn by_bytes(content: &[u8]) -> Result<Option<(Vec<Entry>, usize)>, IndexError> {
        let mut parser = IndexParser::new();
        for (at, byte) in content.iter().enumerate() {
            if let Some(entries) = parser.advance(&mut core::slice::from_ref(byte))? {
                return Ok(Some((entries, content.len() - at - 1)));
            }
        }
        Ok(None)
    }

    #[test]
    fn lines_that_are_no_files() {
        use IndexErrorKind::*;
        let table = [
            ("x /p text/html\r\n\r\n", 0, Line),
            ("+1 /p text/html\r\n\r\n", 0, Line),
            ("1 p text/html\r\n\r\n", 0, Line),
            ("1 /p\r\n\r\n", 0, Line),
            ("1 /p text/html\r\n1 /\u{e9} text/html\r\n\r\n", 16, Line),
            ("1 /p \x07\r\n\r\n", 0, Line),
            ("18446744073709551615 /p a/b\r\n1 /q a/b\r\n\r\n", 29, Line),
        ];
        for (content, at, kind) in table {
            assert_eq!(by_bytes(content.as_bytes()), Err(IndexError { at, kind }), "{content:?}");
        }
    }

    #[test]
    fn an_index_that_does_not_end_is_given_up() {
        let line = b"1 /p text/html\r\n";
        let endless: Vec<u8> = line.iter().copied().cycle().take(INDEX_LIMIT + 1).collect();
        let error = by_bytes(&endless).unwrap_err();
        assert_eq!(error, IndexError { at: INDEX_LIMIT as u64, kind: IndexErrorKind::TooLong });
        let files: Vec<u8> = line.repeat(FILES_LIMIT + 1).into_iter().chain(*b"\r\n").collect();
        assert_eq!(by_bytes(&files).unwrap_err().kind, IndexErrorKind::TooManyFiles);
    }

    #[test]
    fn what_cannot_be_read_is_not_written() {
        for entries in [
            vec![],
            vec![entry("/a b", Some(1), "a/b")],
            vec![entry("/a", Some(1), "")],
            vec![entry("/a", Some(1), "a/b\r\n1 /c d/e")],
            vec![entry("/a", None, "a/b"); FILES_LIMIT + 1],
        ] {
            assert!(encode_index(&entries).is_err(), "{entries:?}");
        }
    }

    proptest! {
        #[test]
        fn an_index_is_read_as_it_was_written(
            files in proptest::collection::vec(
                ("/[!-~]{0,20}", proptest::option::of(0_u64..1 << 40), "[a-z]{1,9}/[a-z]{1,9}(; q=[0-9])?"),
                1..20,
            ),
            after in "[ -~]{0,40}",
        ) {
            let entries: Vec<Entry> =
                files.iter().map(|(path, length, kind)| entry(path, *length, kind)).collect();
            let mut content = encode_index(&entries).unwrap();
            content.extend_from_slice(after.as_bytes());
            prop_assert_eq!(by_bytes(&content), Ok(Some((entries, after.len()))));
        }

        #[test]
        fn any_bytes_are_an_index_or_an_error(content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = by_bytes(&content);
        }
    }
}
