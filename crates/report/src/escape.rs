//! Text from a server that we do not trust must not drive the reader's terminal or break out of a
//! table.

use std::borrow::Cow;

/// `text` with every control character but the line feed shown as an escape, and likewise the marks
/// that reorder text, so that no server can recolour, overwrite or rearrange a report.
#[must_use]
pub fn controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| match is_unsafe(c) {
        true => c.escape_default().collect(),
        false => String::from(c),
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// `text` for one cell of a Markdown table: on one line, and nothing in it is markup.
pub fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in controls(text).chars() {
        match c {
            '\n' => cell.push(' '),
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '&' => cell.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => cell.extend(['\\', c]),
            _ => cell.push(c),
        }
    }
    cell
}

/// A fence that `text` cannot close: one backtick more than its longest run of them.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn is_unsafe(c: char) -> bool {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n') || reorders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_send_commands_to_the_terminal() {
        assert_eq!(
            controls("nginx\u{1b}[2J\r\u{9b}\u{202e}"),
            "nginx\\u{1b}[2J\\r\\u{9b}\\u{202e}"
        );
        assert_eq!(controls("two\nlines, ü"), "two\nlines, ü");
    }

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(cell("a|b\nc <b>`x`</b>"), "a\\|b c &lt;b&gt;\\`x\\`&lt;/b&gt;");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("```` four"), "`````");
    }
}
