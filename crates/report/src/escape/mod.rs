//! Text from outside cannot command a terminal, leave its line or cell, or become markup. One function
//! for each place where text is written:
//!
//! | place | function |
//! | --- | --- |
//! | a line of text, an error message | [`line()`] |
//! | our own text of several lines, with names in it | [`lines`] |
//! | the name of a request in a line | [`name`] |
//! | a sentence or a table cell in Markdown | [`markdown()`] |
//! | code in Markdown, and in a Markdown table | [`code`], [`code_cell`] |
//! | an element or an attribute of an HTML page | [`Html`] |
//! | a JSON document | [`json`] |
//! | a field of a CSV file | [`csv`] |
//!
//! What has no appearance of its own is shown as an escape, such as `\u{202e}`: control characters
//! (C0 and C1), line and paragraph separators, marks that reorder text, and everything invisible. Our
//! own texts have none of them. A file name, a path of HTTP/2 or a field's value may.

mod html;
mod invisible;
mod markdown;

pub use html::Html;
pub use markdown::{code, code_cell, fence, markdown};

use std::{borrow::Cow, fmt::Write as _, io};

use invisible::is_invisible;

/// `text` on one line, whatever it holds.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, is_invisible)
}

/// As [`line()`], but line feeds stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    replace(text, |c| is_invisible(c) && c != '\n')
}

/// As [`line()`], and a blank after a blank is shown, as is every blank but the space: no name can push its
/// end to where a terminal's next line, or a column of a table, begins. Of marks on one character, those
/// after the fourth are shown, too: a pile of them covers the lines above and below.
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    let text = replace(text, |c| is_invisible(c) || is_other_blank(c));
    if text.is_ascii() && !text.contains("  ") {
        return text;
    }
    let mut name = String::with_capacity(text.len());
    let (mut before, mut marks) = (None, 0);
    for c in text.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        if marks > MOST_MARKS || (before, c) == (Some(' '), ' ') {
            // Writing to a string does not fail.
            let _ = write!(name, "{}", c.escape_unicode());
        } else {
            name.push(c);
        }
        before = Some(c);
    }
    name.into()
}

/// Marks on a character (our choice: Hebrew and Vietnamese need up to three).
const MOST_MARKS: usize = 4;

/// Whether `c` is drawn over the character before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && textwrap::core::display_width(c.encode_utf8(&mut [0; 4])) == 0
}

/// Whether `c` looks like a space and is none. The blank pattern of Braille is a symbol to Unicode.
fn is_other_blank(c: char) -> bool {
    const BRAILLE_BLANK: char = '\u{2800}';
    c != ' ' && (c.is_whitespace() || c == BRAILLE_BLANK)
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

/// A field that no spreadsheet takes for a formula: an apostrophe stands before it. Numbers stay
/// numbers. Quoting is the CSV writer's.
#[must_use]
pub fn csv(field: &str) -> Cow<'_, str> {
    let escaped = line(field);
    let is_formula = escaped.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    if is_formula { format!("'{escaped}").into() } else { escaped }
}

fn replace(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_replaced(c) {
            // `\n`, `\u{202e}`.
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_server_cannot_send_commands_to_the_terminal() {
        assert_eq!(
            line("nginx\u{1b}[2J\r\n\u{9b}\u{202e}"),
            "nginx\\u{1b}[2J\\r\\n\\u{9b}\\u{202e}"
        );
        assert_eq!(line("ü, 日本, \\"), "ü, 日本, \\");
        assert_eq!(lines("two\nlines\u{2028}"), "two\nlines\\u{2028}");
    }

    #[test]
    fn blanks_push_nothing() {
        assert_eq!(name("GET /a b"), "GET /a b");
        assert_eq!(name("GET /   x"), "GET / \\u{20}\\u{20}x");
        assert_eq!(name("/\u{a0}\u{3000}\u{2800}x"), "/\\u{a0}\\u{3000}\\u{2800}x");
    }

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

    #[test]
    fn a_field_is_no_formula() {
        for (field, written) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-1.5", "-1.5"),
            ("+3e5", "+3e5"),
            ("-1 ms", "'-1 ms"),
            ("a=b", "a=b"),
            ("\t=x", "\\t=x"),
        ] {
            assert_eq!(csv(field), written);
        }
    }
}
