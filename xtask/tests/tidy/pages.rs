//! How long a page may be, so that its reader finds the answer.
//!
//! Blocks of code do not count, and neither do pages that code writes, and lists.

use crate::repository::{File, assert_none, files};

#[test]
fn a_page_answers_one_question() {
    let mut complaints = Vec::new();
    let mut pages = 0;
    for file in files().iter().filter(|file| is_page(&file.path)) {
        pages += 1;
        let words = words(file);
        let limit = limit(&file.path);
        if words > limit {
            complaints.push(format!("{}: {words} words, at most {limit}", file.path));
        }
    }
    assert!(pages > 50, "{pages} pages");
    assert_none(&complaints, "split it, or better, delete what no reader needs:");
}

#[test]
fn the_front_page_fits_on_two_screens() {
    let files = files();
    let readme = files.iter().find(|file| file.path == "README.md").and_then(File::text);
    let lines = readme.expect("there is a README").lines().count();
    assert!(lines <= README_LINES, "README.md: {lines} lines, at most {README_LINES}");
}

#[test]
fn words_of_code_do_not_count() {
    let text = "Two words.\n```sh live\nackwise check --quick URL\n```\nThree more words.\n";
    let file = File { path: "docs/a.md".to_owned(), bytes: text.as_bytes().to_vec() };
    assert_eq!(words(&file), 5);
}

fn is_page(path: &str) -> bool {
    let is_in_place = path.starts_with("docs/") || !path.contains('/');
    is_in_place && path.ends_with(".md") && !EXEMPT.contains(&path)
}

fn limit(path: &str) -> usize {
    let of_kind = LIMITS.iter().find(|(folder, _)| path.starts_with(folder));
    of_kind.map_or(PAGE_LIMIT, |(_, limit)| *limit)
}

fn words(file: &File) -> usize {
    let mut is_code = false;
    let mut words = 0;
    for line in file.text().unwrap_or_default().lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            words += line.split_whitespace().count();
        }
    }
    words
}

/// Pages that code writes, and lists with a line for each thing that they list.
const EXEMPT: &[&str] = &[
    "docs/findings.md",
    "docs/keys.md",
    "docs/on-kernel/tables.md",
    "docs/check/remedies.md",
    "docs/rules.md",
    "docs/stalls.md",
    "docs/SUMMARY.md",
    "CHANGELOG.md",
    "docs/conformance.md",
    "docs/decisions/README.md",
    "docs/decisions/dependencies.md",
];

/// Words in a page (our choice: a quarter of an hour to read).
const PAGE_LIMIT: usize = 3_000;

/// Words in pages of one kind: a decision is context, choice and consequence; a how-to is one task.
const LIMITS: &[(&str, usize)] = &[("docs/decisions/", 500), ("docs/how-to/", 600)];

const README_LINES: usize = 120;
