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
//! | a JSON document | [`json()`] |
//! | a field of a CSV file | [`csv`] |
//!
//! What has no appearance of its own is shown as an escape, such as `\u{202e}`: control characters
//! (C0 and C1), line and paragraph separators, marks that reorder text, and everything invisible. Our
//! own texts have none of them. A file name, a path of HTTP/2 or a field's value may.

mod html;
mod invisible;
mod json;
mod markdown;

pub use html::Html;
pub(crate) use json::JsonOutput;
pub use json::json;
pub use markdown::{code, code_cell, fence, markdown};

use std::{borrow::Cow, fmt::Write as _};

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
