//! Whatever an outsider writes, no output becomes something else: all characters of Unicode, and random
//! mixtures of the dangerous ones, go through each function, and an independent parser looks at the
//! result.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::LazyLock;

use ackwise_text::escape::{self, Html};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_general_category::{GeneralCategory, get_general_category};

#[test]
fn each_character_of_unicode_is_harmless_in_every_output() {
    for text in all_characters() {
        assert_plain(&escape::line(&text));
        assert_plain(&escape::name(&text));
        assert_plain(&escape::lines(&text).replace('\n', ""));
        assert_plain(&escape::csv(&text));
        assert_plain(&escape::markdown(&text));
        assert_plain(&escape::code(&text));
        assert_html(&text);
        assert_json(&text);
        assert_words(&text);
        assert_code(&text);
    }
    // What has a meaning in Markdown has it in places.
    for c in '\0'..='\u{7f}' {
        for text in [format!("{c}"), format!("{c} x"), format!("x {c}y{c} z"), format!("{c}{c}{c}")]
        {
            assert_words(&text);
            assert_code(&text);
        }
    }
}

/// Each scalar value of Unicode between letters, some hundreds in one text.
fn all_characters() -> Vec<String> {
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    all.chunks(512).map(|some| some.iter().flat_map(|&c| ['x', c, 'y', ' ']).collect()).collect()
}

/// As [`escape::lines`] has it, lines stay; everything else is one line.
fn assert_plain(output: &str) {
    assert!(output.lines().count() <= 1, "{output:?}");
    assert!(!output.contains(is_hidden), "{output:?}");
}

/// By another list than ours. It takes a microsecond to ask, so each character is asked about once.
fn is_hidden(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    static HIDDEN: LazyLock<Vec<char>> = LazyLock::new(|| {
        let all = '\0'..=char::MAX;
        let hidden = [Control, Format, LineSeparator, ParagraphSeparator];
        all.filter(|&c| hidden.contains(&get_general_category(c))).collect()
    });
    !c.is_ascii_graphic() && c != ' ' && HIDDEN.binary_search(&c).is_ok()
}

fn assert_html(text: &str) {
    let html = Html(text).to_string();
    assert!(!html.contains(['<', '>', '"', '\'']), "{html:?}");
    for reference in html.split('&').skip(1) {
        let known = ["lt;", "gt;", "amp;", "quot;", "#39;"];
        assert!(known.iter().any(|it| reference.starts_with(it)), "{html:?}");
    }
    assert_plain(&html.replace(['\n', '\t'], " "));
}

fn assert_json(text: &str) {
    let document = serde_json::to_string_pretty(&[text]).unwrap();
    let escaped = escape::json(&document);
    assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap()[0], text);
    assert_plain(&escaped.replace('\n', ""));
}

/// In a paragraph and in a cell of a table: nothing but the words, and code where a mention would be.
fn assert_words(text: &str) {
    let (markdown, line) = (escape::markdown(text), escape::line(text));
    // Blanks at the ends of a paragraph or a cell do not count.
    let line = line.trim_matches(' ');
    let alone = words(&markdown, &|tag| matches!(tag, Tag::Paragraph));
    assert_eq!(alone.as_deref().map(|it| it.trim_matches(' ')), Ok(line), "{markdown:?}");
    let is_table = |tag: &Tag<'_>| {
        matches!(tag, Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell)
    };
    let table = words(&format!("| a | b |\n| --- | --- |\n| {markdown} | end |\n"), &is_table);
    let cell = table.as_deref().map(|it| &it["ab".len()..it.len() - "end".len()]);
    assert_eq!(cell.map(|it| it.trim_matches(' ')), Ok(line), "{markdown:?}");
    // GitHub's own additions, which the parser does not have: links without brackets.
    let written = markdown.replace("\\:", "").to_lowercase();
    assert!(!written.contains("://") && !written.contains("www."), "{markdown:?}");
}

/// The text of a document, or what it has that it should not have.
fn words(markdown: &str, allowed: &dyn Fn(&Tag<'_>) -> bool) -> Result<String, String> {
    let mut words = String::new();
    for event in Parser::new_ext(markdown, GITHUB) {
        match event {
            Event::Text(text) if !text.contains('@') => words.push_str(&text),
            Event::Code(code) if code.chars().all(|c| c == '@' || c == '#') => {
                words.push_str(&code)
            }
            Event::Start(tag) if allowed(&tag) => {}
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Table
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::TableCell,
            ) => {}
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(words)
}

fn assert_code(text: &str) {
    let line = escape::line(text);
    let markdown = escape::code(text);
    let expected = [if line.is_empty() { " ".to_owned() } else { line.into_owned() }];
    assert_eq!(codes(&format!("- 1: {markdown}, 2 ms\n")), expected, "{markdown:?}");
    let markdown = escape::code_cell(text);
    let table = format!("| a | b |\n| --- | --- |\n| 1 | {markdown} |\n");
    let expected = expected.map(|it| it.replace('|', "\\u{7c}"));
    assert_eq!(codes(&table), expected, "{markdown:?}");
}

fn codes(markdown: &str) -> Vec<String> {
    let codes = Parser::new_ext(markdown, GITHUB).filter_map(|event| match event {
        Event::Code(code) => Some(code.into_string()),
        Event::Html(html) | Event::InlineHtml(html) => panic!("{html} in {markdown:?}"),
        Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strong) => {
            panic!("markup in {markdown:?}")
        }
        _ => None,
    });
    codes.collect()
}

/// What GitHub adds to CommonMark.
const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_GFM)
    .union(Options::ENABLE_MATH);

/// What has a meaning in one of the formats.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn dangerous() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "@",
        "@user",
        "#",
        "#1",
        "`",
        "``",
        "```",
        "*",
        "**",
        "_",
        "~~",
        "~~~",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "|",
        "\\",
        "<",
        ">",
        "</script>",
        "<!--",
        "&",
        "&amp;",
        "&#64;",
        "http://",
        "www.",
        ":",
        "-",
        "---",
        "===",
        "+",
        "1.",
        "1)",
        "\n",
        "\n\n",
        "\r",
        "\t",
        " ",
        "    ",
        "$",
        "$$",
        "^",
        "[^1]",
        "{",
        "}",
        "!",
        "\"",
        "'",
        "\u{1b}[31m",
        "\u{9b}",
        "\u{202e}",
        "\u{2028}",
        "\u{200b}",
        "a",
        "é",
        ":-:",
        "[x]: y",
        "> ",
        "# ",
        "GET /",
        "\\|",
        "\\`",
        "=1+1",
    ]);
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mixture_is_markup(text in dangerous()) {
        assert_words(&text);
        assert_code(&text);
        assert_html(&text);
        assert_json(&text);
        assert_plain(&format!("x{}", escape::line(&text)));
        let field = escape::csv(&text);
        let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
        prop_assert!(!is_formula || field.parse::<f64>().is_ok());
        let fence = escape::fence(&text);
        let block = format!("{fence}text\n{}\n{fence}\n", escape::lines(&text));
        let ends = Parser::new_ext(&block, GITHUB).filter(|it| matches!(it, Event::End(_)));
        prop_assert_eq!(ends.collect::<Vec<_>>(), [Event::End(TagEnd::CodeBlock)]);
    }
}
