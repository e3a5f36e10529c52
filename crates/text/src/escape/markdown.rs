//! Text in GitHub-flavoured Markdown, where pages render it that others read.

use super::line;

/// `text` as words in a sentence or a table cell: on one line, and nothing in it is markup, a link, an
/// image or a mention.
///
/// A backslash takes the meaning from punctuation. GitHub looks for mentions and references to issues
/// after that, in the words themselves but not in code: so `@`, and `#` before a digit, are code.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let mut out = String::with_capacity(text.len());
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut code = false;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let is_code = c == '@' || (c == '#' && rest.starts_with(|c: char| c.is_ascii_digit()));
        if code != is_code {
            out.push('`');
            code = is_code;
        }
        match c {
            _ if is_code => out.push(c),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Four of them would begin a code block.
            ' ' if at == 0 => out.push_str("&#32;"),
            _ if ALWAYS.contains(&c) => out.extend(['\\', c]),
            _ if at == 0 && AT_THE_START.contains(&c) => out.extend(['\\', c]),
            // A numbered list.
            '.' | ')' if at == digits && digits > 0 => out.extend(['\\', c]),
            // GitHub links what looks like a URL.
            ':' if rest.starts_with("//") => out.push_str("\\:"),
            '.' if ends_with_www(&text[..at]) => out.push_str("\\."),
            _ => out.push(c),
        }
    }
    if code {
        out.push('`');
    }
    out
}

/// `text` as code, on one line.
#[must_use]
pub fn code(text: &str) -> String {
    let text = line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    // CommonMark 0.31, section 6.1: one blank at each end does not count, unless there is nothing else.
    let is_padded = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    match &*text {
        "" => "` `".to_owned(),
        text if is_padded && !text.trim_matches(' ').is_empty() => {
            format!("{fence} {text} {fence}")
        }
        text => format!("{fence}{text}{fence}"),
    }
}

/// `text` as code in a cell of a table, which a vertical bar would end even there.
#[must_use]
pub fn code_cell(text: &str) -> String {
    code(&text.replace('|', "\\u{7c}"))
}

/// A fence that `text` cannot close: one backtick more than its longest run of them.
#[must_use]
pub fn fence(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn ends_with_www(text: &str) -> bool {
    text.len() >= 3 && text.as_bytes()[text.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// `$` begins a formula on GitHub.
const ALWAYS: [char; 9] = ['\\', '`', '*', '_', '[', ']', '|', '~', '$'];
/// Headings, lists, rules, underlines of headings and of table heads.
const AT_THE_START: [char; 5] = ['#', '+', '-', '=', ':'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_a_cell() {
        assert_eq!(markdown("a|b\nc <b>`x`</b>"), r"a\|b\\nc &lt;b&gt;\`x\`&lt;/b&gt;");
    }

    #[test]
    fn nobody_is_mentioned_and_nothing_is_linked() {
        for (text, written) in [
            ("@all and a@@b", "`@`all and a`@@`b"),
            ("fixes #12, # 12", "fixes `#`12, # 12"),
            ("http://evil/", "http\\://evil/"),
            ("WWW.evil", "WWW\\.evil"),
            ("![x](y)", "!\\[x\\](y)"),
            ("# heading", "\\# heading"),
            ("12. item", "12\\. item"),
            ("    code", "&#32;   code"),
        ] {
            assert_eq!(markdown(text), written);
        }
    }

    #[test]
    fn code_stays_code() {
        for (text, written) in
            [("GET /", "`GET /`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("", "` `")]
        {
            assert_eq!(code(text), written);
        }
        assert_eq!(code_cell("a|b"), "`a\\u{7c}b`");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("```` four"), "`````");
    }
}
