//! Forbidden contents of files, and their maximum size.

use xtask::ratchet::lines_without_tests;

use crate::repository::{File, assert_none, files};

#[test]
fn no_path_names_a_machine() {
    let complaints = in_lines(|_, line| {
        MACHINE_PATHS.iter().find(|path| names_path(line, path)).map(|path| (*path).to_owned())
    });
    assert_none(&complaints, "a path that exists on one machine only:");
}

#[test]
fn nothing_is_left_unfinished() {
    let complaints = in_lines(|file, line| {
        let markers = MARKERS.iter().find(|marker| has_word(line, marker));
        let rust =
            RUST_MARKERS.iter().find(|marker| file.has_extension("rs") && line.contains(**marker));
        markers.or(rust).map(|marker| (*marker).to_owned())
    });
    assert_none(&complaints, "finish it, or file an issue:");
}

/// Third-party files, unchanged.
const VENDORED: &[&str] = &["crates/report/assets/uplot/"];

#[test]
fn lines_fit_on_a_screen() {
    let complaints = in_lines(|file, line| {
        let prose = ["md", "lock", "snap", "json", "csv", "txt"];
        let length = line.chars().count();
        let vendored = VENDORED.iter().any(|folder| file.path.starts_with(folder));
        (length > LINE_LIMIT
            && !vendored
            && !prose.iter().any(|extension| file.has_extension(extension)))
        .then(|| format!("{length} characters"))
    });
    assert_none(&complaints, &format!("lines of more than {LINE_LIMIT} characters:"));
}

#[test]
fn a_source_file_holds_one_idea() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| is_source(file)) {
        let lines = lines_without_tests(file.text().unwrap_or_default());
        let allowed = RATCHET.iter().find(|(path, _)| *path == file.path);
        match allowed {
            None if lines > FILE_LIMIT => {
                complaints.push(format!("{}: {lines} lines without tests", file.path));
            }
            Some((path, limit)) if lines > *limit => {
                complaints.push(format!("{path}: {lines} lines, may only shrink from {limit}"));
            }
            Some((path, _)) if lines <= FILE_LIMIT => {
                complaints.push(format!("{path}: {lines} lines, take it off the list"));
            }
            _ => {}
        }
    }
    assert_none(&complaints, &format!("source files of more than {FILE_LIMIT} lines:"));
}

#[test]
fn no_file_is_large() {
    let complaints: Vec<_> = files()
        .iter()
        .filter(|file| file.bytes.len() > SIZE_LIMIT)
        .map(|file| format!("{}: {} bytes", file.path, file.bytes.len()))
        .collect();
    assert_none(&complaints, &format!("files of more than {SIZE_LIMIT} bytes:"));
}

#[test]
fn a_path_is_told_from_a_word_with_a_slash() {
    let path = MACHINE_PATHS[0];
    assert!(names_path(&format!("see {path}x"), path));
    assert!(names_path(&format!("\"{path}x\""), path));
    assert!(!names_path(&format!("net{path}x"), path), "part of a longer word");
    assert!(!names_path(&format!("..{path}x"), path), "relative");
}

/// The complaints of `look` about every line of every text file except this one.
fn in_lines(look: impl Fn(&File, &str) -> Option<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| !file.path.ends_with("tidy/files.rs")) {
        for (number, line) in file.text().unwrap_or_default().lines().enumerate() {
            if let Some(what) = look(file, line) {
                complaints.push(format!("{}:{}: {what}", file.path, number + 1));
            }
        }
    }
    complaints
}

fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-~*}/".contains(before))
    })
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|letter: char| !letter.is_alphanumeric()).any(|found| found == word)
}

fn is_source(file: &File) -> bool {
    file.has_extension("rs") && !file.path.split('/').any(|part| part == "tests")
}

const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/", "/Users/"];

const MARKERS: &[&str] = &["FIXME", "XXX", "TODO"];
const RUST_MARKERS: &[&str] = &["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// Maximum line length (our choice): rustfmt keeps code within 100; lines it cannot break may be
/// longer.
const LINE_LIMIT: usize = 160;

const FILE_LIMIT: usize = 600;

/// Files that were too long when the rule was added, with their lengths then; they may only shrink.
const RATCHET: &[(&str, usize)] = &[];

/// Maximum file size (our choice): allows an image or a capture, but not an archive or a binary.
const SIZE_LIMIT: usize = 512 * 1024;
