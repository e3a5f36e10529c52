//! What a page prints below its commands, compared with what they printed.

/// A line that stands for any lines.
const OMITTED: &str = "…";

/// Whether `output` is `expected`, except lines that it omits.
pub(crate) fn is_equal(expected: &str, output: &str) -> bool {
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let (expected, output) = (trimmed(expected), trimmed(output));
    let output = format!("\n{output}\n");
    let parts: Vec<&str> = expected.split(OMITTED).map(str::trim_end).collect();
    let mut rest = output.as_str();
    for (number, part) in parts.iter().enumerate() {
        if part.is_empty() {
            continue;
        }
        let part = format!("\n{}\n", part.trim_matches('\n'));
        let Some(at) = rest.find(&part) else { return false };
        if number == 0 && at != 0 {
            return false;
        }
        rest = &rest[at + part.len() - 1..];
    }
    parts.last().is_none_or(|last| last.is_empty()) || rest.trim().is_empty()
}

/// The first line of `expected` that `output` does not have after the line before it, whatever the numbers.
///
/// The output is compared as one line, because a longer number can wrap it elsewhere.
pub(crate) fn missing_line<'a>(expected: &'a str, output: &str) -> Option<&'a str> {
    let output = masked(output);
    let mut rest = output.as_str();
    expected.lines().filter(|line| !line.trim().is_empty() && *line != OMITTED).find(|line| {
        let line = masked(line);
        match rest.find(&line) {
            Some(at) => {
                rest = &rest[at + line.len()..];
                false
            }
            None => true,
        }
    })
}

/// With `#` for each number, and one space for each gap.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for word in text.split_whitespace() {
        if !masked.is_empty() {
            masked.push(' ');
        }
        let mut letters = word.chars().peekable();
        while let Some(letter) = letters.next() {
            if !letter.is_ascii_digit() {
                masked.push(letter);
                continue;
            }
            masked.push('#');
            let is_inside = |next: &char| next.is_ascii_digit() || *next == '.' || *next == ',';
            let mut last = letter;
            while let Some(next) = letters.next_if(is_inside) {
                last = next;
            }
            if !last.is_ascii_digit() {
                masked.push(last);
            }
        }
    }
    masked
}

#[test]
fn omitted_lines_may_be_any() {
    assert!(is_equal("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(is_equal("…\nd\n", "a\nd\n"));
    assert!(is_equal("a\n…\n", "a\nb\n"));
    assert!(is_equal("a\nb\n", "a\nb\n"));
    assert!(!is_equal("a\n", "a\nb\n"), "a rest");
    assert!(!is_equal("a\n…\nc\n", "b\nc\n"), "another beginning");
    assert!(!is_equal("a\n", "aa\n"), "part of a line");
}

#[test]
fn numbers_and_line_ends_may_differ_and_words_may_not() {
    let output = "waits 41.5 ms\nfor the client, 6 of 6";
    assert_eq!(missing_line("waits 7 ms for the client, 12 of\n6\n", output), None);
    assert_eq!(
        missing_line("waits 7 ms for the server", output),
        Some("waits 7 ms for the server")
    );
    assert_eq!(missing_line("6 of 6\nwaits 1 ms", output), Some("waits 1 ms"), "in order");
}
