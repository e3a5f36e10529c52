//! Columns for a terminal.

/// `cost` with as many digits as it deserves, and its unit.
pub fn milliseconds(cost: f64) -> String {
    if cost < 0.995 { format!("{cost:.2} ms") } else { format!("{cost:.1} ms") }
}

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
    fn small_times_keep_two_digits() {
        let shown: Vec<_> = [0.0, 0.124, 0.994, 1.0, 40.17, 131.96].map(milliseconds).into();
        assert_eq!(shown, ["0.00 ms", "0.12 ms", "0.99 ms", "1.0 ms", "40.2 ms", "132.0 ms"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            hanging_indent("it takes 127.1 ms at most", 2, 14),
            "it takes\n  127.1 ms at\n  most"
        );
    }

    #[test]
    fn a_name_is_not_cut() {
        assert_eq!(hanging_indent("pass send-buffer", 0, 12), "pass\nsend-buffer");
    }
}
