//! Text filled to the width of a terminal.

use crate::escape;

/// `text` filled to `width` columns, all lines after the first indented by `indent`.
pub fn hanging_indent(text: &str, indent: usize, width: usize) -> String {
    let indent = " ".repeat(indent);
    fill(text, textwrap::Options::new(width).subsequent_indent(&indent))
}

/// `text` filled to `width` columns, every line indented by `indent`.
pub fn block(text: &str, indent: usize, width: usize) -> String {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width);
    fill(text, options.initial_indent(&indent).subsequent_indent(&indent))
}

/// A paragraph of its own, with a line feed at its end: filled as [`hanging_indent`] does it, but words with a hyphen
/// are broken there. What comes from outside is escaped.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width).subsequent_indent(&indent);
    textwrap::fill(&escape::line(text), options) + "\n"
}

/// Keeps numbers and their units, sums of them, and the names of findings on one line.
fn fill(text: &str, options: textwrap::Options<'_>) -> String {
    let bound =
        text.replace(" ms", "\u{a0}ms").replace(" B ", "\u{a0}B ").replace(" + ", "\u{a0}+\u{a0}");
    let options = options
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&bound, options).replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            hanging_indent("it takes 127.1 ms at most", 2, 14),
            "it takes\n  127.1 ms at\n  most"
        );
    }

    #[test]
    fn what_comes_from_outside_ends_no_line_of_a_paragraph() {
        assert_eq!(paragraph("Note: a\nb cannot", 2, 12), "Note: a\\nb\n  cannot\n");
        assert_eq!(paragraph("", 2, 12), "\n");
    }

    #[test]
    fn a_name_is_not_cut() {
        assert_eq!(hanging_indent("pass send-buffer", 0, 12), "pass\nsend-buffer");
    }
}
