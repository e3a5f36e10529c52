//! JSON documents, at once or in pieces.

use std::{borrow::Cow, io};

use super::is_invisible;

/// A JSON document, in which what is invisible can only be in strings: there it becomes an escape of
/// JSON, and no reader of the document sees a difference.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_invisible(c) && !matches!(c, '\n' | '\r' | '\t');
    // Of ASCII, JSON's own escapes leave only DEL to find, and looking for one byte is much faster.
    if document.is_ascii() && !document.contains('\u{7f}') {
        return document.into();
    }
    let mut escaped = String::new();
    let mut done = 0;
    for (at, hidden) in document.match_indices(is_hidden) {
        escaped.push_str(&document[done..at]);
        done = at + hidden.len();
        for unit in hidden.encode_utf16() {
            escaped.push_str("\\u");
            let digits = [12, 8, 4, 0].map(|shift| u32::from(unit >> shift & 0xf));
            escaped.extend(digits.iter().filter_map(|&digit| char::from_digit(digit, 16)));
        }
    }
    if done == 0 {
        return document.into();
    }
    escaped.push_str(&document[done..]);
    escaped.into()
}

/// As [`json`], of a document that comes in many small pieces of whole characters.
pub(crate) struct JsonOutput<W> {
    output: W,
    /// What has come since the last escape, which a piece of its own would cost more than it holds.
    pending: Vec<u8>,
}

impl<W: io::Write> JsonOutput<W> {
    /// Bytes that are escaped and written together.
    const BATCH: usize = 64 * 1_024;

    pub(crate) const fn new(output: W) -> Self {
        Self { output, pending: Vec::new() }
    }

    #[cold]
    fn write_pending(&mut self) -> io::Result<()> {
        let text = str::from_utf8(&self.pending).map_err(io::Error::other)?;
        self.output.write_all(json(text).as_bytes())?;
        self.pending.clear();
        Ok(())
    }
}

impl<W: io::Write> io::Write for JsonOutput<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece)?;
        Ok(piece.len())
    }

    #[inline]
    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(piece);
        if self.pending.len() >= Self::BATCH {
            self.write_pending()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_a_json_document_hides_is_an_escape_of_json() {
        let text = "a\u{202e}\u{9b}\u{e0041}\n";
        let document = serde_json::to_string_pretty(&[text]).expect("strings are JSON");
        assert_eq!(json(&document), "[\n  \"a\\u202e\\u009b\\udb40\\udc41\\n\"\n]");
        assert_eq!(serde_json::from_str::<[String; 1]>(&json(&document)).expect("JSON"), [text]);
        let mut pieces = JsonOutput::new(Vec::new());
        serde_json::to_writer_pretty(&mut pieces, &[text]).expect("memory takes all");
        pieces.flush().expect("memory takes all");
        assert_eq!(pieces.output, json(&document).as_bytes());
    }
}
